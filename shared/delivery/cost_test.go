package delivery

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
)

// TestABulkEvaluationEndsWithItsClient, soon: not after all items.
func TestABulkEvaluationEndsWithItsClient(t *testing.T) {
	const flags = 5000
	var docs []string
	for i := range flags {
		docs = append(docs, fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":true},"weight":1},{"value":{"type":"bool","value":false},"weight":1}]}}}]}}`, i))
	}
	table := newTable(sources(t, "["+strings.Join(docs, ",")+"]"), "development", "v1")
	for _, tt := range []struct{ method, path, body string }{{"GET", evalPrefix + "e30", ""}, {"POST", ofrepFlags, "{}"}} {
		ctx, leave := context.WithCancel(context.Background())
		evaluated := 0
		h := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now,
			Random: func() float64 {
				if evaluated++; evaluated == 10 {
					leave()
				}
				return 0
			}}).Mux()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, tt.method, tt.path, strings.NewReader(tt.body)))
		if evaluated > 200 || w.Code != 503 || w.Header().Get("Etag") != "" {
			t.Errorf("%s: %d of %d items were evaluated for nobody; %d", tt.path, evaluated, flags, w.Code)
		}
	}
}

// TestAMegabyteOfContext is answered, and what fits no rule is no match.
func TestAMegabyteOfContext(t *testing.T) {
	rules := `{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.p","valueToMatch":{"type":"string","value":"(x+x+)+y"}}],"value":{"type":"string","value":"matched"}},
		{"criteria":[{"operator":"PROP_CONTAINS_ONE_OF","propertyName":"user.p","valueToMatch":{"type":"string_list","value":["xxxxy","xz"]}}],"value":{"type":"string","value":"contained"}},
		{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"neither"}}`
	table := newTable(sources(t, `[{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[`+rules+`]}}]`), "development", "v1")
	h := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now}).Mux()
	text := func(unit string, most int) string { return strings.Repeat(unit, most/len(unit)) }
	for name, p := range map[string]string{
		"a text":             `"` + text("x", 1<<20-64) + `"`,
		"numbers":            `[` + text("1,", 1<<20-64) + `1]`,
		"texts":              `["xxxxy"` + text(`,"x"`, 1<<20-64) + `]`,
		"a number":           text("9", 1<<20-64),
		"an object":          `{"a":[` + text("{},", 1<<20-64) + `1]}`,
		"arrays in an array": `[` + text("[],", 1<<20-64) + `1]`,
	} {
		r := do(h, "POST", ofrepFlags+"/f", `{"context":{"user.p":`+p+`}}`)
		var answer struct{ Value string }
		if err := json.NewDecoder(r.Body).Decode(&answer); r.StatusCode != 200 || err != nil || answer.Value != "neither" {
			t.Errorf("%s: %d %v %s", name, r.StatusCode, err, answer.Value)
		}
	}
}

// TestPropertiesAreReadAsTreesAre: reading token by token makes no difference.
func TestPropertiesAreReadAsTreesAre(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		var want evaluation.Property
		tree, err := jsontree.Parse([]byte(text))
		if err == nil {
			want = evaluation.FromNode(tree)
		}
		r := newContextReader([]byte(text))
		defer r.release()
		if got, gotErr := r.property(); (err == nil) != (gotErr == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%.100s:\n got %+v %v\nwant %+v %v", text, got, gotErr, want, err)
		}
	}
	for _, text := range []string{`null`, `true`, `false`, `""`, `"a\u0062"`, `1.50`, `[]`, `{}`, `[1,"a\n",true,null,[2],{"a":3},1e2]`,
		strings.Repeat("[", jsontree.MaxDepth) + strings.Repeat("]", jsontree.MaxDepth),
		strings.Repeat("[", jsontree.MaxDepth+1) + strings.Repeat("]", jsontree.MaxDepth+1),
		strings.Repeat(`{"a":`, jsontree.MaxDepth+1) + "1" + strings.Repeat("}", jsontree.MaxDepth+1),
		"[" + strings.Repeat("1,", evaluation.MaxItems-1) + "1]", "[" + strings.Repeat("1,", evaluation.MaxItems) + "1]",
		`[` + strings.Repeat("9", 2000) + `]`,
	} {
		check(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch rapid.IntRange(0, 6-min(depth, 2)).Draw(t, "kind") {
			case 0:
				return rapid.String().Draw(t, "text")
			case 1:
				return rapid.Float64().Draw(t, "number")
			case 2:
				return rapid.Bool().Draw(t, "bool")
			case 3:
				return nil
			case 4:
				return rapid.Int().Draw(t, "int")
			case 5:
				list := []any{}
				for range rapid.IntRange(0, 4).Draw(t, "length") {
					list = append(list, value(depth+1))
				}
				return list
			}
			return map[string]any{rapid.String().Draw(t, "name"): value(depth + 1)}
		}
		text := must.Get(json.Marshal(value(0)))(t)
		check(t, string(text))
	})
}

// many joins n texts by commas.
func many(n int, text func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return strings.Join(all, ",")
}

// always is the same text each time.
func always(text string) func(int) string { return func(int) string { return text } }

// rule serves 1 where a criterion holds.
func criterion(operator, property, kind, operand string) string {
	return fmt.Sprintf(`{"operator":%q,"propertyName":%q,"valueToMatch":{"type":%q,"value":%s}}`, operator, property, kind, operand)
}

func ruleOf(criteria string) string {
	return `{"criteria":[` + criteria + `],"value":{"type":"int","value":1}}`
}

func splitOf(kind string, arms int, value string) string {
	return `{"criteria":[],"value":{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[` +
		many(arms, always(`{"value":{"type":"`+kind+`","value":`+value+`},"weight":1}`)) + `]}}}`
}

// TestTheSizeOfATable is what it takes in memory, whatever its documents are rich
// in: an instance decides by it what it can hold.
func TestTheSizeOfATable(t *testing.T) {
	flag := func(rules string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf(`{"key":"f%03d","type":"feature_flag","valueType":"int","default":{"rules":[%s]}}`, i, rules)
		}
	}
	each := func(rules func(doc int) string) func(int) string {
		return func(i int) string { return flag(rules(i))(i) }
	}
	// criteria are rules of n criteria whose operands differ.
	criteria := func(n int, operator, property, kind, operand string) func(int) string {
		return each(func(d int) string {
			return ruleOf(many(n, func(i int) string { return criterion(operator, property, kind, fmt.Sprintf(operand, d*n+i)) }))
		})
	}
	segment := func(rules string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf(`{"key":"s%03d","type":"segment","valueType":"bool","default":{"rules":[%s]}}`, i, rules)
		}
	}
	compile(t, "%x", 10_000) // the table that remembers is as large as it gets; it never shrinks
	for name, c := range map[string]struct {
		n   int
		doc func(i int) string
	}{
		"flags":                {8000, flag(ruleOf(""))},
		"arms":                 {1, flag(many(20, always(splitOf("int", 1000, "1"))))},
		"arms of one rule":     {1, flag(splitOf("int", 20_000, "1"))},
		"arms of segments":     {4, segment(many(20, always(splitOf("bool", 1000, "true"))))},
		"small splits":         {2, flag(many(2000, always(splitOf("int", 1, "1"))))},
		"withheld arms":        {1, flag(many(20, always(splitOf("int", 1000, `1,"confidential":true`))))},
		"long values":          {10, flag(many(10, always(splitOf("string", 3, `"`+strings.Repeat("x", 33<<10)+`"`))))},
		"rules":                {2, flag(many(10_000, always(ruleOf(""))))},
		"rules of segments":    {2, segment(many(10_000, always(`{"criteria":[],"value":{"type":"bool","value":true}}`)))},
		"criteria":             {4, flag(ruleOf(many(20_000, always(criterion("IS_PRESENT", "user.key", "string", `""`)))))},
		"criteria of segments": {2, segment(many(5000, always(`{"criteria":[`+criterion("IS_PRESENT", "user.key", "string", `""`)+`],"value":{"type":"bool","value":true}}`)))},
		"numbers":              {2, criteria(5000, "PROP_GREATER_THAN", "user.age", "int", `%d`)},
		"ranges":               {2, criteria(5000, "IN_INT_RANGE", "user.age", "json", `{"start":%d}`)},
		"times":                {2, criteria(5000, "PROP_BEFORE", "svc.current-time", "int", `%d`)},
		"versions":             {2, criteria(5000, "PROP_SEMVER_EQUAL", "user.app", "string", `"1.1.%d"`)},
		"prefixes":             {2, criteria(5000, "HIERARCHICAL_MATCH", "user.app", "string", `"a.1.%d"`)},
		"unknown operators":    {2, criteria(5000, "SOME_DAY", "user.app", "string", `"a.1.%d"`)},
		"memberships":          {2, criteria(5000, "IN_SEG", "", "string", `"a.1.%d"`)},
		"one word each":        {2, criteria(5000, "PROP_IS_ONE_OF", "user.key", "string_list", `["%d"]`)},
		"small expressions":    {30, criteria(300, "PROP_MATCHES", "user.key", "string", `"%x"`)},
		"anchored expressions": {30, criteria(150, "PROP_MATCHES", "user.key", "string", `"^(%x|y)$"`)},
		"large expressions":    {5, criteria(40, "PROP_MATCHES", "user.key", "string", `"a%dx{1000}"`)},
		"classes":              {20, criteria(20, "PROP_MATCHES", "user.key", "string", `"a%d\\pL\\pN"`)},
		"words": {2, each(func(d int) string {
			return ruleOf(criterion("PROP_IS_ONE_OF", "user.key", "string_list", `[`+many(50_000, func(i int) string { return fmt.Sprintf(`"%x"`, d*50_000+i) })+`]`))
		})},
		"the same words": {1, each(func(d int) string {
			return ruleOf(criterion("PROP_IS_ONE_OF", "user.key", "string_list", `[`+many(100_000, func(i int) string { return fmt.Sprintf(`"%x"`, (i+d)%100) })+`]`))
		})},
		"parts": {2, each(func(d int) string {
			return ruleOf(criterion("PROP_CONTAINS_ONE_OF", "user.key", "string_list", `[`+many(100_000, func(i int) string { return fmt.Sprintf(`"%x"`, (i+d)%100) })+`]`))
		})},
		"long parts": {2, each(func(d int) string {
			return ruleOf(criterion("PROP_STARTS_WITH_ONE_OF", "user.key", "string_list", `[`+many(1000, func(i int) string { return fmt.Sprintf(`"%0900d"`, d*1000+i) })+`]`))
		})},
		"properties": {2, each(func(d int) string {
			return ruleOf(many(5000, func(i int) string { return criterion("IS_PRESENT", fmt.Sprintf("user.p%d", d*5000+i), "string", `""`) }))
		})},
		"properties with a word": {2, each(func(d int) string {
			return ruleOf(many(5000, func(i int) string {
				return criterion("PROP_IS_ONE_OF", fmt.Sprintf("user.p%d", d*5000+i), "string_list", `["a"]`)
			}))
		})},
		"names of variants": {2, func(i int) string {
			return fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"int","variants":[%s],"default":{"rules":[%s]}}`, i,
				many(2000, func(v int) string {
					return fmt.Sprintf(`{"name":"%0200d","value":{"type":"int","value":%d}}`, 10_000*i+v, v)
				}),
				many(2000, func(v int) string { return fmt.Sprintf(`{"criteria":[],"value":{"type":"int","value":%d}}`, v) }))
		}},
		"other environments": {2, func(i int) string {
			return fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"int","default":{"rules":[]},"environments":[%s]}`, i,
				many(10_000, func(e int) string { return fmt.Sprintf(`{"id":"e%d","rules":[]}`, e) }))
		}},
		"long keys": {5000, func(i int) string {
			return fmt.Sprintf(`{"key":"%0200d","type":"feature_flag","valueType":"int","default":{"rules":[]}}`, i)
		}},
		"configs that are not served": {1000, func(i int) string {
			return fmt.Sprintf(`{"key":"c%d","type":"config","valueType":"int","default":{"rules":[%s]}}`, i, ruleOf(""))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			forgetExpressions(t)
			before := memory.InUse()
			b := NewBuilder("production")
			for i := range c.n {
				tree := must.Get(jsontree.Parse([]byte(c.doc(i))))(t)
				doc := document.View(tree)
				b.Add(evaluation.Source{Key: doc.Key, Document: doc})
			}
			table := b.Table(func(int64) string { return "0123456789" }, b.compiler.Snapshot().Turns())
			b = nil
			frame := table.snapshot.NewFrame(0, nil)
			forgetExpressions(t)
			held, size := memory.InUse()-before, table.Size()
			t.Logf("%s: %.1f MB are held, the size is %.1f MB", name, mb(held), mb(size))
			if size < held*9/10-slack || size > 2*held+slack {
				t.Errorf("%d bytes are held, and the size is %d", held, size)
			}
			runtime.KeepAlive(table)
			runtime.KeepAlive(frame)
		})
	}
}

// compile has the expressions remembered, and what else was to be forgotten.
func compile(t *testing.T, pattern string, n int) {
	for i := range n {
		must.Get(expression.Compile(fmt.Sprintf(pattern, i)))(t)
	}
}

// forgetExpressions has those that are remembered make way for always the same.
func forgetExpressions(t *testing.T) { compile(t, "forget%dx{1000}", 180) }

// slack is for what is there once, and what the runtime holds for itself.
const slack = 256 << 10

func mb(n int64) float64 { return float64(n) / (1 << 20) }

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// As a server's writer has them.
func (d discard) SetWriteDeadline(time.Time) error { return nil }
func (d discard) FlushError() error                { return nil }

// manyFlags is a directory of flags with three targeting rules each.
func manyFlags(n int) string {
	var docs []string
	for i := range n {
		rule := func(operator, property, operandType, operand, value string) string {
			return fmt.Sprintf(`{"criteria":[{"operator":%q,"propertyName":%q,"valueToMatch":{"type":%q,"value":%s}}],"value":{"type":"string","value":%q}}`, operator, property, operandType, operand, value)
		}
		rules := []string{
			rule("PROP_IS_ONE_OF", "user.plan", "string_list", fmt.Sprintf(`["plan-%d","plan-%d"]`, i%50, (i+7)%50), "by plan"),
			rule("PROP_ENDS_WITH_ONE_OF", "user.email", "string_list", fmt.Sprintf(`["@team%d.example"]`, i%50), "by team"),
			rule("PROP_GREATER_THAN", "user.orders", "int", fmt.Sprint(i%100), "by orders"),
			`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"everyone else"}}`,
		}
		docs = append(docs, fmt.Sprintf(`{"key":"flag-%d","type":"feature_flag","valueType":"string","default":{"rules":[%s]}}`, i, strings.Join(rules, ",")))
	}
	return "[" + strings.Join(docs, ",") + "]"
}

func BenchmarkPoll(b *testing.B) {
	for _, n := range []int{100, 1000} {
		table := newTable(sources(b, manyFlags(n)), "development", "v1")
		h := CORS([]string{AnyOrigin}, (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now}).Mux())
		context := `{"user":{"key":"user-1","plan":"plan-3","email":"user-1@team7.example","country":"DE","orders":40}}`
		r := must.Get(http.NewRequest("GET", "http://svc.test"+evalPrefix+base64.StdEncoding.EncodeToString([]byte(context)), nil))(b)
		b.Run(fmt.Sprintf("flags=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			w := discard{http.Header{}}
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
		b.Run(fmt.Sprintf("flags=%d over HTTP", n), func(b *testing.B) { shareOfCeiling(b, h, r.URL.RequestURI()) })
	}
}

// shareOfCeiling takes turns between polls and a handler that writes the same bytes from
// memory, over a connection each, and tells how much of the ceiling's rate polls reach.
func shareOfCeiling(b *testing.B, h http.Handler, path string) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
	ceiling := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), answer.Header())
		_, _ = w.Write(answer.Body.Bytes())
	})
	var asks [2]func()
	for i, handler := range []http.Handler{h, ceiling} {
		server := httptest.NewServer(handler)
		defer server.Close()
		connection := must.Get(net.Dial("tcp", server.Listener.Addr().String()))(b)
		defer connection.Close()
		request := []byte("GET " + path + " HTTP/1.1\r\nHost: svc.test\r\n\r\n")
		in := bufio.NewReaderSize(connection, 64<<10)
		asks[i] = func() {
			must.Get(connection.Write(request))(b)
			a := must.Get(http.ReadResponse(in, nil))(b)
			if n, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != 200 || n != int64(answer.Body.Len()) {
				b.Fatalf("%s, %d bytes: %v", a.Status, n, err)
			}
		}
	}
	var took [2]time.Duration
	for b.Loop() {
		for i, ask := range asks {
			begin := time.Now()
			ask()
			took[i] += time.Since(begin)
		}
	}
	b.ReportMetric(100*float64(took[1])/float64(took[0]), "%ofceiling")
}
