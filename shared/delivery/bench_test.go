package delivery

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
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
