package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/telemetrytest"
)

var production = telemetry.Source{Workspace: "ws", Environment: "production"}

// world is an intake with a clock that is set.
type world struct {
	*testing.T
	store  *telemetrytest.Store
	intake telemetry.Intake
	now    time.Time
	log    bytes.Buffer
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, store: telemetrytest.NewStore(t), now: telemetrytest.Now}
	w.intake = telemetry.Intake{Store: w.store, Now: func() time.Time { return w.now }, Logger: slog.New(slog.NewTextHandler(&w.log, nil))}
	return w
}

func (w *world) take(from telemetry.Source, body string) telemetry.Receipt {
	w.Helper()
	return must.Get(w.intake.Take(context.Background(), from, []byte(body), nil))(w)
}

func (w *world) keys(month telemetry.Month) int {
	w.Helper()
	usage := must.Get(w.store.Usage(context.Background(), "ws", month))(w)
	return usage.Keys
}

func (w *world) find(q telemetry.Query) []telemetry.Saved {
	w.Helper()
	q.Limit = 100
	return must.Get(w.store.Contexts(context.Background(), "ws", q))(w)
}

// example is a body with contexts that were seen at a time; zero for none.
func example(at time.Time, contexts string) string {
	stamp := ""
	if !at.IsZero() {
		stamp = fmt.Sprintf(`"timestamp":%d,`, at.UnixMilli())
	}
	return `{"events":[{"exampleContexts":{"examples":[{` + stamp + `"contextSet":{"contexts":[` + contexts + `]}}]}}]}`
}

const ada = `{"type":"user","values":{"key":{"string":"u-1"},"name":{"string":"Ada"}}}`

// The rules of "Saved example contexts", by their numbers.

func TestRule1OnlyAContextWithAKeyIsSaved(t *testing.T) {
	w := newWorld(t)
	receipt := w.take(production, example(w.now, ada+`,{"type":"device","values":{"ip":{"string":"10.0.0.1"}}},
		{"type":"a","values":{"key":{"string":""}}},{"type":"b","values":{"key":{"bool":true}}},{"type":"c","values":{"key":{"stringList":["x"]}}},{"type":"d","values":{"key":null}}`))
	if receipt != (telemetry.Receipt{Accepted: true, Contexts: 1, Keyless: 5, Shapes: 6}) {
		t.Errorf("%+v", receipt)
	}
	if found := w.find(telemetry.Query{}); len(found) != 1 || found[0].Key != "u-1" || found[0].Environment != "production" || !found[0].LastSeen.Equal(w.now) {
		t.Errorf("%+v", found)
	}
	w.take(production, example(w.now, `{"type":"team","values":{"key":{"int":7}}}`))
	w.take(production, example(w.now, `{"type":"team","values":{"key":{"string":"7"}}}`))
	if found := w.find(telemetry.Query{Type: "team"}); len(found) != 1 || found[0].Key != "7" {
		t.Errorf("%+v", found)
	}
}

func TestRule3AContextWithoutAKeyLeavesOnlyItsShape(t *testing.T) {
	w := newWorld(t)
	w.take(production, example(w.now, `{"type":"device","values":{"ip":{"string":"10.0.0.1"},"year":{"int":2026}}}`))
	w.take(production, `{"events":[{"contextShapes":{"shapes":[{"name":"device","fieldTypes":{"year":4,"os":2}}]}}]}`)
	if w.keys(telemetrytest.Month) != 0 || len(w.find(telemetry.Query{})) != 0 {
		t.Errorf("it was counted or saved")
	}
	shapes := must.Get(w.store.Shapes(context.Background(), "ws"))(t)
	same(t, shapes, []telemetry.KnownShape{{Type: "device", Fields: map[string][]telemetry.Kind{
		"ip": {telemetry.String}, "os": {telemetry.String}, "year": {telemetry.Int, telemetry.Double}}}})
}

// TestClocks: timestamps against a server whose time is 20 November, noon, or
// the day that is named.
func TestClocks(t *testing.T) {
	first := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	third := time.Date(2026, 12, 3, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name        string
		now         time.Time
		stamp, sent time.Time
		month       telemetry.Month // "" for ignored
		seen        time.Time
	}{
		{"now", telemetrytest.Now, telemetrytest.Now, time.Time{}, "2026-11", telemetrytest.Now},
		{"none", telemetrytest.Now, time.Time{}, time.Time{}, "2026-11", telemetrytest.Now},
		{"earlier this month", telemetrytest.Now, telemetrytest.Now.AddDate(0, 0, -19), time.Time{}, "2026-11", telemetrytest.Now.AddDate(0, 0, -19)},
		{"a year ahead", telemetrytest.Now, telemetrytest.Now.AddDate(1, 0, 0), time.Time{}, "2026-11", telemetrytest.Now},
		{"last month, which is closed", telemetrytest.Now, telemetrytest.Now.AddDate(0, -1, 0), time.Time{}, "", time.Time{}},
		{"last month, which is open yet", first, first.Add(-12 * time.Hour), time.Time{}, "2026-11", first.Add(-12 * time.Hour)},
		{"last month, its first day", first, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Time{}, "2026-11", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
		{"48 hours after the month", third, third.Add(-49 * time.Hour), time.Time{}, "", time.Time{}},
		{"1970", telemetrytest.Now, time.UnixMilli(1), time.Time{}, "", time.Time{}},
		{"a sender a year behind", telemetrytest.Now, telemetrytest.Now.AddDate(-1, 0, 0).Add(-time.Minute), telemetrytest.Now.AddDate(-1, 0, 0), "2026-11", telemetrytest.Now.Add(-time.Minute)},
		{"a sender a day ahead", telemetrytest.Now, telemetrytest.Now.Add(23 * time.Hour), telemetrytest.Now.Add(24 * time.Hour), "2026-11", telemetrytest.Now.Add(-time.Hour)},
		{"a sender two minutes ahead", telemetrytest.Now, telemetrytest.Now.Add(time.Minute), telemetrytest.Now.Add(2 * time.Minute), "2026-11", telemetrytest.Now},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.now = test.now
			body := example(test.stamp, ada)
			if !test.sent.IsZero() {
				body = fmt.Sprintf(`{"sentAt":%d,`, test.sent.UnixMilli()) + body[1:]
			}
			receipt := w.take(production, body)
			found := w.find(telemetry.Query{})
			if test.month == "" {
				if receipt.TooOld != 1 || len(found) != 0 || w.keys(telemetry.MonthOf(test.now)) != 0 || w.keys(telemetry.MonthOf(test.stamp)) != 0 {
					t.Errorf("%+v %v", receipt, found)
				}
				return
			}
			if w.keys(test.month) != 1 || len(found) != 1 || !found[0].LastSeen.Equal(test.seen) {
				t.Errorf("%+v %v", receipt, found)
			}
		})
	}
}

func TestAReplayChangesNothing(t *testing.T) {
	for name, bodies := range map[string][2]string{
		"by its content":  {example(time.Time{}, ada), example(time.Time{}, ada)},
		"by its id":       {`{"instanceHash":"i","batchId":"1",` + example(time.Time{}, ada)[1:], `{"instanceHash":"i","batchId":"1","sentAt":1,` + example(time.Time{}, ada)[1:]},
		"from the future": {example(telemetrytest.Now.AddDate(9, 0, 0), ada), example(telemetrytest.Now.AddDate(9, 0, 0), ada)},
	} {
		w := newWorld(t)
		before := w.take(production, bodies[0])
		w.now = w.now.Add(20 * time.Minute)
		if after := w.take(production, bodies[1]); name != "by its id" && after != before {
			t.Errorf("%s: the answer was %+v and is %+v", name, before, after)
		}
		if found := w.find(telemetry.Query{}); len(found) != 1 || !found[0].LastSeen.Equal(telemetrytest.Now) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	w := newWorld(t)
	w.take(production, `{"instanceHash":"i","batchId":"1",`+example(time.Time{}, ada)[1:])
	w.take(telemetry.Source{Workspace: "ws", Environment: "staging"}, `{"instanceHash":"i","batchId":"1",`+example(time.Time{}, ada)[1:])
	w.take(production, `{"instanceHash":"j","batchId":"1",`+example(time.Time{}, `{"type":"user","values":{"key":{"string":"u-2"}}}`)[1:])
	for n := range 2 {
		w.take(production, fmt.Sprintf(`{"batchId":"1",%s`, example(time.Time{}, fmt.Sprintf(`{"type":"device","values":{"key":{"string":"d-%d"}}}`, n))[1:]))
	}
	if found := w.find(telemetry.Query{}); len(found) != 5 {
		t.Errorf("batches of others were taken for replays: %+v", found)
	}
}

// TestNothingOfARefusedBodyIsTaken: one mistake at its end refuses all of it.
func TestNothingOfARefusedBodyIsTaken(t *testing.T) {
	w := newWorld(t)
	_, err := w.intake.Take(context.Background(), production, []byte(example(w.now, ada+`,{"type":"user","values":{"plan":{"string":7}}}`)), nil)
	f := fault.Of(err)
	if f.Kind != fault.BadRequest || f.Details["issues"] == nil || !strings.Contains(f.Message, "nothing of the batch was taken") {
		t.Errorf("%v %v", f.Kind, f)
	}
	if w.store.Records() != 0 {
		t.Error("the store was asked")
	}
	_, err = w.intake.Take(context.Background(), production, bytes.Repeat([]byte(" "), telemetry.MaxBody+1), nil)
	if fault.Of(err).Kind != fault.PayloadTooLarge {
		t.Error(err)
	}
}

// TestALargeContextIsSavedInPart: what it is found by is kept.
func TestALargeContextIsSavedInPart(t *testing.T) {
	w := newWorld(t)
	var values []string
	for i := range 90 {
		values = append(values, fmt.Sprintf(`"aa%02d":{"string":"%s"}`, i, strings.Repeat("ü", 1500)))
	}
	values = append(values, `"key":{"string":"u-1"}`, `"name":{"string":"Ada"}`, `"email":{"string":"a@b"}`)
	w.take(production, example(w.now, `{"type":"user","values":{`+strings.Join(values, ",")+`}}`))
	found := w.find(telemetry.Query{Text: "ada"})
	if len(found) != 1 {
		t.Fatal("it is not found by its name")
	}
	size := 0
	for _, p := range found[0].Properties {
		size += len(p.Name) + len(p.Text)
	}
	if size > 8<<10 || found[0].Text("email") != "a@b" || !strings.HasPrefix(found[0].Text("aa00"), "üü") {
		t.Errorf("%d bytes", size)
	}
}

// broken is a store that fails.
type broken struct {
	telemetry.Store
	err error
}

func (b broken) Record(context.Context, string, telemetry.Batch) (telemetry.Recorded, error) {
	return telemetry.Recorded{}, b.err
}

func TestFailuresOfTheStore(t *testing.T) {
	for err, kind := range map[error]fault.Kind{
		fmt.Errorf("x: %w", telemetry.ErrBusy): fault.Unavailable,
		context.DeadlineExceeded:               fault.Unavailable,
		errors.New("disk full"):                fault.Internal,
	} {
		w := newWorld(t)
		w.intake.Store = broken{w.store, err}
		_, got := w.intake.Take(context.Background(), production, []byte(example(w.now, ada)), nil)
		if f := fault.Of(got); f.Kind != kind || strings.Contains(f.Message, "disk") {
			t.Errorf("%v: %v", err, f)
		}
	}
}

// flooded is a store that takes nothing new: no keys, or no types.
type flooded struct {
	telemetry.Store
	types bool
}

func (f flooded) Record(ctx context.Context, workspace string, b telemetry.Batch) (telemetry.Recorded, error) {
	if f.types {
		return telemetry.Recorded{Types: len(b.Shapes)}, nil
	}
	return telemetry.Recorded{Counted: len(b.Pairs), Unsaved: len(b.Contexts)}, nil
}

// TestWhatIsNotTakenIsToldOncePerHour, and the answer tells the sender nothing of
// what is saved.
func TestWhatIsNotTakenIsToldOncePerHour(t *testing.T) {
	w := newWorld(t)
	saved := w.take(production, example(w.now, ada))
	for i := range 8 {
		w.intake.Store = flooded{w.store, i%2 == 1}
		w.now = telemetrytest.Now.Add(time.Duration(i) * 15 * time.Minute)
		if got := w.take(production, example(w.now, ada)); got != saved {
			t.Errorf("the answer is %+v, and was %+v", got, saved)
		}
	}
	for _, what := range []string{"more new context keys than are taken in an hour", "more new context types than are taken in an hour"} {
		if n := strings.Count(w.log.String(), what); n != 2 {
			t.Errorf("%s: told %d times in two hours: %s", what, n, &w.log)
		}
	}
}

func TestParseMonth(t *testing.T) {
	for _, bad := range []string{"", "2026", "2026-13", "2026-1", "2026-11-01", "november"} {
		if _, err := telemetry.ParseMonth(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if m, err := telemetry.ParseMonth("2026-12"); err != nil || !m.End().Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error(m.End(), err)
	}
	if telemetry.MonthOf(time.Date(2026, 12, 31, 23, 0, 0, 0, time.FixedZone("", -3*3600))) != "2027-01" {
		t.Error("a month is one of UTC")
	}
}

func TestAFullDiskIsNoDefectOfOurs(t *testing.T) {
	f := fault.Of(telemetry.Fault(fmt.Errorf("committing: %w", &fs.PathError{Op: "write", Path: "telemetry.db", Err: syscall.ENOSPC})))
	if f.Kind != fault.Unavailable || f.Message != "the disk is full, and nothing was written" {
		t.Errorf("%v %s", f.Kind, f.Message)
	}
}

// TestSecretKeysHaveABudget that public keys do not spend, nor what a relay passes on of
// these.
func TestSecretKeysHaveABudget(t *testing.T) {
	w := newWorld(t)
	secret := production
	secret.Secret = true
	named := func(from string) string {
		return example(time.Time{}, fmt.Sprintf(`{"type":%q,"values":{"key":{"string":"k"}}}`, from))
	}
	for i := range telemetry.MaxNewTypes {
		w.take(production, named(fmt.Sprint("made-up-", i)))
	}
	for _, tt := range []struct {
		name, body string
		from       telemetry.Source
		saved      int
	}{
		{"browser", named("browser"), production, 0},
		{"relayed", strings.Replace(named("relayed"), "{", `{"public":true,`, 1), secret, 0},
		{"server", named("server"), secret, 1},
		{"no-relay", strings.Replace(named("no-relay"), "{", `{"public":7,`, 1), secret, 1},
	} {
		w.take(tt.from, tt.body)
		if got := w.find(telemetry.Query{Type: tt.name}); len(got) != tt.saved {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
