package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/telemetrytest"
)

// wrap puts contexts, as JSON, into a body of one example.
func wrap(contexts string) string {
	return `{"events":[{"exampleContexts":{"examples":[{"timestamp":1795176000000,"contextSet":{"contexts":[` + contexts + `]}}]}}]}`
}

func TestDecode(t *testing.T) {
	body := `{"instanceHash":"i","batchId":"b","sentAt":1795176000001,"later":[1],"events":[
		{"summaries":{"start":1,"summaries":[{"counters":[]}]}},
		{"somethingNew":7},
		{"contextShapes":{"shapes":[{"name":"user","fieldTypes":{"plan":2,"age":"int","tags":10,"odd":99,"older":"date"}}]}},
		{"exampleContexts":{"examples":[
			{"timestamp":"1795176000000","contextSet":{"contexts":[
				{"type":"user","values":{"key":{"string":"u-1"},"age":{"int":"36"},"rate":{"double":1.50},"beta":{"bool":true},"tags":{"stringList":["a","b"]},"proto":{"stringList":{"values":["c"]}},"new":{"bytes":"xx"},"none":null,"nothing":{"string":null}}},
				{"type":"device","values":{"ip":{"string":"10.0.0.1"}}},
				{"type":"team"}]}},
			{"contextSet":{}}]}}]}`
	report, issues := telemetry.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	want := telemetry.Report{Instance: "i", BatchID: "b", SentAt: time.UnixMilli(1795176000001).UTC(), Unknown: 1,
		Shapes: []telemetry.KnownShape{{Type: "user", Fields: map[string][]telemetry.Kind{"plan": {telemetry.String}, "age": {telemetry.Int}, "tags": {telemetry.StringList}}}},
		Examples: []telemetry.Example{{At: time.UnixMilli(1795176000000).UTC(), Contexts: []telemetry.Context{
			{Type: "user", Key: "u-1", Properties: []telemetry.Property{
				{Name: "key", Kind: telemetry.String, Text: "u-1"}, {Name: "age", Kind: telemetry.Int, Text: "36"},
				{Name: "rate", Kind: telemetry.Double, Text: "1.50"}, {Name: "beta", Kind: telemetry.Bool, Text: "true"},
				{Name: "tags", Kind: telemetry.StringList, List: []string{"a", "b"}}, {Name: "proto", Kind: telemetry.StringList, List: []string{"c"}}}},
			{Type: "device", Properties: []telemetry.Property{{Name: "ip", Kind: telemetry.String, Text: "10.0.0.1"}}},
			{Type: "team"}}}, {}}}
	same(t, report, want)
}

// TestDecodePlainValues: what names its kind and what does not are the same.
func TestDecodePlainValues(t *testing.T) {
	plain := `{"type":"user","values":{"key":"u-1","age":42,"large":9223372036854775808,"rate":1.50,"beta":true,"tags":["a","b"],"none":null,"empty":[]}}`
	wrapped := `{"type":"user","values":{"key":{"string":"u-1"},"age":{"int":42},"large":{"double":9223372036854775808},"rate":{"double":1.50},"beta":{"bool":true},"tags":{"stringList":["a","b"]},"none":null,"empty":{"stringList":[]}}}`
	mixed := strings.Replace(plain, `"age":42`, `"age":{"int":"42"}`, 1)
	want, issues := telemetry.Decode([]byte(wrap(wrapped)))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	for _, body := range []string{plain, mixed} {
		got, issues := telemetry.Decode([]byte(wrap(body)))
		if len(issues) > 0 {
			t.Errorf("%v", issues)
		}
		same(t, got, want)
	}
	report, issues := telemetry.Decode([]byte(`{"events":[{"loggers":{"x":1}},{},{"failedFlags":[7]},{"summaries":{},"later":1}]}`))
	if len(issues) > 0 || report.Unknown != 3 {
		t.Errorf("%d unknown events, %v", report.Unknown, issues)
	}
}

func same(t *testing.T, got, want any) {
	t.Helper()
	g, _ := json.MarshalIndent(got, "", " ")
	if w, _ := json.MarshalIndent(want, "", " "); string(g) != string(w) {
		t.Errorf("got %s\nwant %s", g, w)
	}
}

// TestDecodeSaysWhere: each mistake is refused with its place and with what
// would be right.
// TestDecodeSaysWhere a report is wrong, and what: testdata has them, each with what is said.
func TestDecodeSaysWhere(t *testing.T) {
	reports := strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/reports.txt"))(t))), "\n\n")
	const values = "\n/events/0/exampleContexts/examples/0/contextSet/contexts/0/values"
	key, text := strings.Repeat("k", telemetry.MaxKey+1), strings.Repeat("k", telemetry.MaxText+1)
	for _, text := range append(reports, strings.Repeat(" ", telemetry.MaxBody+1)+"\n: larger than 1048576 bytes",
		wrap(`{"type":"u","values":{"key":"`+key+`"}}`)+values+"/key: a key has at most 1024 bytes",
		wrap(`{"type":"u","values":{"bio":"`+text+`"}}`)+values+"/bio: at most 4096 bytes",
		wrap(`{"type":"u","values":{"key":{"string":"`+key+`"}}}`)+values+"/key: a key has at most 1024 bytes",
		wrap(`{"type":"u","values":{"bio":{"string":"`+text+`"}}}`)+values+"/bio/string: at most 4096 bytes") {
		body, want, _ := strings.Cut(text, "\n")
		pointer, message, _ := strings.Cut(want, ": ")
		report, issues := telemetry.Decode([]byte(body))
		if len(issues) != 1 || issues[0].Pointer != pointer || !strings.Contains(issues[0].Message, message) {
			t.Errorf("%.200s:\n got %+v\nwant %s", body, issues, want)
		}
		same(t, report, telemetry.Report{})
	}
}

func TestDecodeIsBounded(t *testing.T) {
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	var properties []string
	for i := range telemetry.MaxProperties + 1 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"int":1}`, i))
	}
	for name, body := range map[string]string{
		"events":   `{"events":[` + many(telemetry.MaxEvents+1, `{}`) + `]}`,
		"examples": `{"events":[` + many(2, `{"exampleContexts":{"examples":[`+many(telemetry.MaxExamples/2+1, `{"contextSet":{}}`)+`]}}`) + `]}`,
		"shapes":   `{"events":[` + many(2, `{"contextShapes":{"shapes":[`+many(telemetry.MaxShapes/2+1, `{}`)+`]}}`) + `]}`,
		"contexts": wrap(many(telemetry.MaxContexts+1, `{"type":"u"}`)),
		"all contexts": `{"events":[{"exampleContexts":{"examples":[` +
			many(telemetry.MaxSeen/50, `{"contextSet":{"contexts":[`+many(50, `{"type":"u"}`)+`]}}`) + `,{"contextSet":{"contexts":[{"type":"u"}]}}]}}]}`,
		"properties": wrap(`{"type":"u","values":{` + strings.Join(properties, ",") + `}}`),
		"list":       wrap(`{"type":"u","values":{"l":{"stringList":[` + many(telemetry.MaxList+1, `"a"`) + `]}}}`),
	} {
		if _, issues := telemetry.Decode([]byte(body)); len(issues) != 1 || !strings.Contains(issues[0].Message, "at most") {
			t.Errorf("%s: %v", name, issues)
		}
	}
}

// TestDecodeReportsAllAtOnce, up to a number that can be read.
func TestDecodeReportsAllAtOnce(t *testing.T) {
	_, issues := telemetry.Decode([]byte(wrap(`{"type":1,"values":{"a":[1],"b":{"int":"x"}}},7`)))
	if len(issues) != 4 {
		t.Errorf("%v", issues)
	}
	_, issues = telemetry.Decode([]byte(`{"events":[` + strings.Repeat("7,", 79) + `7]}`))
	if len(issues) != 51 || issues[50].Message != "and 30 more like these" {
		t.Errorf("%d: %v", len(issues), issues[len(issues)-1])
	}
}

// TestRefusalsHoldNoValues: what a context holds is about people.
func TestRefusalsHoldNoValues(t *testing.T) {
	_, issues := telemetry.Decode([]byte(wrap(`{"type":"u","values":{"email":{"string":["ada@acme.example"]},"n":{"int":"ada"},"plain":"ada"}}`)))
	for _, issue := range issues {
		if strings.Contains(issue.Message, "ada") {
			t.Error(issue)
		}
	}
}

// TestDecodeSummaries: what of them cannot be read counts nothing, and refuses nothing.
func TestDecodeSummaries(t *testing.T) {
	report, issues := telemetry.Decode([]byte(`{"events":[{"summaries":{"start":1,"end":1795176000000,"summaries":[
		{"key":"a","type":"FEATURE_FLAG","counters":[{"count":3,"selectedValue":{"bool":true},"reason":1},{"count":"2"},{"count":99999999999999999999,"selectedValue":"x"},
			{"count":-1},{"count":-99999999999999999999},{"count":0},{"count":1.5},{"count":null},{},7,null]},
		{"key":7,"counters":[{"count":1}]},{"counters":[{"count":1}]},{"key":"","counters":[{"count":1}]},{"key":"b","counters":{}},{"key":"c"},null,"x",
		{"key":"` + strings.Repeat("k", 201) + `","counters":[{"count":1}]}]}},
		{"summaries":{"end":"later","summaries":[{"key":"d","counters":[{"count":1,"selectedValue":null}]}]}},
		{"summaries":{"summaries":7}},{"summaries":{}}]}`))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	end := time.UnixMilli(1795176000000).UTC()
	var got []string
	for _, c := range report.Counters {
		value := ""
		if c.Value != nil {
			value = string(c.Value.Compact())
		}
		got = append(got, fmt.Sprintf("%s %s %d %v", c.Key, value, c.Count, c.End.Equal(end)))
	}
	if want := `a {"bool":true} 3 true; a  2 true; a "x" 1000000000 true; d null 1 false`; strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	many := `{"key":"a","counters":[` + strings.Repeat(`{"count":1},`, telemetry.MaxCounters) + `{"count":1}]}`
	if _, issues := telemetry.Decode([]byte(`{"events":[{"summaries":{"summaries":[` + many + `]}}]}`)); len(issues) != 1 || issues[0].Pointer != "/events/0/summaries/summaries/0/counters" {
		t.Errorf("too many: %v", issues)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(wrap(`{"type":"user","values":{"key":{"string":"u-1"},"tags":{"stringList":["a"]}}}`)))
	f.Add([]byte(`{"instanceHash":"i","batchId":"b","sentAt":1,"events":[{"contextShapes":{"shapes":[{"name":"u","fieldTypes":{"a":2}}]}}]}`))
	f.Add([]byte(`{"events":[{"summaries":{}},{"x":[]}]}`))
	f.Add([]byte(`{"events":[{"exampleContexts":{"examples":[{"contextSet":null}]}}]}`))
	f.Add([]byte(`{"events":[{"summaries":{"end":1,"summaries":[{"key":"a","counters":[{"count":"3","selectedValue":{"bool":true}}]}]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		report, issues := telemetry.Decode(body)
		if len(issues) > 0 {
			if len(report.Examples)+len(report.Shapes)+len(report.Counters) > 0 {
				t.Error("half of a refused body was taken")
			}
			return
		}
		for _, c := range report.Counters {
			if c.Key == "" || c.Count < 1 || c.Count > telemetry.MaxCount || len(report.Counters) > telemetry.MaxCounters {
				t.Error("a bound of counters does not hold")
			}
		}
		for _, e := range report.Examples {
			for _, c := range e.Contexts {
				if len(c.Key) > telemetry.MaxKey || len(c.Properties) > telemetry.MaxProperties {
					t.Error("a bound does not hold")
				}
			}
		}
	})
}

// TestDecodingStoredContexts: what encoding/json makes of one is read as encoding/json
// reads it.
func TestDecodingStoredContexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z@.,:{}\[\]"\\<> ]{0,12}`))
		property := rapid.Custom(func(t *rapid.T) telemetry.Property {
			return telemetry.Property{Name: text.Draw(t, "name"), Kind: telemetry.Kind(rapid.Byte().Draw(t, "kind")),
				Text: text.Draw(t, "text"), List: rapid.SliceOfN(text, 0, 3).Draw(t, "list")}
		})
		saved := telemetry.Saved{Environment: text.Draw(t, "environment"), Type: text.Draw(t, "type"), Key: text.Draw(t, "key"),
			LastSeen: time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "last seen")).UTC(), Properties: rapid.SliceOfN(property, 0, 4).Draw(t, "properties")}
		encodedSaved := must.Get(json.Marshal(saved))(t)
		var gotSaved, wantSaved telemetry.Saved
		must.Do(t, json.Unmarshal(encodedSaved, &wantSaved))
		if err := gotSaved.Decode(encodedSaved); err != nil || !reflect.DeepEqual(gotSaved, wantSaved) {
			t.Fatalf("%s: %#v, want %#v, %v", encodedSaved, gotSaved, wantSaved, err)
		}
	})
	const begin = `{"Environment":"e","Type":"t","Key":"k","LastSeen":"2026-11-20T12:00:00Z","Properties":[`
	for _, text := range []string{``, `{`, begin, begin + `{"name":"x`, `[]`, `{"Key":1}`, begin + `]}x`} {
		var s telemetry.Saved
		if err := s.Decode([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, s)
		}
	}
	var s telemetry.Saved
	if err := s.Decode([]byte(` {"Properties": [{"kind": 2, "name": "a", "later": 1}], "Key": "k"}`)); err != nil || s.Key != "k" || s.Properties[0].Name != "a" {
		t.Errorf("%+v %v", s, err)
	}
}

// counting is a source whose workspace has the items a and b, and takes true for a value.
var counting = telemetry.Source{Workspace: "ws", Environment: "production", Items: func(context.Context) (telemetry.Items, error) {
	return func(key string, value *jsontree.Node) (string, bool) {
		if boolean, _ := value.Bool(); boolean {
			return "true", key == "a"
		}
		if text, ok := value.Text(); ok {
			return text, key == "a"
		}
		return "", key == "a" || key == "b"
	}, nil
}}

func summary(end time.Time, sent time.Time, summaries string) string {
	return fmt.Sprintf(`{"sentAt":%d,"events":[{"summaries":{"start":1,"end":%d,"summaries":[%s]}}]}`, sent.UnixMilli(), end.UnixMilli(), summaries)
}

// counts are an item's in production: by day, with when it was last.
func (w *world) counts(key string) string {
	w.Helper()
	flushed := w.store.Flush(context.Background())
	found, err := w.store.Evaluations(context.Background(), "ws", key, "2026-01-01", "2027-12-31")
	if err = errors.Join(flushed, err); err != nil {
		w.Fatal(err)
	}
	var said []string
	for _, d := range found["production"] {
		said = append(said, fmt.Sprint(d.Day, " ", time.UnixMilli(d.Last).UTC().Format(time.TimeOnly), " ", d.Total, " ", d.Values))
	}
	return strings.Join(said, "; ")
}

func TestEvaluationsAreCounted(t *testing.T) {
	now := telemetrytest.Now // 12:00
	a := `{"key":"a","counters":[{"count":2,"selectedValue":true},{"count":3,"selectedValue":true,"ruleIndex":1},{"count":1}]}`
	for _, c := range []struct {
		name, body, a, b string
	}{
		{"with and without a value", summary(now, now, a+`,{"key":"b","counters":[{"count":7}]}`), "2026-11-20 12:00:00 6 map[true:5]", "2026-11-20 12:00:00 7 map[]"},
		{"no end", `{"events":[{"summaries":{"summaries":[` + a + `]}}]}`, "2026-11-20 12:00:00 6 map[true:5]", ""},
		{"yesterday", summary(now.Add(-13*time.Hour), now, a), "2026-11-19 23:00:00 6 map[true:5]", ""},
		{"a clock that is behind", summary(now.AddDate(-1, 0, 0), now.AddDate(-1, 0, 0), a), "2026-11-20 12:00:00 6 map[true:5]", ""},
		{"a clock that is ahead", summary(now.Add(5*time.Hour), now.Add(6*time.Hour), a), "2026-11-20 11:00:00 6 map[true:5]", ""},
		{"the future", summary(now.AddDate(1, 0, 0), now, a), "2026-11-20 12:00:00 6 map[true:5]", ""},
		{"long ago", summary(now.AddDate(0, -6, 0), now, a), "2026-11-19 12:00:00 6 map[true:5]", ""},
		{"what the workspace does not have", summary(now, now, `{"key":"made.up","counters":[{"count":1}]}`), "", ""},
		{"as much as there may be", summary(now, now, `{"key":"b","counters":[`+strings.Repeat(`{"count":9223372036854775807},`, 50)+`{"count":1}]}`), "", "2026-11-20 12:00:00 50000000001 map[]"},
		{"a long value", summary(now, now, `{"key":"a","counters":[{"count":1,"selectedValue":"`+strings.Repeat("x", telemetry.MaxValueText+1)+`"}]}`), "2026-11-20 12:00:00 1 map[]", ""},
	} {
		w := newWorld(t)
		if receipt := w.take(counting, c.body); !receipt.Accepted || receipt.Counters == 0 {
			t.Errorf("%s: %+v", c.name, receipt)
		}
		if got := w.counts("a"); got != c.a {
			t.Errorf("%s: a has %s, want %s", c.name, got, c.a)
		}
		if got := w.counts("b"); got != c.b {
			t.Errorf("%s: b has %s, want %s", c.name, got, c.b)
		}
		if got := w.counts("made.up"); got != "" {
			t.Errorf("%s: something that is made up is kept: %s", c.name, got)
		}
	}
}

// TestAReceiptTellsOfTheReportAlone: not which items there are.
func TestAReceiptTellsOfTheReportAlone(t *testing.T) {
	now := telemetrytest.Now
	w := newWorld(t)
	known := w.take(counting, summary(now, now, `{"key":"a","counters":[{"count":1}]}`))
	if unknown := w.take(counting, summary(now, now, `{"key":"z","counters":[{"count":1}]}`)); known != unknown {
		t.Errorf("%+v, and %+v", known, unknown)
	}
}

// TestReportsOfOthers are known again each by itself, if the source is believed about them.
func TestReportsOfOthers(t *testing.T) {
	const event = `{"summaries":{"summaries":[{"key":"a","counters":[{"count":1}]}]}}`
	first, second := strings.Repeat("01", 32), strings.Repeat("ab", 32)
	relay := counting
	relay.Secret = true
	for name, c := range map[string]struct {
		from    telemetry.Source
		reports string
		total   string
	}{
		"from a relay":                   {relay, `["` + first + `","` + first + `","` + second + `"]`, " 3 "},
		"of some events":                 {relay, `["` + first + `"]`, " 7 "},
		"from anybody":                   {counting, `["` + first + `","` + first + `","` + second + `"]`, " 9 "},
		"that are no list":               {relay, `{"a":1}`, " 9 "},
		"that are none":                  {relay, `[1,"` + second + `0","` + strings.Repeat("xy", 32) + `",null,{}]`, " 9 "},
		"more than there are events for": {relay, `["","","","` + first + `"]`, " 9 "},
	} {
		w := newWorld(t)
		for i := range 3 {
			w.take(c.from, fmt.Sprintf(`{"instanceHash":"r","batchId":"%d","reports":%s,"events":[%s,%s,%s]}`, i, c.reports, event, event, event))
		}
		if got := w.counts("a"); !strings.Contains(got, c.total) {
			t.Errorf("%s: %s, want %s", name, got, c.total)
		}
	}
}

// TestItemsThatCannotBeRead refuse the whole batch, so that it is sent again.
func TestItemsThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	from := telemetry.Source{Workspace: "ws", Environment: "production", Items: func(context.Context) (telemetry.Items, error) { return nil, errors.New("away") }}
	body := summary(w.now, w.now, `{"key":"a","counters":[{"count":1}]}`)
	if _, err := w.intake.Take(context.Background(), from, []byte(body), nil); err == nil {
		t.Error("it was taken")
	}
	if w.store.Records() != 0 {
		t.Error("something was recorded")
	}
	if _, err := w.intake.Take(context.Background(), from, []byte(`{"events":[]}`), nil); err != nil {
		t.Errorf("without evaluations: %v", err)
	}
}
