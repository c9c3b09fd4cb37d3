package evaluation

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/murmur3"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// explainer compiles documents for explanations, and finds them again.
func explainer(sources ...Source) (*Explainer, *Account) {
	units, c, docs := NewUnits("test"), NewCompiler(), map[string]*document.Document{}
	for _, s := range sources {
		unit, _ := units.Make(s)
		c.Add(unit)
		docs[s.Key] = s.Document
	}
	return c.Explainer("test"), &Account{Left: 1 << 20, Segment: func(key string) *document.Document { return docs[key] }, Property: func(string) *jsontree.Node { return nil }}
}

// TestTheHashIsExact: it is told from the point that it was made to.
func TestTheHashIsExact(t *testing.T) {
	for range 100_000 {
		hash := rand.Uint32()
		if got := uint32(math.Round(float64(hash) / maxHash * maxHash)); got != hash {
			t.Fatalf("%d is told as %d", hash, got)
		}
	}
	doc := source(t, flag("f", weighted("user.key", 50_000, 50_000)))
	e, account := explainer(doc)
	f := fill(t, e.NewFrame(testNow, noRandom), `{"user":{"key":"u-1"}}`)
	tried, complete := e.Explain(0, doc, f, account)
	if want := murmur3.Sum32([]byte("fu-1")); !complete || *tried[0].Split.Hash != want {
		t.Errorf("%+v, want the hash %d", tried[0].Split, want)
	}
}

// TestChanceDecidesOnce: what is told is what was served, also of a segment that
// chance decides.
func TestChanceDecidesOnce(t *testing.T) {
	by := source(t, flag("f", weighted("", 50_000, 50_000)))
	in := source(t, flag("g", serve(criterion("IN_SEG", "", "string", `"half"`), "yes")))
	half := source(t, segmentDoc("half", `{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":true},"weight":1},{"value":{"type":"bool","value":false},"weight":1}]}}}`))
	e, account := explainer(by, in, half)
	for range 100 {
		f := e.NewFrame(testNow, rand.Float64)
		answer, member := e.Evaluate(0, f), e.Evaluate(1, f) != None
		tried, _ := e.Explain(0, by, f, account)
		if !tried[0].Split.Arms[answer].Chosen || tried[0].Split.Hash != nil {
			t.Fatalf("answer %d is told as %+v", answer, tried[0].Split)
		}
		tried, _ = e.Explain(1, in, f, account)
		if got := tried[0].Criteria[0].Segment[0].Member; *got != member || tried[0].Matched != member {
			t.Fatalf("member: %v, told as %v", member, *got)
		}
		account.Left = 1 << 20
	}
}

// TestExplanationsAreBounded, whatever refers to whatever.
func TestExplanationsAreBounded(t *testing.T) {
	const n = 300
	in := func(i int) string { return criterion("IN_SEG", "", "string", fmt.Sprintf(`"s%d"`, i)) }
	asks := source(t, flag("f", serve(in(0), "yes")))
	all := []Source{asks}
	for i := range n {
		var later []string
		for j := i + 1; j < n; j++ {
			later = append(later, in(j))
		}
		all = append(all, source(t, segmentDoc(fmt.Sprint("s", i), member(strings.Join(later, ","), true))))
	}
	e, account := explainer(all...)
	f := e.NewFrame(testNow, noRandom)
	if e.Evaluate(0, f) == None {
		t.Fatal("all are members")
	}
	tried, complete := e.Explain(0, asks, f, account)
	if complete || len(tried) > 0 || account.Left > 0 {
		t.Errorf("%d segments that refer to each other are told in %d bytes", n, 1<<20-account.Left)
	}
	account.Left = 100 << 20
	tried, complete = e.Explain(0, asks, f, account)
	text, err := json.Marshal(tried)
	if err != nil || !complete {
		t.Fatal(complete, err)
	}
	if told := strings.Count(string(text), `"segment":`); told != n {
		t.Errorf("%d segments are told %d times", n, told)
	}
	if took := 100<<20 - account.Left; len(text) > took*3/2 || len(text) < took/3 {
		t.Errorf("%d bytes were counted as %d", len(text), took)
	}
}

// TestAnotherDocument is not explained, and nothing breaks.
func TestAnotherDocument(t *testing.T) {
	doc := source(t, flag("f", serve(criterion("IN_SEG", "", "string", `"s"`), "yes")))
	segment := source(t, segmentDoc("s", member(always, true)))
	e, account := explainer(doc, segment)
	f := e.NewFrame(testNow, noRandom)
	e.Evaluate(0, f)
	if _, complete := e.Explain(0, Source{Document: &document.Document{}}, f, account); complete {
		t.Error("a document without rules is explained by those of another")
	}
	account.Segment = func(string) *document.Document { return &document.Document{} }
	if _, complete := e.Explain(0, doc, f, account); complete {
		t.Error("a segment without rules is explained by those of another")
	}
}

func TestBrief(t *testing.T) {
	long := strings.Repeat("long ", 1000)
	for text, want := range map[string]string{
		`null`: `null`, `1`: `1`, `"a"`: `"a"`, `["a","b"]`: `["a","b"]`, `{"a":[1]}`: `{"a":[1]}`,
		`"` + long + `"`:           "cut",
		`["a","` + long + `"]`:     `["a"]`,
		`["` + long + `"]`:         `[]`,
		`{"a":"` + long + `"}`:     "<nil>",
		`{"` + long + `":1}`:       "<nil>",
		`[[["` + long + `"]],"a"]`: `[]`,
	} {
		tree := must.Get(jsontree.Parse([]byte(text)))(t)
		told, got := brief(tree), "<nil>"
		if told.node != nil {
			got = string(told.node.Compact())
		}
		if want == "cut" && strings.HasSuffix(got, `long…"`) && len(got) <= maxTold {
			got = "cut"
		}
		if got != want || told.cut != (text != want) || len(text) > maxTold && !told.cut {
			t.Errorf("%.20s is told as %.40s (%v), want %s", text, got, told.cut, want)
		}
	}
}
