package control

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
)

// FlagQuery narrows the list of flags. Empty fields narrow nothing.
type FlagQuery struct {
	PageQuery
	Tag    string
	Status string // matched against the production environments
}

// FlagList is one page of flags, or all of them. Total counts what the filters
// leave, on all pages.
type FlagList struct {
	Flags      []document.FlagSummary `json:"flags"`
	Total      int                    `json:"total"`
	NextCursor string                 `json:"nextCursor,omitempty"`
}

// Flags lists flags by key.
func (s *Session) Flags(ctx context.Context, q FlagQuery) (*FlagList, error) {
	b, issues := s.bounds("flags", q.PageQuery)
	if !knownStatus(q.Status) {
		issues = append(issues, document.Issue{Pointer: "?status",
			Message: "status is one of pre_rollout, rollout, live, ready_for_cleanup"})
	}
	if err := malformed(issues...); err != nil {
		return nil, err
	}
	o, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	active := o.view.active()
	rows := slices.DeleteFunc(o.view.of(document.Flag), func(p placed) bool {
		return !tagged(p, q.Tag) || !inStatus(p, active, document.Lifecycle(q.Status))
	})
	page, next := s.page(rows, b)
	list := &FlagList{make([]document.FlagSummary, 0, len(page)), len(rows), next}
	for _, p := range page {
		row := document.SummarizeFlag(p.View, active, lastCommit(p.file))
		row.Key = p.Key
		list.Flags = append(list.Flags, row)
	}
	return list, nil
}

func knownStatus(status string) bool {
	switch document.Lifecycle(status) {
	case "", document.StatusPreRollout, document.StatusRollout, document.StatusLive, document.StatusReadyForCleanup:
		return true
	}
	return false
}

func tagged(p placed, tag string) bool {
	return tag == "" || slices.Contains(p.View.Tags, tag)
}

func inStatus(p placed, active []document.Active, status document.Lifecycle) bool {
	if status == "" {
		return true
	}
	production, _ := document.Statuses(p.View, active)
	for _, held := range production {
		if held == status {
			return true
		}
	}
	return false
}

// page cuts a page out of rows that are in the order of their keys.
func (s *Session) page(rows []placed, b bounds) (page []placed, next string) {
	if b.after != "" {
		begin, found := slices.BinarySearchFunc(rows, b.after, func(p placed, key string) int {
			return strings.Compare(p.Key, key)
		})
		if found {
			begin++
		}
		rows = rows[begin:]
	}
	if b.limit == 0 || len(rows) <= b.limit {
		return rows, ""
	}
	rows = rows[:b.limit]
	return rows, s.cursor(b.list, rows[len(rows)-1].Key)
}

// ConfigQuery narrows the list of configs.
type ConfigQuery struct {
	PageQuery
	Tag string
}

// ConfigList is one page of configs, or all of them.
type ConfigList struct {
	Configs    []document.ConfigSummary `json:"configs"`
	Total      int                      `json:"total"`
	NextCursor string                   `json:"nextCursor,omitempty"`
}

// Configs lists configs by key.
func (s *Session) Configs(ctx context.Context, q ConfigQuery) (*ConfigList, error) {
	b, issues := s.bounds("configs", q.PageQuery)
	if err := malformed(issues...); err != nil {
		return nil, err
	}
	o, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(o.view.of(document.Config), func(p placed) bool { return !tagged(p, q.Tag) })
	page, next := s.page(rows, b)
	list := &ConfigList{make([]document.ConfigSummary, 0, len(page)), len(rows), next}
	for _, p := range page {
		row := document.SummarizeConfig(p.View, lastCommit(p.file))
		row.Key = p.Key
		list.Configs = append(list.Configs, row)
	}
	return list, nil
}

// LogLevelList is every log-level document, projected per scope.
type LogLevelList struct {
	LogLevels []document.LogLevelRow `json:"logLevels"`
}

// LogLevels lists the log-level documents by key.
func (s *Session) LogLevels(ctx context.Context) (*LogLevelList, error) {
	o, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	list := &LogLevelList{[]document.LogLevelRow{}}
	for _, p := range o.view.of(document.LogLevel) {
		commit := lastCommit(p.file)
		modified := ""
		if commit.LastModified != nil {
			modified = commit.LastModified.Date
		}
		row := document.SummarizeLogLevel(p.Tree, commit.SHA, modified)
		row.Key = p.Key
		list.LogLevels = append(list.LogLevels, row)
	}
	return list, nil
}

// SegmentList is every segment.
type SegmentList struct {
	Segments []document.SegmentSummary `json:"segments"`
	Total    int                       `json:"total"`
}

// Segments lists segments by key.
func (s *Session) Segments(ctx context.Context) (*SegmentList, error) {
	o, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	list := &SegmentList{Segments: []document.SegmentSummary{}}
	for _, p := range o.view.of(document.Segment) {
		row := document.SummarizeSegment(p.View, p.file.Last.SHA)
		row.Key = p.Key
		list.Segments = append(list.Segments, row)
	}
	list.Total = len(list.Segments)
	return list, nil
}

// lastCommit is what an answer says of the last commit that touched a file.
func lastCommit(f *repository.File) document.Commit {
	c := document.Commit{SHA: f.Last.SHA}
	if by := f.Last.Author; by.Name != "" && !by.When.IsZero() {
		c.LastModified = &document.Modified{Date: date(by.When), Author: by.Name}
	}
	return c
}

// date writes a time as all answers do.
func date(t time.Time) string {
	return t.UTC().Format(time.RFC3339)
}
