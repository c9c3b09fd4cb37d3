package evaluation

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/jsontree"
)

// put evaluates a flag for a context of one property.
func put(t testing.TB, s compiled, key string, p Property) string {
	t.Helper()
	i, _ := s.Find(key)
	f := s.NewFrame(testNow, func() float64 { return 0 })
	defer f.Release()
	f.Put(f.Slot([]byte("user"), []byte("p")), p)
	a := s.Evaluate(i, f)
	if a == None {
		return "-"
	}
	text, _ := s.Answers[a].Value.Content.Text()
	return text
}

func TestALongTextMatchesNoExpression(t *testing.T) {
	for operator, want := range map[string][2]string{"PROP_MATCHES": {"yes", "-"}, "PROP_DOES_NOT_MATCH": {"-", "yes"}} {
		s := compile("test", source(t, flag("f", serve(criterion(operator, "user.p", "string", `"^a+$"`), "yes"))))
		for i, length := range []int{MaxMatched, MaxMatched + 1} {
			if got := put(t, s, "f", Text(strings.Repeat("a", length))); got != want[i] {
				t.Errorf("%s over %d bytes serves %s, want %s", operator, length, got, want[i])
			}
		}
	}
}

// TestAnOperandMayBeOfAnyLength: only what a context holds is bounded.
func TestAnOperandMayBeOfAnyLength(t *testing.T) {
	for operator, want := range map[string][2]string{
		"PROP_IS_ONE_OF": {"yes", "-"}, "PROP_IS_NOT_ONE_OF": {"-", "yes"},
		"PROP_STARTS_WITH_ONE_OF": {"yes", "-"}, "PROP_DOES_NOT_END_WITH_ONE_OF": {"-", "yes"},
	} {
		for _, length := range []int{MaxItems, MaxItems + 1, 3 * MaxItems} {
			words := make([]string, length)
			for i := range words {
				words[i] = fmt.Sprintf(`"u%05d"`, i)
			}
			s := compile("test", source(t, flag("f", serve(criterion(operator, "user.p", "string_list", "["+strings.Join(words, ",")+"]"), "yes"))))
			for i, p := range []string{fmt.Sprintf("u%05d", length-1), "other"} {
				if got := put(t, s, "f", Text(p)); got != want[i] {
					t.Errorf("%s among %d words serves %s to %s, want %s", operator, length, got, p, want[i])
				}
			}
		}
	}
}

// hostile are rules of every kind that takes long, many of each, on user.p.
func hostile(t testing.TB, n int) compiled {
	var sources []Source
	add := func(rules string) {
		sources = append(sources, source(t, flag(fmt.Sprintf("f%04d", len(sources)), rules)))
	}
	for i := range n {
		add(serve(criterion("PROP_MATCHES", "user.p", "string", fmt.Sprintf(`"(x+x+)+y%d"`, i)), "match"))
		add(serve(criterion("PROP_CONTAINS_ONE_OF", "user.p", "string_list", fmt.Sprintf(`["aaaaaaab%d","aaaaaaac%d","%d"]`, i, i, i)), "contain"))
		add(serve(criterion("PROP_IS_NOT_ONE_OF", "user.p", "string_list", fmt.Sprintf(`["k%d","k%d"]`, i, i+1)), "equal"))
		add(serve(criterion("PROP_BEFORE", "user.p", "int", fmt.Sprint(i)), "time"))
		add(serve(criterion("PROP_SEMVER_EQUAL", "user.p", "string", fmt.Sprintf(`"1.0.%d"`, i)), "version"))
		add(weighted("user.p", 50000, 50000))
	}
	return compile("test", sources...)
}

// TestACostlyPropertyCountsAsAnObject: it is present, and equal to nothing,
// for every rule alike. What rules are made for is compared as ever.
func TestACostlyPropertyCountsAsAnObject(t *testing.T) {
	s := hostile(t, 500)
	for name, tt := range map[string]struct {
		property Property
		object   bool
	}{
		"a short text":      {Text("k1"), false},
		"a free text":       {Text(strings.Repeat("x", freeText)), false},
		"a long text":       {Text(strings.Repeat("x", MaxMatched)), true},
		"a megabyte":        {Text(strings.Repeat("a", 1<<20)), true},
		"a few short texts": {List([]string{"k1", "k2"}), false},
		"many texts":        {List(slicesOf("aaaaaaaa", MaxItems)), true},
		"one long of a few": {List([]string{strings.Repeat("a", 1<<20)}), true},
		"too many texts":    {List(slicesOf("", MaxItems+1)), true},
		"a long number":     {NumberLiteral(strings.Repeat("9", maxNumber+1)), true},
		"a short number":    {NumberLiteral(strings.Repeat("9", maxNumber)), false},
	} {
		f := s.NewFrame(testNow, func() float64 { return 0 })
		f.Put(f.Slot([]byte("user"), []byte("p")), tt.property)
		if got := f.properties[0].Kind == OtherProperty; got != tt.object || f.spent > budget {
			t.Errorf("%s: an object: %v, %d spent", name, got, f.spent)
		}
		for item := range s.Keys {
			s.Evaluate(item, f)
		}
		f.Release()
	}
	if got := put(t, s, "f0008", List([]string{"k0", "k1"})); got != "-" {
		t.Errorf("a list with an excluded element serves %s", got)
	}
}

func slicesOf(text string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = text
	}
	return list
}

// TestAListIsPricedByTheWordsItIsLookedUpAmong: looking for an element among
// 1000 words takes ten steps.
func TestAListIsPricedByTheWordsItIsLookedUpAmong(t *testing.T) {
	for _, tt := range []struct {
		rules, words int
		object       bool
	}{{400, 1, false}, {400, 16, false}, {400, 1000, true}, {150, 1000, false}, {170, 2000, true}} {
		var sources []Source
		for i := range tt.rules {
			words := make([]string, tt.words)
			for j := range words {
				words[j] = fmt.Sprintf("%q", fmt.Sprint("k", i+j))
			}
			sources = append(sources, source(t, flag(fmt.Sprintf("f%04d", i), serve(criterion("PROP_IS_ONE_OF", "user.p", "string_list", "["+strings.Join(words, ",")+"]"), "x"))))
		}
		s := compile("test", sources...)
		f := s.NewFrame(testNow, noRandom)
		f.Put(f.Slot([]byte("user"), []byte("p")), List(slicesOf("no", MaxItems)))
		if got := f.properties[0].Kind == OtherProperty; got != tt.object {
			t.Errorf("%d rules of %d words: an object: %v, %d spent", tt.rules, tt.words, got, f.spent)
		}
		f.Release()
	}
}

// TestOneBudgetForAllProperties: a context does not get more by spreading what
// it holds.
func TestOneBudgetForAllProperties(t *testing.T) {
	var rules []string
	for i := range 200 {
		rules = append(rules, serve(criterion("PROP_MATCHES", fmt.Sprintf("user.p%d", i), "string", `"(x+x+)+y"`), "match"))
	}
	s := compile("test", source(t, flag("f", strings.Join(rules, ","))))
	f := s.NewFrame(testNow, noRandom)
	defer f.Release()
	objects := 0
	for i := range 200 {
		slot := f.Slot([]byte("user"), fmt.Appendf(nil, "p%d", i))
		f.Put(slot, Text(strings.Repeat("x", MaxMatched)))
		if f.properties[slot].Kind == OtherProperty {
			objects++
		}
	}
	if objects == 0 || objects == 200 || f.spent > budget {
		t.Errorf("%d of 200 properties count as objects, %d spent", objects, f.spent)
	}
}

// TestEvaluationsAgree: an item serves the same by itself as among all others.
func TestEvaluationsAgree(t *testing.T) {
	s := hostile(t, 60)
	for _, p := range []Property{Text(strings.Repeat("x", 600)), Text(strings.Repeat("x", 4000)), List(slicesOf("a", 2000))} {
		f := s.NewFrame(testNow, func() float64 { return 0 })
		f.Put(f.Slot([]byte("user"), []byte("p")), p)
		for item, key := range s.Keys {
			together := "-"
			if a := s.Evaluate(item, f); a != None {
				together, _ = s.Answers[a].Value.Content.Text()
			}
			if alone := put(t, s, key, p); alone != together {
				t.Errorf("%s serves %s alone and %s among others", key, alone, together)
			}
		}
		f.Release()
	}
}

// TestTheExpressionsOfADocumentAreBounded together, and a document's share is
// its own: the author of one document cannot break another's rules.
func TestTheExpressionsOfADocumentAreBounded(t *testing.T) {
	var rules []string
	for i := range 100 {
		rules = append(rules, serve(criterion("PROP_MATCHES", "user.p", "string", fmt.Sprintf(`"a%d|x{1000}"`, i)), "yes"))
	}
	large := flag("large", strings.Join(rules, ","))
	s := compile("test", source(t, large), source(t, flag("small", rules[99])))
	if got := put(t, s, "small", Text("a99")); got != "yes" {
		t.Errorf("the small document serves %s", got)
	}
	if got := put(t, s, "large", Text("a1-")); got != "yes" {
		t.Errorf("an early rule of the large document serves %s", got)
	}
}

// TestTheExpressionsOfAWorkspaceAreBounded together: what one environment serves
// of them is what is held in memory.
func TestTheExpressionsOfAWorkspaceAreBounded(t *testing.T) {
	var sources []Source
	for i := range 6 {
		var rules []string
		for j := range 49 {
			rules = append(rules, serve(criterion("PROP_MATCHES", "user.p", "string", fmt.Sprintf(`"d%da%d|x{1000}"`, i, j)), "yes"))
		}
		sources = append(sources, source(t, flag(fmt.Sprint("d", i), strings.Join(rules, ","))))
	}
	again := serve(criterion("PROP_MATCHES", "user.p", "string", `"d0a0|x{1000}"`), "yes")
	s := compile("test", append(sources, source(t, flag("e", again)))...)
	for key, text := range map[string]string{"d0": "d0a48", "d4": "d4a48", "d5": "d5a0", "e": "d0a0"} {
		if got := put(t, s, key, Text(text)); got != "yes" {
			t.Errorf("%s serves %s", key, got)
		}
	}
	if got := put(t, s, "d5", Text("d5a48")); got == "yes" {
		t.Error("what goes beyond is compiled")
	}
}

// TestAHostileContextIsAnswered: whatever a context of a megabyte holds.
func TestAHostileContextIsAnswered(t *testing.T) {
	s := hostile(t, 20)
	rapid.Check(t, func(t *rapid.T) {
		value := hostileValue().Draw(t, "value")
		f := s.NewFrame(testNow, func() float64 { return 0.5 })
		defer f.Release()
		f.Put(f.Slot([]byte("user"), []byte("p")), FromNode(value))
		if f.spent > budget {
			t.Fatalf("%d spent", f.spent)
		}
		for item := range s.Keys {
			s.Evaluate(item, f)
		}
	})
}

func hostileValue() *rapid.Generator[*jsontree.Node] {
	return rapid.Custom(func(t *rapid.T) *jsontree.Node {
		unit := rapid.SampledFrom([]string{"a", "x", "9", "é", "1.0.", "\\u0000"}).Draw(t, "unit")
		text := strings.Repeat(unit, rapid.SampledFrom([]int{0, 1, 64, 65, 255, 4096, 100_000}).Draw(t, "length"))
		if rapid.Bool().Draw(t, "list") {
			n := rapid.SampledFrom([]int{0, 1, 16, 17, 9_999, 10_001}).Draw(t, "elements")
			items := make([]*jsontree.Node, n)
			for i := range items {
				items[i] = jsontree.NewString(text[:min(len(text), 64)])
			}
			return jsontree.NewArray(items...)
		}
		return jsontree.NewString(text)
	})
}
