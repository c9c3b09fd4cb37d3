package delivery

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
)

func TestOFREPAnswers(t *testing.T) {
	h := serve(t, false)
	for _, tt := range []struct{ key, context, want string }{
		{"redesign", `{"user.plan":"pro"}`, `{"key":"redesign","value":true,"reason":"TARGETING_MATCH","variant":"on","metadata":{"configType":"feature_flag","valueType":"bool","ruleSource":"default","ruleIndex":0}}`},
		{"redesign", `{"plan":"pro"}`, `{"key":"redesign","value":false,"reason":"TARGETING_MATCH","variant":"off","metadata":{"configType":"feature_flag","valueType":"bool","ruleSource":"default","ruleIndex":1}}`},
		{"banner", `{}`, `{"key":"banner","value":"hi \u00e9","reason":"STATIC","variant":"static","metadata":{"configType":"feature_flag","valueType":"string"}}`},
		{"origins", `{}`, `{"key":"origins","value":["x"],"reason":"STATIC","variant":"static","metadata":{"configType":"config","valueType":"string_list"}}`},
		{"limit", `{}`, `{"key":"limit","value":9007199254740993,"reason":"STATIC","variant":"static","metadata":{"configType":"config","valueType":"int"}}`},
		{"split", `{"targetingKey":"u1"}`, `{"key":"split","value":"a","reason":"SPLIT","variant":"split:0","metadata":{"configType":"feature_flag","valueType":"string","ruleSource":"default","ruleIndex":0,"weightedValueIndex":0}}`},
		{"beta-only", `{}`, `{"key":"beta-only","reason":"UNKNOWN","variant":"default","metadata":{"configType":"config","valueType":"string"}}`},
		{"beta-only", `{"user.beta":true}`, `{"key":"beta-only","value":"yes","reason":"TARGETING_MATCH","variant":"targeting:0","metadata":{"configType":"config","valueType":"string","ruleSource":"default","ruleIndex":0}}`},
	} {
		r := do(h, "POST", ofrepFlags+"/"+tt.key, `{"context":`+tt.context+`}`)
		one := strings.TrimSuffix(tt.want, "}}") + `,"version":"v1"}}` // which a bulk answer has at the top alone
		if got := text(t, r); r.StatusCode != 200 || got != one {
			t.Errorf("%s over %s: %d\n got %s\nwant %s", tt.key, tt.context, r.StatusCode, got, one)
		}
		bulk := text(t, do(h, "POST", ofrepFlags, `{"context":`+tt.context+`}`))
		if !json.Valid([]byte(bulk)) || !strings.Contains(bulk, tt.want) || strings.Count(bulk, `"version"`) != 1 {
			t.Errorf("bulk over %s lacks %s, or names its version in each flag", tt.context, tt.want)
		}
	}
}

func TestTargetingKeyYieldsToUserKey(t *testing.T) {
	h := serve(t, false)
	arm := func(context string) string {
		body := text(t, do(h, "POST", ofrepFlags+"/split", `{"context":`+context+`}`))
		_, rest, _ := strings.Cut(body, `"variant":"`)
		variant, _, _ := strings.Cut(rest, `"`)
		return variant
	}
	arms := map[string]string{}
	for i := range 40 {
		key := fmt.Sprintf("u%d", i)
		arms[arm(`{"user.key":"`+key+`"}`)] = key
	}
	a, b := arms["split:0"], arms["split:1"]
	for _, context := range []string{
		`{"targetingKey":"` + a + `"}`,
		`{"targetingKey":"` + b + `","user.key":"` + a + `"}`,
		`{"user.key":"` + a + `","targetingKey":"` + b + `"}`,
	} {
		if got := arm(context); got != "split:0" {
			t.Errorf("%s falls into %s", context, got)
		}
	}
}

func TestNestedContexts(t *testing.T) {
	h := serve(t, false)
	for context, want := range map[string]string{
		`{"user":{"plan":"pro"}}`:                             `"variant":"on"`,
		`{"user":{"plan":"pro"},"user.plan":"free"}`:          `"variant":"off"`,
		`{"user.plan":"free","user":{"plan":"pro"}}`:          `"variant":"off"`,
		`{"user":{"plan":{"plan":"pro"}}}`:                    `"variant":"off"`,
		`{"user.plan":{"plan":"pro"}}`:                        `"variant":"off"`,
		`{"other":{"plan":"pro"},"user":{"pl\u0061n":"pro"}}`: `"variant":"on"`,
	} {
		if body := text(t, do(h, "POST", ofrepFlags+"/redesign", `{"context":`+context+`}`)); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", context, body, want)
		}
	}
}

// TestHalfASurrogatePair is what JSON.stringify makes of a text that was cut in
// two; browsers send U+FFFD for it elsewhere.
func TestHalfASurrogatePair(t *testing.T) {
	h := serve(t, false)
	for _, name := range []string{`"Ana \ud83d"`, `"\udc00"`, `["\ud83d","\ud83d\ude00"]`, `{"\ud83d":"\ude00"}`} {
		context := `{"user":{"plan":"pro","name":` + name + `,"\ud83d":1}}`
		if r := do(h, "GET", evalPrefix+token(context), ""); r.StatusCode != 200 {
			t.Errorf("native, %s: %s", name, text(t, r))
		}
		if body := text(t, do(h, "POST", ofrepFlags+"/redesign", `{"context":`+context+`}`)); !strings.Contains(body, `"variant":"on"`) {
			t.Errorf("OFREP, %s: %s", name, body)
		}
	}
	half := func(plan string) string {
		return text(t, do(h, "POST", ofrepFlags+"/redesign", `{"context":{"user.plan":`+plan+`}}`))
	}
	if a, b := half(`"pro\ud83d"`), half(`"pro\ufffd"`); a != b || strings.Contains(a, `"variant":"on"`) {
		t.Errorf("%s, and for U+FFFD %s", a, b)
	}
}

func TestABaseURLMayEndInASlash(t *testing.T) {
	h := serve(t, false)
	if got := do(h, "POST", "/"+ofrepFlags, `{}`).StatusCode; got != 200 {
		t.Errorf("OFREP: %d", got)
	}
	if got := do(h, "GET", "/"+evalPrefix+"e30", "").StatusCode; got != 200 {
		t.Errorf("native: %d", got)
	}
}

func TestBadOFREPBodies(t *testing.T) {
	h := serve(t, false)
	for _, tt := range []struct {
		body   string
		status int
		code   string
	}{
		{"", 200, ""}, {"{}", 200, ""}, {`{"context":null}`, 200, ""}, {`{"context":{}}`, 200, ""}, {`{"other":[1],"context":{"targetingKey":null}}`, 200, ""},
		{`{"context":{"user":{"plan":"pro"},"tags":["a",{}]}}`, 200, ""},
		{"hello", 400, parseError}, {"[]", 400, parseError}, {`"x"`, 400, parseError}, {`{"context":{}`, 400, parseError}, {`{}{}`, 400, parseError},
		{"{\"context\":{\"a\":\"\xff\"}}", 400, parseError}, {`{"context":{"a":1,"a":2}}`, 400, parseError},
		{`{"context":[]}`, 400, invalidContext}, {`{"context":"x"}`, 400, invalidContext}, {`{"context":7}`, 400, invalidContext},
		{`{"context":{"targetingKey":{"a":1}}}`, 400, invalidContext}, {`{"context":{"targetingKey":5}}`, 400, invalidContext},
		{`{"context":{"a":"` + strings.Repeat("x", bodies.Max) + `"}}`, 413, general},
	} {
		for _, path := range []string{ofrepFlags, ofrepFlags + "/banner"} {
			r := do(h, "POST", path, tt.body)
			body := text(t, r)
			if r.StatusCode != tt.status {
				t.Errorf("%s %.60s: %d %s", path, tt.body, r.StatusCode, body)
			}
			if tt.code != "" && (!strings.Contains(body, `"errorCode":"`+tt.code+`"`) || strings.Contains(body, `not "`)) {
				t.Errorf("%s %.60s: %s, want %s", path, tt.body, body, tt.code)
			}
			if hasKey := strings.Contains(body, `"key":"banner"`); tt.code != "" && hasKey != (path != ofrepFlags) {
				t.Errorf("%s %.60s: the key in %s", path, tt.body, body)
			}
		}
	}
}

// An index alone does not say which rule it was: an environment's own rules are
// tried first, then the default ones.
func TestAnAnswerNamesTheListOfItsRule(t *testing.T) {
	const rule = `{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["%s"]}}],"value":%s}`
	split := `{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"string","value":"split"},"weight":1}]}}`
	document := `[{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[` +
		fmt.Sprintf(rule, "pro", `{"type":"string","value":"by default"}`) + `]},"environments":[{"id":"development","rules":[` +
		fmt.Sprintf(rule, "free", `{"type":"string","value":"own"}`) + `,` + fmt.Sprintf(rule, "trial", split) + `]}]}]`
	table := newTable(sources(t, document), "development", "v1")
	h := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now, Random: func() float64 { return 0 }}).Mux()
	for plan, want := range map[string]string{
		"free":  `"ruleSource":"environment","ruleIndex":0`,
		"trial": `"ruleSource":"environment","ruleIndex":1,"weightedValueIndex":0`,
		"pro":   `"ruleSource":"default","ruleIndex":0`,
	} {
		native := text(t, do(h, "GET", evalPrefix+token(`{"user":{"plan":"`+plan+`"}}`), ""))
		ofrep := text(t, do(h, "POST", ofrepFlags+"/f", `{"context":{"user.plan":"`+plan+`"}}`))
		if !strings.Contains(native, want) || !strings.Contains(ofrep, want) {
			t.Errorf("%s: want %s in both\n%s\n%s", plan, want, native, ofrep)
		}
	}
}

// A variant's name can say what the value is, and a plain variant can be the
// secret itself: of an item that has a confidential value they are nobody's.
func TestVariantsBesideASecretAreNotServed(t *testing.T) {
	const item = `[{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"open"}}]},
		"environments":[{"id":"other","rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"hunter2"%s}}]}],
		"variants":[{"name":"the open one","value":{"type":"string","value":"open"}}]}]`
	for mark, want := range map[string]string{"": "the open one", `,"confidential":false`: "the open one", `,"confidential":true`: "static"} {
		table := newTable(sources(t, fmt.Sprintf(item, mark)), "development", "v1")
		h := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now, Random: func() float64 { return 0 }}).Mux()
		if got := text(t, do(h, "POST", ofrepFlags+"/f", "")); !strings.Contains(got, `"variant":"`+want+`"`) {
			t.Errorf("%q: want the variant %s in %s", mark, want, got)
		}
	}
}

// TestLargeContextsTakeTurns: one that is being evaluated holds the next up, and
// no small one, until it is answered.
func TestLargeContextsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		split := `{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"string","value":"a"},"weight":1},{"value":{"type":"string","value":"b"},"weight":1}]}}`
		table := newTable(sources(t, `[{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":`+split+`}]}}]`), "development", "v1")
		evaluating, goOn := make(chan bool, 1), make(chan bool)
		evaluating <- true // for the first
		h := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now, Random: func() float64 {
			select {
			case <-evaluating:
				<-goOn
			default:
			}
			return 0
		}}).Mux()
		large := `{"context":{"x":"` + strings.Repeat("x", 1<<20-64) + `"}}`
		for _, path := range []string{ofrepFlags, ofrepFlags + "/f"} {
			first := make(chan int)
			go func() { first <- do(h, "POST", path, large).StatusCode }()
			synctest.Wait() // it is evaluated
			if small := do(h, "POST", path, `{}`); small.StatusCode != 200 {
				t.Errorf("%s: a small context beside it: %d", path, small.StatusCode)
			}
			if second := do(h, "POST", path, large); second.StatusCode != 503 || second.Header.Get("Retry-After") == "" {
				t.Errorf("%s: a second large one beside it: %d", path, second.StatusCode)
			}
			goOn <- true
			if status := <-first; status != 200 {
				t.Errorf("%s: the first: %d", path, status)
			}
			for range 2 { // also after one that is refused
				if again := do(h, "POST", path, large+"}"); again.StatusCode != 400 {
					t.Errorf("%s: a large context that is no JSON: %d", path, again.StatusCode)
				}
			}
			if last := do(h, "POST", path, large); last.StatusCode != 200 {
				t.Errorf("%s: afterwards: %d", path, last.StatusCode)
			}
			evaluating <- true
		}
	})
}

// TestBulkEvaluationsNameStreams to the key that asks, and tell answers that name
// another stream apart.
func TestBulkEvaluationsNameStreams(t *testing.T) {
	table := newTable(sources(t, directory), "development", "v1")
	tables := func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }
	token := func(key, environment string) string { return key + "&" + environment }
	tags := map[string]string{}
	for name, tt := range map[string]struct {
		streams *Streams
		key     string
		want    string
	}{
		"none":           {nil, "a", `}}],"metadata"`},
		"without a key":  {&Streams{InactivityDelay: 5}, "a", `,"eventStreams":[{"type":"sse","endpoint":{"requestUri":"/ofrep/v1/events"},"inactivityDelaySec":5}],"metadata"`},
		"a key":          {&Streams{InactivityDelay: 120, Token: token}, "a", `,"eventStreams":[{"type":"sse","endpoint":{"requestUri":"/ofrep/v1/events?token=a%26development"},"inactivityDelaySec":120}],"metadata"`},
		"another key":    {&Streams{Token: token}, "b", `?token=b%26development`},
		"another server": {&Streams{Token: token, URL: "https://e.test/", InactivityDelay: 120}, "a", `{"type":"sse","url":"https://e.test/ofrep/v1/events?token=a%26development","inactivityDelaySec":120}`},
	} {
		h := (&Handler{Tables: tables, Now: time.Now, Random: func() float64 { return 0 }, Streams: tt.streams}).Mux()
		for range 2 {
			r := do(h, "POST", ofrepFlags, `{}`, "X-API-Key", tt.key)
			if body := text(t, r); !json.Valid([]byte(body)) || !strings.Contains(body, tt.want) {
				t.Errorf("%s: %s", name, body)
			}
			tags[r.Header.Get("Etag")] = name
		}
		if one := text(t, do(h, "POST", ofrepFlags+"/banner", `{}`, "X-API-Key", tt.key)); strings.Contains(one, "eventStreams") {
			t.Errorf("%s: one flag names streams: %s", name, one)
		}
	}
	if len(tags) != 5 {
		t.Errorf("answers that differ have one tag: %v", tags)
	}
}

// Providers read errorCode of every refusal; several take one without it for an answer.
func TestEveryRefusalOverOFREPHasACode(t *testing.T) {
	table := newTable(sources(t, directory), "development", "v1")
	var refusal error
	tables := func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, refusal }
	mux := (&Handler{Tables: tables, Now: time.Now, Random: func() float64 { return 0 }}).Mux()
	broken := Unloaded("development", "v1", func() (*Table, error) { return nil, errors.New("inner cause") })
	unloaded := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return broken, nil }, Now: time.Now}).Mux()
	one, all := ofrepFlags+"/banner", ofrepFlags
	for _, tt := range []struct {
		handler      http.Handler
		method, path string
		body         string
		header       string // and its value
		refusal      error
		status       int
		code         string
	}{
		{handler: mux, method: "POST", path: one, body: "x", header: "Content-Encoding gzip", status: 400, code: parseError},
		{handler: mux, method: "POST", path: one, refusal: fault.New(fault.Unauthorized, "no key"), status: 401, code: general},
		{handler: mux, method: "PUT", path: one, refusal: fault.New(fault.Unauthorized, "no key"), status: 401, code: general},
		{handler: mux, method: "POST", path: one, refusal: fault.New(fault.Forbidden, "no"), status: 403, code: general},
		{handler: mux, method: "POST", path: ofrepFlags + "/none", status: 404, code: flagNotFound},
		{handler: mux, method: "POST", path: "/ofrep/v1/configuration", status: 404, code: general},
		{handler: mux, method: "POST", path: ofrepFlags + "/", status: 404, code: flagNotFound},
		{handler: mux, method: "POST", path: "/ofrep/v1/../v1/evaluate", status: 404, code: general},
		{handler: mux, method: "GET", path: one, status: 405, code: general},
		{handler: mux, method: "POST", path: one, body: strings.Repeat("x", bodies.Max+1), status: 413, code: general},
		{handler: Hosts(nil, mux), method: "POST", path: one, status: 421, code: general},
		{handler: mux, method: "POST", path: one, refusal: fault.New(fault.RateLimited, "too many").After(time.Second), status: 429, code: general},
		{handler: unloaded, method: "POST", path: one, status: 500, code: general},
		{handler: mux, method: "POST", path: one, refusal: fault.New(fault.Unavailable, "away"), status: 503, code: general},
	} {
		paths := []string{tt.path}
		if tt.path == one {
			paths = append(paths, all)
		}
		for _, path := range paths {
			refusal = tt.refusal
			name, value, _ := strings.Cut(tt.header, " ")
			r := do(tt.handler, tt.method, path, tt.body, name, value)
			var got map[string]string
			if err := json.Unmarshal([]byte(text(t, r)), &got); err != nil || r.StatusCode != tt.status || got["errorCode"] != tt.code || got["errorDetails"] == "" || got["error"] != "" {
				t.Errorf("%s %s: %d %v, want %d %s", tt.method, path, r.StatusCode, got, tt.status, tt.code)
			}
			if want := strings.TrimPrefix(strings.TrimPrefix(path, all), "/"); strings.HasPrefix(path, all) && got["key"] != want {
				t.Errorf("%s %s: the key %q", tt.method, path, got["key"])
			}
			if status := r.StatusCode; (status == 401) != (r.Header.Get("Www-Authenticate") != "") || (status == 429 || status == 503) != (r.Header.Get("Retry-After") != "") {
				t.Errorf("%s %s: %d with the headers %v", tt.method, path, status, r.Header)
			}
		}
	}
}

// overridden answers with the test directory, in which u1 gets other values.
func overridden(t *testing.T, values map[string]document.Value) http.Handler {
	all := sources(t, directory)
	for i := range all {
		if value, found := values[all[i].Key]; found {
			u1 := &document.Value{Type: document.StringListValue, Content: jsontree.NewArray(jsontree.NewString("u1"))}
			all[i].Overrides = []document.Rule{{Criteria: []document.Criterion{{Operator: "PROP_IS_ONE_OF", PropertyName: "user.key", ValueToMatch: u1}}, Value: value}}
		}
	}
	table := newTable(all, "development", "v1")
	return (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil },
		Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }, Random: func() float64 { return 0 }}).Mux()
}

func TestAnOverrideIsServedToThoseItIsFor(t *testing.T) {
	h := overridden(t, map[string]document.Value{"redesign": {Type: document.BoolValue, Content: jsontree.NewBool(true)}})
	own := text(t, poll(h, `{"user":{"key":"u1"}}`))
	if want := `"redesign":{"value":{"type":"bool","value":true},"configId":"redesign","configType":"feature_flag","valueType":"bool","reason":"OVERRIDE"},`; !strings.Contains(own, want) {
		t.Errorf("u1 is answered %s, want %s", own, want)
	}
	one := text(t, do(h, "POST", ofrepFlags+"/redesign", `{"context":{"targetingKey":"u1"}}`))
	if want := `{"key":"redesign","value":true,"reason":"STATIC","variant":"on","metadata":{"configType":"feature_flag","valueType":"bool","override":true,"version":"v1"}}`; one != want {
		t.Errorf("OFREP answers u1 %s, want %s", one, want)
	}
	plain := serve(t, false)
	for _, context := range []string{`{"user":{"key":"u2"}}`, `{"user":{"plan":"pro"}}`, `{}`} {
		if got, want := text(t, poll(h, context)), text(t, poll(plain, context)); got != want {
			t.Errorf("%s is answered\n%s, without the override\n%s", context, got, want)
		}
	}
}

// TestAConfidentialOverrideIsWithheld, as any value that is confidential.
func TestAConfidentialOverrideIsWithheld(t *testing.T) {
	h := overridden(t, map[string]document.Value{"password": {Type: document.StringValue, Content: jsontree.NewString("hush"), Confidential: true}})
	if got := text(t, poll(h, `{"user":{"key":"u1","plan":"open"}}`)); strings.Contains(got, "password") || strings.Contains(got, "hush") {
		t.Error(got)
	}
	if one := do(h, "POST", ofrepFlags+"/password", `{"context":{"targetingKey":"u1"}}`); one.StatusCode != http.StatusNotFound {
		t.Error(one.StatusCode, text(t, one))
	}
}

// TestWhichStreamsShareABrowser: those of pages from this machine, and no others, which
// may be many people's behind a proxy.
func TestWhichStreamsShareABrowser(t *testing.T) {
	for _, tt := range []struct {
		name, peer, origin, referer, mode string
		browser, local                    bool
	}{
		{"a page of this machine", "127.0.0.1:1", "http://localhost:3000", "http://localhost:3000/", "cors", true, true},
		{"one by its IPv6 address", "[::1]:1", "http://[::1]:3000", "", "cors", true, true},
		{"one with a name of its own", "127.0.0.1:1", "http://shop.localhost:3000", "", "cors", true, true},
		{"one of the same origin", "127.0.0.1:1", "", "http://127.0.0.1:6581/page", "cors", true, true},
		{"a page of a site, by a proxy here", "127.0.0.1:1", "https://www.acme.example", "https://www.acme.example/", "cors", true, false},
		{"one of the same origin, by a proxy here", "127.0.0.1:1", "", "https://flags.acme.example/", "cors", true, false},
		{"one that tells nothing of itself", "127.0.0.1:1", "", "", "cors", true, false},
		{"one without an origin", "127.0.0.1:1", "null", "", "cors", true, false},
		{"a name that only looks like this machine's", "127.0.0.1:1", "https://localhost.acme.example", "", "cors", true, false},
		{"a page of another machine", "192.0.2.1:1", "http://localhost:3000", "", "cors", true, false},
		{"no browser", "127.0.0.1:1", "http://localhost:3000", "", "", false, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		for name, value := range map[string]string{"Origin": tt.origin, "Referer": tt.referer, "Sec-Fetch-Mode": tt.mode} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := Browser(r) != ""; got != tt.browser {
			t.Errorf("%s: a browser: %t", tt.name, got)
		}
		if got := LocalBrowser(r) != ""; got != tt.local {
			t.Errorf("%s: one of this machine: %t", tt.name, got)
		}
	}
}

// TestATableTakesAsMuchAsItsDocuments, about: what a document says once is not
// repeated with each of its answers, however long it is.
func TestATableTakesAsMuchAsItsDocuments(t *testing.T) {
	const long, arms = 400_000, 1500
	text := strings.Repeat("x", long)
	var split []string
	for i := range arms {
		split = append(split, fmt.Sprintf(`{"value":{"type":"string","value":"%d"},"weight":1}`, i))
	}
	flag := `[{"key":"f","type":"feature_flag","valueType":"string","name":%[1]q,"description":%[1]q,"tags":[%[1]q],"id":%[2]q,
		"variants":[{"name":%[3]q,"description":%[1]q,"value":{"type":"string","value":"7"}}],
		"default":{"rules":[{"criteria":[],"value":{"type":"weighted_values","value":{"hashByPropertyName":%[4]q,"weightedValues":[` + strings.Join(split, ",") + `]}}},
		{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":%[5]q,"valueToMatch":{"type":"string_list","value":["a"]}}],"value":{"type":"string","value":"7"}}]}}]`
	for name, at := range map[string]int{"description": 0, "id": 1, "variant": 2, "hashByPropertyName": 3, "propertyName": 4} {
		parts := []any{"d", "id", "v", "user.key", "user.plan"}
		parts[at] = text
		table := newTable(sources(t, fmt.Sprintf(flag, parts...)), "production", "0123456789")
		if size := table.Size(); size < arms*300 || size > arms*500+3*long {
			t.Errorf("a long %s: a document of %d bytes makes a table of %d", name, long+arms*50, size)
		}
	}
}
