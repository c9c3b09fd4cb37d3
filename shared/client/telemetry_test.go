package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/contexts"
)

func (s *server) telemetry() Options {
	o := s.options()
	o.Telemetry, o.TelemetryEvery, o.PollEvery = true, time.Hour, time.Hour
	return o
}

// events are all of a kind that a server was sent.
func (s *server) events(kind string) []map[string]any {
	var out []map[string]any
	for _, upload := range s.taken() {
		events, _ := upload["events"].([]any)
		for _, e := range events {
			if content, ok := e.(map[string]any)[kind]; ok {
				out = append(out, content.(map[string]any))
			}
		}
	}
	return out
}

func asJSONText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func TestTelemetryShape(t *testing.T) {
	s := newServer(t, planFlag(), switched("true"), documentOf("config", "unused", "bool", always(plainValue("bool", "true"))))
	o := s.telemetry()
	o.now = func() int64 { return 1_700_000_000_000 }
	c := open(t, o)
	ctx := contexts.With(t.Context(), contexts.Of(map[string]map[string]any{
		"user":    {"key": "u-1", "plan": "pro", "age": 3, "rate": 1.5, "beta": true, "tags": []string{"a"}, "deep": map[string]any{"x": 1}},
		"request": {"ip": "192.0.2.1"},
	}))
	for range 3 {
		c.String(ctx, "plan", "")
	}
	c.Bool(ctx, "f", false)
	c.String(ctx, "f", "a type mismatch counts as served all the same")
	c.String(t.Context(), "plan", "", contexts.Named("team", props{"key": 42}))
	c.Close()

	uploads := s.taken()
	if len(uploads) != 1 {
		t.Fatalf("%d uploads", len(uploads))
	}
	body := uploads[0]
	for _, id := range []string{"instanceHash", "batchId"} {
		if text, _ := body[id].(string); len(text) != 32 {
			t.Errorf("%s is %v", id, body[id])
		}
	}
	if body["sentAt"] != 1.7e12 {
		t.Errorf("sentAt %v", body["sentAt"])
	}
	if got, want := asJSONText(s.events("summaries")), `[{"end":1700000000000,"start":1700000000000,"summaries":[`+
		`{"counters":[{"configId":"id","count":2,"reason":"STATIC","selectedValue":{"bool":true}}],"key":"f","type":"feature_flag"},`+
		`{"counters":[{"configId":"id","count":3,"reason":"TARGETING_MATCH","ruleIndex":0,"selectedValue":{"string":"pro"}},{"configId":"id","count":1,"reason":"TARGETING_MATCH","ruleIndex":4,"selectedValue":{"string":"nobody"}}],"key":"plan","type":"feature_flag"}]}]`; got != want {
		t.Errorf("summaries %s\nwant %s", got, want)
	}
	if got, want := asJSONText(s.events("contextShapes")), `[{"shapes":[{"fieldTypes":{"ip":2},"name":"request"},{"fieldTypes":{"key":1},"name":"team"},`+
		`{"fieldTypes":{"age":1,"beta":5,"key":2,"plan":2,"rate":4,"tags":10},"name":"user"}]}]`; got != want {
		t.Errorf("shapes %s\nwant %s", got, want)
	}
	if got, want := asJSONText(s.events("exampleContexts")), `[{"examples":[`+
		`{"contextSet":{"contexts":[{"type":"user","values":{"age":{"int":3},"beta":{"bool":true},"key":{"string":"u-1"},"plan":{"string":"pro"},"rate":{"double":1.5},"tags":{"stringList":["a"]}}}]},"timestamp":1700000000000},`+
		`{"contextSet":{"contexts":[{"type":"team","values":{"key":{"int":42}}}]},"timestamp":1700000000000}]}]`; got != want {
		t.Errorf("examples %s\nwant %s", got, want)
	}
}

func TestSavedContextsRule1And3OnlyContextsWithAKeyAreUploaded(t *testing.T) {
	s := newServer(t, planFlag())
	c := open(t, s.telemetry())
	for _, key := range []any{nil, "", true, 1.5, []string{"u"}, strings.Repeat("long", 1000)} {
		got := c.String(t.Context(), "plan", "", contexts.Named("user", props{"key": key, "plan": "pro", "email": "someone@example.com"}))
		if got != "pro" {
			t.Errorf("key %v: not usable for targeting: %s", key, got)
		}
	}
	c.Close()
	if got := s.events("exampleContexts"); len(got) > 0 {
		t.Errorf("saved: %s", asJSONText(got))
	}
	if got := asJSONText(s.events("contextShapes")); !strings.Contains(got, `"email":2`) || strings.Contains(got, "example.com") {
		t.Errorf("shapes %s", got)
	}
}

func TestTelemetryIsBounded(t *testing.T) {
	s := newServer(t, planFlag())
	c := open(t, s.telemetry())
	big := strings.Repeat("x", 100_000)
	for i := range 5000 {
		set := contexts.Named(fmt.Sprint("type-", i), props{"key": fmt.Sprint(i), "text": "x"})
		if i%100 == 0 {
			set = set.And("big", props{"key": i, "a": big, "b": big, big: 1})
		}
		c.String(t.Context(), "plan", "", set)
	}
	huge := props{"key": "u"}
	for i := range 5000 {
		huge[fmt.Sprint("p", i)] = big
	}
	c.String(t.Context(), "plan", "", contexts.Named("huge", huge))
	c.Close()
	examples := 0
	for _, e := range s.events("exampleContexts") {
		examples += len(e["examples"].([]any))
	}
	shapes := 0
	for _, e := range s.events("contextShapes") {
		shapes += len(e["shapes"].([]any))
	}
	if examples > maxExamples || shapes > maxShapes || examples == 0 {
		t.Errorf("%d examples, %d shapes", examples, shapes)
	}
	for _, upload := range s.taken() {
		if n := len(asJSONText(upload)); n > 256<<10 {
			t.Errorf("an upload of %d bytes", n)
		}
	}
}

func TestEvaluationDoesNotWaitForTelemetry(t *testing.T) {
	hangs := make(chan struct{})
	s := newServer(t, planFlag())
	s.takes = func(http.ResponseWriter, *http.Request) { <-hangs }
	o := s.telemetry()
	o.TelemetryEvery = time.Millisecond
	c := open(t, o)
	c.String(t.Context(), "plan", "", somebody)
	eventually(t, "an upload hangs", func() bool { return len(s.taken()) > 0 })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 500 {
				c.String(t.Context(), "plan", "", contexts.Named("user", props{"key": fmt.Sprint(i, n)}))
			}
		})
	}
	all.Wait() // while the upload hangs
	close(hangs)
}

// TestNoTwoCountersAreOfTheSame counts what is served under one number and value
// together, also after a change.
func TestNoTwoCountersAreOfTheSame(t *testing.T) {
	pro, free := when("user.plan", "pro", plainValue("bool", "true")), when("user.plan", "free", plainValue("bool", "false"))
	split := func(first int) string {
		return documentOf("config", "split", "int", always(fmt.Sprintf(`{"type":"weighted_values","value":{"hashByPropertyName":"user.plan","weightedValues":[{"weight":%d,"value":%s},{"weight":%d,"value":%s}]}}`,
			first, plainValue("int", "1"), 1-first, plainValue("int", "2"))))
	}
	both := strings.Replace(documentOf("feature_flag", "both", "bool", free), `{"key"`, `{"environment":{"rules":[`+pro+`]},"key"`, 1)
	constant := documentOf("config", "constant", "bool", plainRule("true"), always(plainValue("bool", "false")))
	s := newServer(t)
	set := func(version string, first int) {
		s.set(version, split(first), constant)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.configs += "," + strings.Replace(both, `{"environment"`, `{"id":"id","environment"`, 1)
	}
	set("w1", 1)
	o := s.telemetry()
	o.PollEvery = 5 * time.Millisecond
	c := open(t, o)
	for _, version := range []string{"w1", "w2"} {
		set(version, map[string]int{"w1": 1, "w2": 0}[version])
		eventually(t, version, func() bool { return c.Version() == version })
		for _, plan := range []string{"pro", "free"} {
			set := contexts.Named("user", props{"plan": plan})
			c.Bool(t.Context(), "both", false, set)
			c.Int(t.Context(), "split", 0, set)
			c.Bool(t.Context(), "constant", false, set)
		}
	}
	c.Close()
	got := asJSONText(s.events("summaries"))
	for _, want := range []string{
		`{"counters":[{"configId":"id","count":2,"reason":"TARGETING_MATCH","ruleIndex":0,"selectedValue":{"bool":true}},{"configId":"id","count":2,"reason":"TARGETING_MATCH","ruleIndex":0,"selectedValue":{"bool":false}}],"key":"both"`,
		`{"counters":[{"configId":"id","count":4,"reason":"STATIC","selectedValue":{"bool":true}}],"key":"constant"`,
		`{"counters":[{"configId":"id","count":2,"reason":"SPLIT","ruleIndex":0,"selectedValue":{"int":1},"weightedValueIndex":0},{"configId":"id","count":2,"reason":"SPLIT","ruleIndex":0,"selectedValue":{"int":2},"weightedValueIndex":1}],"key":"split"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}

func plainRule(value string) string {
	return `{"criteria":[],"value":` + plainValue("bool", value) + `}`
}

func TestLoggersAreNoContexts(t *testing.T) {
	s := newServer(t, shopLevels("shop", "WARN"), planFlag())
	c := open(t, s.telemetry())
	c.LogLevel(t.Context(), "com.acme.cart", 0)
	c.LogLevel(contexts.With(t.Context(), contexts.Named("svc-sdk-logging", props{"key": "x"})), "y", 0)
	c.String(t.Context(), "plan", "", contexts.Named("svc-sdk-logging", props{"key": "x"}))
	c.Close()
	if len(s.events("exampleContexts"))+len(s.events("contextShapes")) > 0 {
		t.Errorf("uploaded: %s", asJSONText(s.taken()))
	}
	if len(s.events("summaries")) != 1 {
		t.Error("log levels are not counted")
	}
}

func TestAContextInUseForLongIsReportedInEveryWindow(t *testing.T) {
	s := newServer(t, planFlag())
	c := open(t, s.telemetry())
	c.Global().Put("user", props{"key": "u"})
	for range 3 {
		for range 5 {
			c.String(t.Context(), "plan", "")
		}
		c.telemetry.flush()
	}
	c.telemetry.flush() // a window without use
	c.Close()
	if n := len(s.events("exampleContexts")); n != 3 {
		t.Errorf("reported %d times, want once in each of 3 windows", n)
	}
}

// TestTelemetryTellsNoSecret: neither what a lookup stands for, nor a value that is long.
func TestTelemetryTellsNoSecret(t *testing.T) {
	long := strings.Repeat("x", maxSelected)
	s := newServer(t, documentOf("config", "home", "string", always(providedValue("SECRET"))),
		documentOf("config", "long", "string", always(plainValue("string", `"`+long+`"`))),
		documentOf("config", "list", "string_list", always(plainValue("string_list", `["a"]`))))
	o := s.telemetry()
	o.Getenv = environment(map[string]string{"SECRET": "s3cret"})
	c := open(t, o)
	if got := c.String(t.Context(), "home", ""); got != "s3cret" {
		t.Fatalf("%q", got)
	}
	c.String(t.Context(), "long", "")
	c.StringList(t.Context(), "list", nil)
	c.Close()
	got := asJSONText(s.events("summaries"))
	if strings.Contains(got, "s3cret") || strings.Contains(got, long) || strings.Count(got, `"count":1`) != 3 || !strings.Contains(got, `"selectedValue":{"stringList":["a"]}`) {
		t.Errorf("%s", got)
	}
}
