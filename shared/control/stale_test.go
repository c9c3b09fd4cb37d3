package control_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

// evaluatedOn is when items were evaluated last.
type evaluatedOn telemetry.Evaluated

func (e *evaluatedOn) Evaluated(context.Context, string) (*telemetry.Evaluated, error) {
	return (*telemetry.Evaluated)(e), nil
}

func (*evaluatedOn) Evaluations(context.Context, string, string, telemetry.Day, telemetry.Day) (map[string][]telemetry.EvaluatedDay, error) {
	return nil, nil
}

// TestStaleLists looks from a day in May at what was committed in March.
func TestStaleLists(t *testing.T) {
	w := newWorld(t, map[string]string{
		"feature-flags/a.json": boolFlag("a", `,"tags":["x"]`),
		"feature-flags/b.json": boolFlag("b", `,"environments":[{"id":"production","rules":[`+serves("bool", "true")+`]}]`),
		"feature-flags/c.json": boolFlag("c", `,"readyForCleanup":true,"environments":[{"id":"old","rules":[`+serves("bool", "true")+`]}]`),
		"configs/d.json":       configOf("d", "int", "1", ""),
		"configs/e.json":       configOf("e", "int", "1", ""),
	})
	settings := w.settings()
	settings.Now = func() time.Time { return time.Date(2026, 5, 20, 9, 30, 0, 0, time.UTC) }
	settings.Evaluations = &evaluatedOn{Since: "2026-01-01", Days: map[string]telemetry.Day{"a": "2026-05-19", "b": "2026-02-01", "e": "2026-05-01"}}
	w.service = control.New(settings)
	s := w.enter()
	const one, never = `{"code":"one_value","message":"serves false to everybody","value":false}`, `{"code":"not_evaluated","message":"was not evaluated since 2026-01-01, when counting began"}`
	for _, test := range []struct {
		days int
		tag  string
		page feed.PageQuery
		want string
	}{
		{30, "", feed.PageQuery{}, `a [` + one + `] b [{"code":"not_evaluated","message":"was not evaluated in the last 30 days"}] c [{"code":"ready_for_cleanup","message":"is marked as ready for cleanup"},` + one + `,` + never + `] 3 0; d [` + never + `] 1 0`},
		{59, "x", feed.PageQuery{}, `a [` + one + `] 1 0;  0 0`},
		{59, "", feed.PageQuery{Limit: new(int)}, ``},
	} {
		if test.page.Limit != nil {
			*test.page.Limit = 1
			test.want = `a [` + one + `] 3 0; d [` + never + `] 1 0`
		}
		flags := must.Get(s.Flags(ctx, control.FlagQuery{PageQuery: test.page, Tag: test.tag, Stale: &test.days}))(t)
		configs := must.Get(s.Configs(ctx, control.ConfigQuery{PageQuery: test.page, Tag: test.tag, Stale: &test.days}))(t)
		got := ""
		for _, row := range flags.Flags {
			got += row.Key + " " + wire(t, row.Stale) + " "
		}
		got += fmt.Sprint(flags.Total, " ", flags.Recent, "; ")
		for _, row := range configs.Configs {
			got += row.Key + " " + wire(t, row.Stale)
		}
		if got += fmt.Sprint(" ", configs.Total, " ", configs.Recent); got != test.want {
			t.Errorf("%d days, tag %q:\n%s\nwant\n%s", test.days, test.tag, got, test.want)
		}
	}
	w.repo.Push(ada, "", map[string]string{"feature-flags/a.json": boolFlag("a", "")}) // now, in March
	settings.Now = func() time.Time { return now }
	w.service = control.New(settings)
	days := 30
	if list := must.Get(w.enter().Flags(ctx, control.FlagQuery{Stale: &days}))(t); list.Total != 1 || list.Recent != 2 || list.Flags[0].Key != "c" || len(list.Flags[0].Stale) != 1 {
		t.Errorf("of what was changed lately: %s", wire(t, list))
	}
}
