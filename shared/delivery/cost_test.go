package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// TestABulkEvaluationEndsWithItsClient, soon: not after all items.
func TestABulkEvaluationEndsWithItsClient(t *testing.T) {
	const flags = 5000
	var docs []string
	for i := range flags {
		docs = append(docs, fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":true},"weight":1}]}}}]}}`, i))
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
		got, gotErr := r.property()
		if (err == nil) != (gotErr == nil) || !reflect.DeepEqual(got, want) {
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
