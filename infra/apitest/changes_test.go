package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/testing/apiload"
)

// creations is a change set that creates so many flags.
func creations(prefix string, n int) string {
	var operations []string
	for i := range n {
		operations = append(operations, fmt.Sprintf(`{"op":"create","type":"feature_flag","body":{"key":"%s-%d"}}`, prefix, i))
	}
	return `{"operations":[` + strings.Join(operations, ",") + `]}`
}

// changeSets: of up to 90 documents two requests more than a single write, of more
// four for each 25.
func (b *budgets) changeSets() {
	b.Helper()
	api := b.instance()
	b.asks(api, "POST", "/v1/changes", creations("first", 1))
	total := func(n int) int {
		b.serial++
		asked, _, _ := b.asks(api, "POST", "/v1/changes", creations(fmt.Sprint("many-", b.serial), n))
		requests := 0
		for _, n := range asked {
			requests += n
		}
		b.Logf("a change set of %d documents took %v", n, asked)
		return requests
	}
	single := total(1)
	if single > 5 { // with a snapshot, now and then
		b.Errorf("one document took %d requests", single)
	}
	if n := total(90); n > 4+2 {
		b.Errorf("90 documents took %d requests", n)
	}
	for _, documents := range []int{120, 500} {
		if n := total(documents); n > 4+2+4*(documents+24)/25 {
			b.Errorf("%d documents took %d requests", documents, n)
		}
	}
}

// TestFiftyChanges tells what fifty changes take, one by one and as one.
func TestFiftyChanges(t *testing.T) {
	b := newBudgets(t, size{100, 1})
	api := b.instance()
	b.asks(api, "GET", "/v1/flags", "")
	b.asks(api, "POST", "/v1/changes", creations("first", 1))
	b.meter.Take()
	send := func(method, path, body string) (received int) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+b.keys[0])
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Body.Len()
	}
	var operations []string
	sent, received := 0, 0
	for i := range 50 {
		path, body := "/v1/flags/"+b.size.key(i)+"/environments/staging", `{"enabled": true}`
		sent += len(body)
		received += send("PATCH", path, body)
		operations = append(operations, fmt.Sprintf(`{"op":"patch","type":"feature_flag","key":%q,"environment":"staging","body":{"enabled":false}}`, b.size.key(i)))
	}
	alone := b.meter.Take().Total()
	t.Logf("one by one: 50 requests with %d bytes, answers of %d; %d requests to AWS with %d bytes", sent, received, alone.Requests, alone.Sent)
	body := `{"operations":[` + strings.Join(operations, ",") + `]}`
	received = send("POST", "/v1/changes", body)
	together := b.meter.Take().Total()
	t.Logf("as one: 1 request with %d bytes, an answer of %d; %d requests to AWS with %d bytes", len(body), received, together.Requests, together.Sent)
	if together.Requests > 6 || together.Requests*20 > alone.Requests {
		t.Errorf("as one they take %d requests, one by one %d", together.Requests, alone.Requests)
	}
}

var errKilled = errors.New("killed")

// TestAChangeSetThatIsKilled before each of its requests, and after each, is there
// in full or not at all, and the next one finds nothing in its way.
func TestAChangeSetThatIsKilled(t *testing.T) {
	h := open(t)
	var err error
	h.workspace, err = h.stores.Create(background(t), admin.Creation{Name: "shop"})
	must(t, err)
	key := h.issueKey(t, "Ada", "ada@example.com", "protected_engineer")
	ask := func(api http.Handler, method, path, body string) (int, []byte) {
		r := httptest.NewRequest(method, path, bytes.NewReader([]byte(body)))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w.Code, w.Body.Bytes()
	}
	// left is how many requests are answered before the instance is killed, and
	// after says that the last one is carried out all the same.
	alive := func(left int64, after bool) http.Handler {
		var n atomic.Int64
		n.Store(left)
		api, err := h.New(background(t), func(_ string, c *aws.Config) {
			c.RetryMaxAttempts = 1
			c.APIOptions = append(c.APIOptions, func(stack *middleware.Stack) error {
				return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("Kill", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (out middleware.DeserializeOutput, m middleware.Metadata, err error) {
					switch rest := n.Add(-1); {
					case rest >= 0:
						return next.HandleDeserialize(ctx, in)
					case rest == -1 && after:
						_, _, _ = next.HandleDeserialize(ctx, in)
					}
					return out, m, errKilled
				}), middleware.After)
			})
		}, slog.New(slog.DiscardHandler))
		must(t, err)
		return api
	}
	healthy := alive(1<<30, false)
	const documents = 120
	none, all := 0, 0
	for _, after := range []bool{false, true} {
		for step := int64(0); ; step++ {
			prefix := fmt.Sprintf("s%d-%t", step, after)
			status, body := ask(alive(step, after), "POST", "/v1/changes", creations(prefix, documents))
			code, text := ask(healthy, "GET", "/v1/flags", "")
			var list struct{ Flags []struct{ Key string } }
			must(t, json.Unmarshal(text, &list))
			there := 0
			for _, flag := range list.Flags {
				if strings.HasPrefix(flag.Key, prefix+"-") {
					there++
				}
			}
			switch {
			case code != 200 || there != 0 && there != documents, status == 200 && there == 0:
				t.Fatalf("step %d, after %t: %d %s; %d of %d flags are there", step, after, status, body, there, documents)
			case there == 0:
				none++
			default:
				all++
				history, text := ask(healthy, "GET", "/v1/flags/"+prefix+"-7/history", "")
				if history != 200 || strings.Count(string(text), `"sha"`) != 1 {
					t.Errorf("step %d, after %t: the history is %s", step, after, text)
				}
			}
			if status == 200 {
				break
			}
		}
	}
	t.Logf("%d times nothing was there, %d times everything", none, all)
	if status, body := ask(healthy, "POST", "/v1/changes", creations("last", documents)); status != 200 {
		t.Errorf("the next one: %d %s", status, body)
	}
}

// TestChangeSetsAreNeverHalf: each sets as many configs as no transaction holds to
// one number, while requests and instances fail. Whoever lists them sees one commit.
func TestChangeSetsAreNeverHalf(t *testing.T) {
	const configs, clients = 110, 4
	files := map[string]string{"svc.json": `{"environments": ["production"]}`}
	for i := range configs {
		key := fmt.Sprint("c-", i)
		files[apiload.PathOf("configs", key)] = apiload.Canonical(apiload.NewConfig(key, "", 0))
	}
	h := create(t, files, clients)
	f := start(t, h, apiload.Seed(t), usual(), 400)
	client := apiload.NewHTTPClient(t)
	send := func(key, method, path, body string, into any) int {
		r, err := http.NewRequestWithContext(background(t), method, f.server.URL+"/v1"+path, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := client.Do(r)
		if err != nil {
			return 0
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
			return 0
		}
		return answer.StatusCode
	}
	var landed sync.Map
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range each(8, 60) {
				var operations []string
				for n := range configs {
					operations = append(operations, fmt.Sprintf(`{"op":"patch","type":"config","key":"c-%d","environment":"default","body":{"value":%d}}`, n, c*1000+i+1))
				}
				var r struct {
					CommitSHA string
					Changed   bool
				}
				status := send(h.keys[c], "POST", "/changes", `{"operations":[`+strings.Join(operations, ",")+`]}`, &r)
				if status == 200 && r.Changed {
					landed.Store(r.CommitSHA, true)
				} else if status != 200 && status != 503 && status != 0 {
					t.Errorf("a change set is answered with %d", status)
				}
				var list struct{ Configs []apiload.Row }
				if send(h.keys[c], "GET", "/configs", "", &list) == 200 {
					for _, row := range list.Configs {
						if row.CommitSHA != list.Configs[0].CommitSHA {
							t.Errorf("%s is of %s, %s of %s", row.Key, row.CommitSHA, list.Configs[0].Key, list.Configs[0].CommitSHA)
							break
						}
					}
				}
			}
		})
	}
	all.Wait()
	f.mend()
	var first, last struct{ History []apiload.Entry }
	if a, b := send(h.keys[0], "GET", "/configs/c-0/history", "", &first), send(h.keys[0], "GET", "/configs/c-109/history", "", &last); a != 200 || b != 200 {
		t.Fatal(a, b)
	}
	if !slices.Equal(first.History, last.History) {
		t.Errorf("%v is not %v", first.History, last.History)
	}
	n := 0
	for _, entry := range first.History {
		if _, acknowledged := landed.Load(entry.SHA); acknowledged {
			n++
		}
	}
	acknowledged := 0
	landed.Range(func(any, any) bool { acknowledged++; return true })
	if n != acknowledged || n == 0 {
		t.Errorf("%d of %d acknowledged commits are in the history, of %d", n, acknowledged, len(first.History))
	}
	t.Logf("%d change sets of %d configs were acknowledged, %d landed", acknowledged, configs, len(first.History)-1)
}
