package delivery

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
		table := NewTable(sources(b, manyFlags(n)), "development", "v1")
		h := CORS([]string{AnyOrigin}, (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now}).Mux())
		context := `{"user":{"key":"user-1","plan":"plan-3","email":"user-1@team7.example","country":"DE","orders":40}}`
		r, err := http.NewRequest("GET", "http://svc.test"+evalPrefix+base64.StdEncoding.EncodeToString([]byte(context)), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("flags=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			w := discard{http.Header{}}
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}
