package control_test

import (
	"testing"
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/testing/must"
)

// TestWhatWasServedAtATime, with the commit that it was, and rules on the current time as
// they stood then.
func TestWhatWasServedAtATime(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", serves("bool", "false"))})
	start := w.last()
	timed := `{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"string","value":"` + start.Committer.When.Add(40*time.Second).Format(time.RFC3339) + `"}}],"value":{"type":"bool","value":true}}`
	later := ada
	later.When = later.When.Add(10 * time.Second)
	w.repo.Push(later, "A rule that turns", map[string]string{path("f"): boolFlag("f", "", timed, serves("bool", "false"))})
	turning := w.last()
	if !turning.Committer.When.After(start.Committer.When) {
		t.Fatal("both are of", start.Committer.When)
	}
	at := func(when time.Time) *string { return ptr(when.Format(time.RFC3339Nano)) }
	for name, tt := range map[string]struct {
		at            *string
		commit, value string
	}{
		"just before the second":   {at(turning.Committer.When), start.SHA, "false"},
		"just after it":            {at(turning.Committer.When.Add(time.Millisecond)), turning.SHA, "false"},
		"before the rule turns":    {at(start.Committer.When.Add(39 * time.Second)), turning.SHA, "false"},
		"after it":                 {at(start.Committer.When.Add(41 * time.Second)), turning.SHA, "true"},
		"in another zone":          {at(start.Committer.When.Add(41 * time.Second).In(time.FixedZone("", -5*3600))), turning.SHA, "true"},
		"a commit, as it is today": {ptr(turning.SHA), turning.SHA, "true"},
		"in a year":                {at(turning.Committer.When.AddDate(1, 0, 0)), turning.SHA, "true"},
	} {
		q := control.EvaluationQuery{Environment: "production", At: tt.at, Question: explanation.Question{Keys: []string{"f"}}}
		e := must.Get(w.boss().Evaluate(ctx, q))(t)
		if *e.CommitSHA != tt.commit || string(e.Evaluations["f"].Value) != tt.value {
			t.Errorf("%s: %s of %s, want %s of %s", name, e.Evaluations["f"].Value, *e.CommitSHA, tt.value, tt.commit)
		}
		d := must.Get(w.boss().Document(ctx, document.Flag, "f", tt.at))(t)
		if d.CommitSHA != tt.commit || (len(d.Document.At("/default/rules").Elements()) == 2) != (tt.commit == turning.SHA) {
			t.Errorf("%s: the document is that of %s", name, d.CommitSHA)
		}
	}
	for _, early := range []string{"2001-01-01T00:00:00Z", "0000-01-01T00:00:00Z"} {
		q := control.EvaluationQuery{Environment: "production", At: &early, Question: explanation.Question{Keys: []string{"f"}}}
		f := ended(w.boss().Evaluate(ctx, q))(t, "404 NOT_FOUND")
		if want := "there was no commit before " + early + ": the first one is of "; len(f.Message) < len(want) || f.Message[:len(want)] != want {
			t.Error(f.Message)
		}
		ended(w.boss().Document(ctx, document.Flag, "f", &early))(t, "404 NOT_FOUND")
	}
	for _, none := range []string{"2026-03-02", "2026-03-02T14:03:00", "14:03", "yesterday", "2026-03-02T14:03:60Z", "2026-13-02T14:03:00Z", "2026-03-02T14:03:00 01:00"} {
		q := control.EvaluationQuery{Environment: "production", At: &none, Question: explanation.Question{Keys: []string{"f"}}}
		ended(w.boss().Evaluate(ctx, q))(t, "400 BAD_REQUEST")
		ended(w.boss().Document(ctx, document.Flag, "f", &none))(t, "400 BAD_REQUEST")
	}
}
