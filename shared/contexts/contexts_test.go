package contexts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type props = map[string]any

// spell writes a set so that tests can compare it.
func spell(s *Set) string {
	var b strings.Builder
	for c := range s.All() {
		fmt.Fprintf(&b, "%s(", c.Name())
		separator := ""
		for name, v := range c.All() {
			fmt.Fprintf(&b, "%s%s=%s", separator, name, v.Text())
			separator = " "
		}
		b.WriteString(")")
	}
	return b.String()
}

func check(t *testing.T, what string, got *Set, want string) {
	t.Helper()
	if spell(got) != want {
		t.Errorf("%s: %s, want %s", what, spell(got), want)
	}
}

func TestMergingRule1TheMostSpecificLayerWins(t *testing.T) {
	global := Named("user", props{"key": "global"})
	ctx := With(t.Context(), Named("user", props{"key": "scoped"}))
	jit := Named("user", props{"key": "jit"})
	check(t, "global alone", Merged(t.Context(), global), "user(key=global)")
	check(t, "scoped over global", Merged(ctx, global), "user(key=scoped)")
	check(t, "just-in-time over both", Merged(ctx, global).Under(jit), "user(key=jit)")
	check(t, "just-in-time over global", Merged(t.Context(), global).Under(jit), "user(key=jit)")
}

func TestMergingRule2ANamedContextIsReplacedWhole(t *testing.T) {
	global := Of(map[string]map[string]any{"user": {"key": "u", "plan": "pro"}, "device": {"os": "linux"}})
	ctx := With(t.Context(), Named("user", props{"name": "Ada"}))
	check(t, "properties vanish, other contexts survive", Merged(ctx, global), "device(os=linux)user(name=Ada)")
	check(t, "just-in-time too", Merged(ctx, global).Under(Named("device", nil)), "device()user(name=Ada)")
	check(t, "an empty context replaces as well", Merged(With(ctx, Named("user", nil)), global), "device(os=linux)user()")
}

func TestMergingRule3JustInTimeLeavesNoTrace(t *testing.T) {
	global := Named("user", props{"key": "u"})
	ctx := With(t.Context(), Named("team", props{"key": "t"}))
	before := Merged(ctx, global)
	check(t, "with", before.Under(Named("user", props{"key": "jit"}).And("request", props{"id": 1})), "request(id=1)team(key=t)user(key=jit)")
	if after := Merged(ctx, global); after != before {
		t.Error("the stored context is another one")
	}
	check(t, "after", before, "team(key=t)user(key=u)")
}

func TestMergingRule4SettingAgainReplaces(t *testing.T) {
	ctx, scope := Begin(t.Context())
	Put(ctx, "user", props{"key": "u", "plan": "pro"})
	Put(ctx, "team", props{"key": "t"})
	if !Put(ctx, "user", props{"name": "Ada"}) {
		t.Error("Put says that there is no scope")
	}
	check(t, "scope", Merged(ctx, nil), "team(key=t)user(name=Ada)")
	scope.Put("team", props{"size": 3})
	check(t, "scope again", Merged(ctx, nil), "team(size=3)user(name=Ada)")

	var g Global
	g.Put("user", props{"key": "u", "plan": "pro"})
	g.Put("device", props{"os": "linux"})
	g.Put("user", props{"name": "Ada"})
	check(t, "global", g.Current(), "device(os=linux)user(name=Ada)")
	g.Remove("device")
	check(t, "removed", g.Current(), "user(name=Ada)")
	g.Replace(nil)
	check(t, "replaced", g.Current(), "")
}

func TestMergingRule5ScopesNestAndAreRestoredExactly(t *testing.T) {
	var global Global
	global.Put("device", props{"os": "linux"})
	global.Put("user", props{"key": "nobody"})
	outer, outerScope := Begin(t.Context(), Of(map[string]map[string]any{"user": {"key": "u", "plan": "pro"}, "team": {"key": "t"}}))
	before := Merged(outer, global.Current())

	inner, innerScope := Begin(outer, Named("user", props{"name": "Ada"}))
	check(t, "inner", Merged(inner, global.Current()), "device(os=linux)team(key=t)user(name=Ada)")
	check(t, "outer meanwhile", Merged(outer, global.Current()), "device(os=linux)team(key=t)user(key=u plan=pro)")
	outerScope.Put("team", props{"key": "t2"})
	check(t, "inner sees the outer change", Merged(inner, global.Current()), "device(os=linux)team(key=t2)user(name=Ada)")
	outerScope.Put("team", props{"key": "t"})
	global.Put("device", props{"os": "plan9"})
	check(t, "a later global context lies under every scope", Merged(inner, global.Current()), "device(os=plan9)team(key=t)user(name=Ada)")
	global.Put("device", props{"os": "linux"})

	innerScope.End()
	innerScope.End()
	check(t, "inner ended", Merged(inner, global.Current()), spell(before))
	check(t, "outer restored", Merged(outer, global.Current()), spell(before))
	if innerScope.Put("user", nil) || Put(inner, "user", nil) {
		t.Error("an ended scope takes a context")
	}
	outerScope.End()
	for _, ctx := range []context.Context{outer, inner} {
		if Merged(ctx, global.Current()) != global.Current() {
			t.Error("when all scopes have ended something is left")
		}
	}
}

func TestMergedIsOneSetWhileNothingChanges(t *testing.T) {
	var global Global
	global.Put("device", props{"os": "linux"})
	outer, scope := Begin(t.Context(), Named("user", props{"key": "u"}))
	ctx := With(outer, Named("team", props{"key": "t"}))
	if first := Merged(ctx, global.Current()); Merged(ctx, global.Current()) != first {
		t.Error("another set without a change")
	}
	if n := testing.AllocsPerRun(100, func() { Merged(ctx, global.Current()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, change := range []struct {
		what string
		make func()
	}{
		{"global", func() { global.Put("device", props{"os": "plan9"}) }},
		{"outer", func() { scope.Put("user", props{"key": "v"}) }},
		{"inner", func() { Put(ctx, "team", props{"key": "w"}) }},
		{"end", scope.End},
	} {
		before := Merged(ctx, global.Current())
		change.make()
		if Merged(ctx, global.Current()) == before {
			t.Errorf("a change of %s is not seen", change.what)
		}
	}
	var empty Global
	if empty.Current() != empty.Current() || Merged(t.Context(), empty.Current()) != empty.Current() {
		t.Error("an empty global layer is not one set")
	}
}

// TestMergingAgreesWithAModel holds the layers against a plain map of maps
// that is merged by the rules' words.
func TestMergingAgreesWithAModel(t *testing.T) {
	names := rapid.SampledFrom([]string{"user", "team", "device", ""})
	set := rapid.MapOf(names, rapid.MapOf(rapid.SampledFrom([]string{"key", "plan"}), rapid.Map(rapid.IntRange(0, 9), func(i int) any { return i })))
	rapid.Check(t, func(t *rapid.T) {
		layers := rapid.SliceOfN(set, 1, 5).Draw(t, "layers")
		model := map[string]map[string]any{}
		ctx := context.Background()
		for i, layer := range layers {
			if i > 0 {
				ctx = With(ctx, Of(layer))
			}
			for name, properties := range layer {
				model[name] = properties
			}
		}
		if got, want := spell(Merged(ctx, Of(layers[0]))), spell(Of(model)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestNothingIsAliased(t *testing.T) {
	list := []string{"a"}
	deep := []any{"x", map[string]any{"y": 1}}
	properties := props{"key": "u", "tags": list, "deep": deep}
	named := map[string]map[string]any{"user": properties}
	s := Of(named)
	properties["key"], list[0], deep[0] = "v", "b", "z"
	named["team"] = props{}
	check(t, "set", s, "user(deep= key=u tags=)")
	for property, want := range map[string]string{"tags": "a", "deep": "x"} {
		v, _ := s.Lookup("user", property)
		for item := range v.Items() {
			if item.Text() != want {
				t.Errorf("%s holds %s", property, item.Text())
			}
		}
	}
}

type plan string

type nilText struct{ inner *string }

func (n *nilText) MarshalText() ([]byte, error) { return []byte(*n.inner), nil }

type failing struct{}

func (failing) MarshalText() ([]byte, error) { return nil, errors.New("no") }

func TestValues(t *testing.T) {
	text := "pointed"
	var none *string
	ring := []any{"x"}
	ring = append(ring, &ring, ring)
	type chain *chain
	var loop chain
	loop = &loop
	for _, tt := range []struct {
		value any
		kind  Kind
		text  string
		items string
	}{
		{nil, Absent, "", ""}, {none, Absent, "", ""}, {map[string]any(nil), Absent, "", ""}, {[]int(nil), Absent, "", ""},
		{"", Text, "", ""}, {"x", Text, "x", ""}, {plan("pro"), Text, "pro", ""}, {&text, Text, "pointed", ""},
		{true, Bool, "true", ""}, {0, Int, "0", ""}, {int8(-3), Int, "-3", ""}, {int64(9007199254740993), Int, "9007199254740993", ""},
		{uint64(18446744073709551615), Double, "18446744073709551615", ""}, {uint8(7), Int, "7", ""},
		{1.5, Double, "1.5", ""}, {float32(0.1), Double, "0.1", ""}, {1e21, Double, "1e+21", ""},
		{math.NaN(), Object, "", ""}, {math.Inf(1), Object, "", ""},
		{json.Number("12"), Int, "12", ""}, {json.Number("1.50"), Double, "1.50", ""}, {json.Number("abc"), Text, "abc", ""}, {json.Number("1e999"), Text, "1e999", ""},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Text, "2026-01-02T03:04:05Z", ""},
		{[]string{"a", "b"}, List, "", "a,b"}, {[]any{1, "x", nil, true, []any{"in"}, map[string]any{}}, List, "", "1,x,true"},
		{[2]int{1, 2}, List, "", "1,2"}, {ring, List, "", "x"}, {[]*string{&text, nil}, List, "", "pointed"},
		{map[string]any{"a": 1}, Object, "", ""}, {struct{ A int }{1}, Object, "", ""}, {func() {}, Object, "", ""}, {make(chan int), Object, "", ""},
		{loop, Object, "", ""}, {&nilText{}, Object, "", ""}, {&nilText{&text}, Text, "pointed", ""}, {failing{}, Object, "", ""},
		{complex(1, 2), Object, "", ""},
	} {
		v := ValueOf(tt.value)
		var items []string
		for item := range v.Items() {
			items = append(items, item.Text())
		}
		if v.Kind() != tt.kind || v.Text() != tt.text || strings.Join(items, ",") != tt.items {
			t.Errorf("%T: kind %d, %q, items %v", tt.value, v.Kind(), v.Text(), items)
		}
	}
}

func TestKey(t *testing.T) {
	for _, tt := range []struct {
		key  any
		text string
		ok   bool
	}{{"u-1", "u-1", true}, {42, "42", true}, {"", "", false}, {nil, "", false}, {true, "true", false}, {1.5, "1.5", false}, {[]string{"u"}, "", false}} {
		c, _ := Named("user", props{"key": tt.key}).Context("user")
		if text, ok := c.Key(); text != tt.text || ok != tt.ok {
			t.Errorf("key %v: %q, %v", tt.key, text, ok)
		}
	}
}

func TestEmptySets(t *testing.T) {
	var none *Set
	if none.Len() != 0 || spell(none) != "" || none.Under(nil).Len() != 0 || none.And("a", nil).Len() != 1 {
		t.Error("a nil set is not an empty one")
	}
	if _, found := none.Lookup("user", "key"); found {
		t.Error("a nil set has properties")
	}
	if Put(t.Context(), "user", nil) || Put(nil, "user", nil) {
		t.Error("a context without a scope takes one")
	}
	check(t, "no context at all", Merged(nil, nil), "")
}

func TestMemoBelongsToItsOwner(t *testing.T) {
	s := Named("user", nil)
	first, second := new(int), new(int)
	s.Remember(first, "a")
	if s.Memo(first) != "a" || s.Memo(second) != nil {
		t.Error("the memo goes to another owner")
	}
	s.Remember(second, "b")
	if s.Memo(first) != nil || s.Memo(second) != "b" {
		t.Error("there is room for more than one")
	}
}

func TestConcurrentUse(t *testing.T) {
	var global Global
	ctx, scope := Begin(t.Context())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				global.Put("device", props{"n": n})
				scope.Put(fmt.Sprint("c", i), props{"n": n})
				own := With(ctx, Named("own", props{"i": i}))
				if v, _ := Merged(own, global.Current()).Lookup("own", "i"); v.Text() != fmt.Sprint(i) {
					t.Errorf("goroutine %d sees the scope of %s", i, v.Text())
				}
			}
		})
	}
	all.Wait()
	if n := Merged(ctx, global.Current()).Len(); n != 9 {
		t.Errorf("%d named contexts, want 9: a Put is lost", n)
	}
}

type released struct{ times int }

func (r *released) Release() { r.times++ }

func TestWhatIsKeptBesideASetIsToldOfTheEndOfItsScope(t *testing.T) {
	var global Global
	global.Put("device", props{"os": "linux"})
	ctx, scope := Begin(t.Context(), Named("user", props{"key": "u"}))
	memo := &released{}
	Merged(ctx, global.Current()).Remember(t, memo)
	scope.End()
	scope.End()
	if memo.times != 1 {
		t.Errorf("told %d times", memo.times)
	}
	_, unused := Begin(t.Context(), Named("user", nil))
	unused.End() // nothing to tell
}
