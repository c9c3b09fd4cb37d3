package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/telemetrytest"
)

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
		receipt := w.take(counting, c.body)
		if !receipt.Accepted || receipt.Counters == 0 {
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
	unknown := w.take(counting, summary(now, now, `{"key":"z","counters":[{"count":1}]}`))
	if known != unknown {
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
