package control

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/telemetry"
)

// FlagQuery narrows the list of flags. Empty fields narrow nothing.
type FlagQuery struct {
	feed.PageQuery
	Tag    string
	Status string // matched against the production environments
	// Stale asks for what may be cleaned up, as far as so many days tell; nil for all.
	Stale *int
}

// FlagList is one page of flags, or all of them. Total counts what the filters
// leave, on all pages.
type FlagList struct {
	Flags []served.FlagRow `json:"flags"`
	Listed
}

// Listed is what is said of a page and its list.
type Listed struct {
	Total      int    `json:"total"`
	NextCursor string `json:"nextCursor,omitempty"`
	// EvaluationsSince is the first day on which an evaluation was counted; "" for none.
	EvaluationsSince telemetry.Day `json:"evaluationsSince,omitempty"`
	// Recent is how many are left out of what may be cleaned up, as they were changed lately.
	Recent int `json:"recentlyChanged,omitempty"`
}

// Flags lists flags by key.
func (s *Session) Flags(ctx context.Context, q FlagQuery) (*FlagList, error) {
	var issues []document.Issue
	switch document.Lifecycle(q.Status) {
	case "", document.StatusPreRollout, document.StatusRollout, document.StatusLive, document.StatusReadyForCleanup:
	default:
		issues = append(issues, document.Issue{Pointer: "?status",
			Message: "status is one of pre_rollout, rollout, live, ready_for_cleanup"})
	}
	b, o, err := s.openPage(ctx, "flags", q.PageQuery, issues...)
	if err != nil {
		return nil, err
	}
	rows := o.View.Flags()
	if q.Tag != "" || q.Status != "" {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row served.FlagRow) bool {
			return q.Tag != "" && !slices.Contains(row.Tags, q.Tag) ||
				q.Status != "" && !slices.Contains(slices.Collect(maps.Values(row.Statuses)), document.Lifecycle(q.Status))
		})
	}
	l := FlagList{}
	l.Flags, l.Listed = listed(ctx, s, b, rows, q.Stale, flagOf)
	return &l, nil
}

func flagOf(row *served.FlagRow) (project.Item, bool, project.Commit, *served.Use, *json.RawMessage) {
	return row.Item, row.ReadyForCleanup, row.Commit, &row.Use, &row.Serves
}

// Turn tells apart the times between which the lists of flags and configs say the same.
func (s *Session) Turn(o *served.Head) int { return o.View.Turn(s.service.settings.Now()) }

// openPage reads which page of a list is asked for, refuses a request that has other
// issues too, and opens what the list is of.
func (s *Session) openPage(ctx context.Context, list string, q feed.PageQuery, more ...document.Issue) (feed.Bounds, *served.Head, error) {
	b, issues := s.cursors().Bounds(list, q)
	if err := refusal.Malformed(append(issues, more...)...); err != nil {
		return b, nil, err
	}
	o, err := s.Open(ctx)
	return b, o, err
}

// listed is the page of a list of what is evaluated, or of what of it may be cleaned up.
// The rows are everybody's: they are copied, if there is anything to be added.
func listed[R any](ctx context.Context, s *Session, b feed.Bounds, rows []R, staleDays *int, of func(*R) (project.Item, bool, project.Commit, *served.Use, *json.RawMessage)) ([]R, Listed) {
	evaluated, l := s.evaluated(ctx), Listed{}
	l.EvaluationsSince = evaluated.Since
	at := func(key string) string {
		if day := evaluated.Days[key]; day != "" {
			return project.Date(day.Begin())
		}
		return ""
	}
	if staleDays != nil {
		by := project.Stale{Days: *staleDays, Today: telemetry.DayOf(s.service.settings.Now()).Begin(), Since: string(evaluated.Since)}
		stale := []R{}
		for _, row := range rows {
			item, marked, commit, use, _ := of(&row)
			var recent bool
			if use.Stale, recent = by.Why(marked, use.Everyone, commit.Date(), at(item.Key)); recent {
				l.Recent++
			}
			if len(use.Stale) > 0 {
				stale = append(stale, row)
			}
		}
		rows = stale
	}
	l.Total = len(rows)
	rows, l.NextCursor = page(s, rows, b, func(row R) string {
		item, _, _, _, _ := of(&row)
		return item.Key
	})
	if len(evaluated.Days) > 0 {
		rows = slices.Clone(rows)
		for i := range rows {
			item, _, _, use, _ := of(&rows[i])
			use.LastEvaluatedAt = at(item.Key)
		}
	}
	copied, now := len(evaluated.Days) > 0, s.service.settings.Now()
	for i := range rows {
		if _, _, _, use, _ := of(&rows[i]); use.ServesAt != nil {
			if !copied {
				rows, copied = slices.Clone(rows), true
			}
			_, _, _, use, serves := of(&rows[i])
			*serves = use.ServesAt(now)
		}
	}
	return rows, l
}

// page cuts a page out of rows that are in the order of their keys.
func page[R any](s *Session, rows []R, b feed.Bounds, key func(R) string) (page []R, next string) {
	if b.After != "" {
		begin, found := slices.BinarySearchFunc(rows, b.After, func(row R, after string) int {
			return strings.Compare(key(row), after)
		})
		if found {
			begin++
		}
		rows = rows[begin:]
	}
	if b.Limit == 0 || len(rows) <= b.Limit {
		return rows, ""
	}
	rows = rows[:b.Limit]
	return rows, s.cursors().To(b.List, key(rows[len(rows)-1]))
}

// ConfigQuery narrows the list of configs.
type ConfigQuery struct {
	feed.PageQuery
	Tag   string
	Stale *int
}

// ConfigList is one page of configs, or all of them.
type ConfigList struct {
	Configs []served.ConfigRow `json:"configs"`
	Listed
}

// Configs lists configs by key.
func (s *Session) Configs(ctx context.Context, q ConfigQuery) (*ConfigList, error) {
	b, o, err := s.openPage(ctx, "configs", q.PageQuery)
	if err != nil {
		return nil, err
	}
	rows := o.View.Configs()
	if q.Tag != "" {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row served.ConfigRow) bool { return !slices.Contains(row.Tags, q.Tag) })
	}
	l := ConfigList{}
	l.Configs, l.Listed = listed(ctx, s, b, rows, q.Stale, configOf)
	return &l, nil
}

func configOf(row *served.ConfigRow) (project.Item, bool, project.Commit, *served.Use, *json.RawMessage) {
	return row.Item, row.ReadyForCleanup, row.Commit, &row.Use, &row.Serves
}

// LogLevelList is every log-level document, projected per scope.
type LogLevelList struct {
	LogLevels []project.LogLevelRow `json:"logLevels"`
}

// LogLevels lists the log-level documents by key.
func (s *Session) LogLevels(ctx context.Context) (*LogLevelList, error) {
	o, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &LogLevelList{o.View.LogLevels()}, nil
}

// SegmentList is every segment.
type SegmentList struct {
	Segments []project.SegmentSummary `json:"segments"`
	Total    int                      `json:"total"`
}

// Segments lists segments by key.
func (s *Session) Segments(ctx context.Context) (*SegmentList, error) {
	o, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	rows := o.View.Segments()
	return &SegmentList{rows, len(rows)}, nil
}
