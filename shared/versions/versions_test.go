package versions

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func parse(t *testing.T, text string) (*jsontree.Node, *document.Document) {
	t.Helper()
	tree, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatal(err, text)
	}
	return tree, document.View(tree)
}

func stateOf(t *testing.T, documents map[string]string) *State {
	t.Helper()
	s := &State{}
	for key, text := range documents {
		tree, view := parse(t, text)
		s.Add(key, tree, view)
	}
	return s
}

// salt is any.
var salt = SaltOf([]byte("secret"))

const always = `{"operator":"ALWAYS_TRUE"}`

func inSegment(key string) string {
	return fmt.Sprintf(`{"operator":"IN_SEG","valueToMatch":{"type":"string","value":%q}}`, key)
}

func before(moment int) string {
	return fmt.Sprintf(`{"operator":"PROP_BEFORE","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":%d}}`, moment)
}

func serve(criterion, value string) string {
	return fmt.Sprintf(`{"criteria":[%s],"value":{"type":"string","value":%q}}`, criterion, value)
}

func secret(criterion, value string) string {
	return strings.Replace(serve(criterion, value), `"type":"string","value":"`+value, `"type":"string","confidential":true,"value":"`+value, 1)
}

// item is a document with default rules and, by environment, rules of its own.
func item(t document.Type, key, more, rules string, own ...string) string {
	var entries []string
	for i := 0; i+1 < len(own); i += 2 {
		entries = append(entries, fmt.Sprintf(`{"id":%q,"rules":[%s]}`, own[i], own[i+1]))
	}
	return fmt.Sprintf(`{"key":%q,"type":%q,"valueType":"string"%s,"default":{"rules":[%s]},"environments":[%s]}`, key, t, more, rules, strings.Join(entries, ","))
}

// TestIncremental edits a workspace at random, and holds its versions against
// those that are made from scratch.
func TestIncremental(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	environments := []string{"development", "staging", "production", "other"}
	segments := []string{"s0", "s1", "s2", "s3"}
	kinds := []document.Type{document.Flag, document.Config, document.LogLevel, document.Segment}
	rules := func() string {
		var list []string
		for range random.IntN(3) {
			criterion := []string{always, inSegment(segments[random.IntN(len(segments))]), before(1000 * random.IntN(4)),
				`{"operator":"PROP_IS_ONE_OF","propertyName":"svc.current-time","valueToMatch":{"type":"string_list","value":["1"]}}`}[random.IntN(4)]
			rule := serve(criterion, fmt.Sprint(random.IntN(3)))
			if random.IntN(5) == 0 {
				rule = secret(criterion, fmt.Sprint(random.IntN(3)))
			}
			if random.IntN(8) == 0 {
				rule = serve(`{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","confidential":true,"value":["u"]}}`, "x")
			}
			list = append(list, rule)
		}
		return strings.Join(list, ",")
	}
	draw := func(key string) string {
		kind, more := kinds[random.IntN(len(kinds))], ""
		if strings.HasPrefix(key, "s") {
			kind = document.Segment
		}
		if random.IntN(2) == 0 {
			more = `,"sendToClientSdk":true,"variants":[{"name":"v","value":{"type":"string","value":"1"}}]`
		}
		var own []string
		for _, name := range environments {
			if random.IntN(3) == 0 {
				own = append(own, name, rules())
			}
		}
		return item(kind, key, more, rules(), own...)
	}
	documents := map[string]string{}
	s := &State{}
	for step := range 600 {
		key := append(segments, "a", "b", "c", "d", "e")[random.IntN(9)]
		s = s.Clone()
		if was, there := documents[key]; there {
			tree, view := parse(t, was)
			s.Remove(key, tree, view)
			delete(documents, key)
		}
		if random.IntN(4) > 0 {
			documents[key] = draw(key)
			tree, view := parse(t, documents[key])
			s.Add(key, tree, view)
		}
		scratch := stateOf(t, documents)
		for _, name := range append(environments, "undeclared") {
			if got, want := s.Of(name, salt), scratch.Of(name, salt); !reflect.DeepEqual(got, want) {
				t.Fatalf("step %d, %s: %v, from scratch %v", step, name, got, want)
			}
		}
	}
	for key, text := range documents {
		tree, view := parse(t, text)
		s.Remove(key, tree, view)
	}
	if len(s.own) > 0 || !reflect.DeepEqual(s.Of("production", salt), (&State{}).Of("production", salt)) {
		t.Errorf("nothing is left, and yet %+v", s)
	}
}

// TestWhatMovesAVersion edits one thing after the other of the same workspace.
func TestWhatMovesAVersion(t *testing.T) {
	base := map[string]string{
		"flag":    item(document.Flag, "flag", `,"tags":["a"]`, serve(inSegment("beta"), "x")+","+serve(always, "y"), "production", serve(always, "p"), "development", serve(always, "d")),
		"browser": item(document.Config, "browser", `,"sendToClientSdk":true`, serve(always, "x")),
		"server":  item(document.Config, "server", "", serve(inSegment("servers"), "x"), "production", serve(always, "p")),
		"level":   item(document.LogLevel, "log-level.a", "", serve(always, "WARN")),
		"hidden":  item(document.Config, "hidden", "", secret(always, "x")),
		"beta":    item(document.Segment, "beta", "", serve(inSegment("inner"), "x")),
		"inner":   item(document.Segment, "inner", "", serve(always, "x")),
		"servers": item(document.Segment, "servers", "", serve(always, "x")),
		"split":   item(document.Flag, "split", `,"variants":[{"name":"v","value":{"type":"string","value":"1"},"description":"d"}]`, serve(always, "1")),
	}
	replace := func(key, old, fresh string) func(map[string]string) {
		return func(documents map[string]string) {
			if !strings.Contains(documents[key], old) {
				t.Errorf("%s does not hold %s", documents[key], old)
			}
			documents[key] = strings.Replace(documents[key], old, fresh, 1)
		}
	}
	const both = "client and sdk"
	for _, tt := range []struct {
		name                    string
		edit                    func(map[string]string)
		production, development string
	}{
		{"nothing", func(map[string]string) {}, "", ""},
		{"tags", replace("flag", `"tags":["a"]`, `"tags":["a","b"]`), "", ""},
		{"a description", replace("flag", `"tags"`, `"description":"d","tags"`), "", ""},
		{"a name", replace("flag", `"tags"`, `"name":"n","tags"`), "", ""},
		{"readyForCleanup", replace("flag", `"tags"`, `"readyForCleanup":true,"tags"`), "", ""},
		{"a schema's key", replace("browser", `"sendToClientSdk"`, `"schemaKey":"s","sendToClientSdk"`), "", ""},
		{"an environment's own rules", replace("flag", `"value":"p"`, `"value":"q"`), both, ""},
		{"another environment's own rules", replace("flag", `"value":"d"`, `"value":"e"`), "", both},
		{"default rules", replace("flag", `"value":"y"`, `"value":"z"`), both, both},
		{"a browser's config", replace("browser", `"value":"x"`, `"value":"z"`), both, both},
		{"a server's config", replace("server", `"value":"x"`, `"value":"z"`), "sdk", "sdk"},
		{"a server's config in one environment", replace("server", `"value":"p"`, `"value":"z"`), "sdk", ""},
		{"a log level", replace("level", `WARN`, `INFO`), "sdk", "sdk"},
		{"a confidential value", replace("hidden", `"value":"x"`, `"value":"z"`), "", ""},
		{"a segment that a flag asks for", replace("beta", `"value":"x"`, `"value":"z"`), both, both},
		{"a segment behind that one", replace("inner", `"value":"x"`, `"value":"z"`), both, both},
		{"a segment of servers", replace("servers", `"value":"x"`, `"value":"z"`), "sdk", "sdk"},
		{"a new entry", func(d map[string]string) {
			d["browser"] = item(document.Config, "browser", `,"sendToClientSdk":true`, serve(always, "x"), "production", serve(always, "x"))
		}, both, ""},
		{"no longer for browsers", replace("browser", `true`, `false`), both, both},
		{"a flag less", func(d map[string]string) { delete(d, "split") }, both, both},
		{"a variant's name", replace("split", `"name":"v"`, `"name":"w"`), both, both},
		{"a variant's description", replace("split", `"description":"d"`, `"description":"e"`), "sdk", "sdk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			documents := maps.Clone(base)
			tt.edit(documents)
			was, is := stateOf(t, base), stateOf(t, documents)
			for environment, want := range map[string]string{"production": tt.production, "development": tt.development} {
				var moved []string
				a, b := was.Of(environment, salt), is.Of(environment, salt)
				if a.Client != b.Client {
					moved = append(moved, "client")
				}
				if a.SDK != b.SDK {
					moved = append(moved, "sdk")
				}
				if got := strings.Join(moved, " and "); got != want {
					t.Errorf("%s: moved %q, want %q", environment, got, want)
				}
			}
		})
	}
}

func TestSaltsTellWorkspacesApart(t *testing.T) {
	s := stateOf(t, map[string]string{"f": item(document.Flag, "f", "", serve(always, "x"))})
	a, b := s.Of("production", salt), s.Of("production", SaltOf([]byte("another secret")))
	if a.SDK == b.SDK || a.Client == b.Client {
		t.Errorf("two workspaces with one document have the versions %v and %v", a, b)
	}
	stored := Stored(s, salt, nil, 0)
	if read, known := FindSalt(stored); !known || read != salt {
		t.Errorf("the salt %x is read as %x, %t", salt, read, known)
	}
	if _, known := FindSalt(stored[:10]); known {
		t.Error("a salt is read from too few bytes")
	}
}

// TestStored holds what a stored text tells, at the moments around each turn,
// against the state that it was made of.
func TestStored(t *testing.T) {
	documents := map[string]string{
		"f":    item(document.Flag, "f", "", serve(before(5000), "x"), "odd", serve(`{"operator":"PROP_IS_ONE_OF","propertyName":"svc.current-time","valueToMatch":{"type":"string_list","value":["1"]}}`, "x")),
		"late": item(document.Flag, "late", "", serve(always, "x"), "production", serve(before(9000), "x")+","+serve(before(12000), "y")),
	}
	s := stateOf(t, documents)
	var names []string
	for i := range 47 {
		names = append(names, fmt.Sprintf("environment-%08d", i))
	}
	names = append(names, "production", "odd", "staging")
	for _, tt := range []struct {
		stored              int64
		production, staging int64 // the first moment at which the client version is told
	}{
		{1000, 0, 0},
		{6000, 5001, 5001},
		{9500, 9001, 5001},
		{20000, 12001, 5001},
	} {
		stored := Stored(s, salt, names, tt.stored)
		if len(stored) == 0 || len(stored) > 3500 {
			t.Errorf("50 environments take %d bytes", len(stored))
		}
		for name, first := range map[string]int64{"production": tt.production, "staging": tt.staging} {
			k, found := Find(stored, name)
			e := s.Of(name, salt)
			if !found || k.SDK != e.SDK || k.Client != e.Client {
				t.Fatalf("%s at %d: %+v, %t", name, tt.stored, k, found)
			}
			for _, at := range []int64{0, 1000, 4999, 5000, 5001, 8999, 9000, 9001, 9500, 11999, 12000, 12001, 1 << 40} {
				last, _ := e.Turns.Around(at)
				if client, known := k.At(at); known != (at >= first) || known && client != e.Client.After(last) {
					t.Errorf("%s, stored at %d, asked at %d: %v, %t", name, tt.stored, at, client, known)
				}
			}
		}
		if k, found := Find(stored, "odd"); !found || k.SDK != s.Of("odd", salt).SDK {
			t.Error("it is not found")
		} else if _, known := k.At(tt.stored); known {
			t.Error("what turns all the time is known")
		}
		for cut := range len(stored) {
			if _, found := Find(stored[:cut], "staging"); found {
				t.Errorf("found in the first %d bytes", cut)
			}
		}
		if _, found := Find(stored, "nobody"); found {
			t.Error("an environment is found that is not there")
		}
	}
	stored := Stored(s, salt, []string{strings.Repeat("x", 256), "production"}, 0)
	if _, found := Find(stored, "production"); !found {
		t.Error("a name that does not fit is in the way of others")
	}
	if !slices.IsSorted(s.Of("production", salt).Turns.Moments) {
		t.Error("the moments are not in order")
	}
}

// TestStoredOfManyTurns: what there is no room for is not told, rather than told
// wrong.
func TestStoredOfManyTurns(t *testing.T) {
	documents := map[string]string{}
	var names, own []string
	for i := range 100 {
		name := fmt.Sprintf("e%02d", i)
		names, own = append(names, name), append(own, name, serve(before(1000*(i+1)), "x"))
	}
	documents["each"] = item(document.Flag, "each", "", serve(always, "x"), own...)
	s := stateOf(t, documents)
	for _, now := range []int64{0, 40_000, 1_000_000} {
		stored := Stored(s, salt, names, now)
		told := 0
		for _, name := range names {
			k, found := Find(stored, name)
			e := s.Of(name, salt)
			if !found || k.SDK != e.SDK || k.Client != e.Client {
				t.Fatalf("%s at %d: %+v, %t", name, now, k, found)
			}
			for at := now; at < 110_000+now; at += 500 {
				last, _ := e.Turns.Around(at)
				if client, known := k.At(at); known && client != e.Client.After(last) {
					t.Errorf("%s, stored at %d, asked at %d: %v", name, now, at, client)
				} else if known {
					told++
				}
			}
		}
		if want := 63 * 110 / 4; told < want {
			t.Errorf("stored at %d, it is told %d times", now, told)
		}
	}
}

// TestFindTakesNoMemory: it is asked at every poll.
func TestFindTakesNoMemory(t *testing.T) {
	s := stateOf(t, map[string]string{"f": item(document.Flag, "f", "", serve(before(5000), "x"))})
	stored := Stored(s, salt, []string{"development", "staging", "production"}, 1000)
	if n := testing.AllocsPerRun(100, func() {
		if k, _ := Find(stored, "production"); k.Client != (Version{}) {
			_, _ = k.At(2000)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// stateOfAllKinds is the State of documents of all kinds.
func stateOfAllKinds(t testing.TB) *State {
	t.Helper()
	s := &State{}
	for key, text := range map[string]string{
		"a": `{"key":"a","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"s"}}],"value":{"type":"bool","value":true}}]},"environments":[{"id":"e","rules":[{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":5000}}],"value":{"type":"bool","value":true}}]}]}`,
		"b": `{"key":"b","type":"config","valueType":"string","default":{"rules":[]},"environments":[{"id":"f","rules":[]}]}`,
		"s": `{"key":"s","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"t"}},{"operator":"PROP_IS_ONE_OF","propertyName":"svc.current-time","valueToMatch":{"type":"string_list","value":["1"]}},{"operator":"PROP_BEFORE","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":-7}}],"value":{"type":"bool","value":true}}]}}`,
	} {
		tree := must.Get(document.Parse([]byte(text)))(t)
		s.Add(key, tree, document.View(tree))
	}
	return s
}

func TestStatesComeBack(t *testing.T) {
	for _, s := range []*State{{}, stateOfAllKinds(t)} {
		b := s.Encode()
		again, err := ReadState(b)
		if err != nil || !bytes.Equal(again.Encode(), b) {
			t.Fatalf("%+v is read as %+v, %v", s, again, err)
		}
		for _, environment := range []string{"e", "f", "g"} {
			if got, want := again.Of(environment, Salt{1}), s.Of(environment, Salt{1}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", environment, got, want)
			}
		}
		for n := range b {
			if _, err := ReadState(b[:n]); err == nil {
				t.Errorf("%d of %d bytes were taken", n, len(b))
			}
		}
	}
}

func FuzzReadState(f *testing.F) {
	f.Add((&State{}).Encode())
	f.Add(stateOfAllKinds(f).Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadState(b)
		if err != nil {
			return
		}
		s.Of("e", Salt{})
		first := s.Encode()
		again, err := ReadState(first)
		if err != nil || !bytes.Equal(again.Encode(), first) {
			t.Errorf("%x is read as %+v, which is read as %+v, %v", b, s, again, err)
		}
	})
}

// TestAPrerequisiteMovesWhoAsks: a flag is sent to everybody, so whatever changes it moves the
// versions of its environment, also for a config or flag that only asks for it; and the client
// version turns with it.
func TestAPrerequisiteMovesWhoAsks(t *testing.T) {
	asks := `{"operator":"FLAG_IS_ONE_OF","propertyName":"base","valueToMatch":{"type":"string_list","value":["on"]}}`
	documents := map[string]string{
		"base":   item(document.Flag, "base", "", serve(always, "off"), "production", serve(always, "off"), "staging", serve(always, "off")),
		"flag":   item(document.Flag, "flag", "", serve(asks, "x")),
		"config": item(document.Config, "config", "", serve(asks, "x")),
	}
	of := func(base string) map[string]Environment {
		documents["base"] = base
		s := stateOf(t, documents)
		return map[string]Environment{"production": s.Of("production", salt), "staging": s.Of("staging", salt)}
	}
	was := of(documents["base"])
	is := of(item(document.Flag, "base", "", serve(always, "off"), "production", serve(always, "on"), "staging", serve(always, "off")))
	if is["production"].Client == was["production"].Client || is["production"].SDK == was["production"].SDK {
		t.Error("the versions of production stay")
	}
	if !reflect.DeepEqual(is["staging"], was["staging"]) {
		t.Error("the versions of staging move")
	}
	timed := of(item(document.Flag, "base", "", serve(always, "off"), "production", serve(before(5000), "on"), "staging", serve(always, "off")))
	if last, next := timed["production"].Turns.Around(1000); last != 0 || next != 5000 {
		t.Errorf("production turns at %d", next)
	}
}
