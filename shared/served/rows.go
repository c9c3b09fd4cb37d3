package served

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// Turn tells apart the times between which what the lists say of flags and configs is the
// same.
func (v *View) Turn(now time.Time) (turn int) {
	turn, _ = slices.BinarySearchFunc(v.turns(), now, time.Time.Compare)
	return turn
}

// turnsOf are the times at which flags and configs serve something else than before.
func (v *View) turnsOf() (all []time.Time) {
	for _, p := range v.of(document.Flag) {
		all = append(all, p.row.(*project.FlagOutline).Turns()...)
	}
	for _, p := range v.of(document.Config) {
		all = append(all, p.row.(*project.ConfigOutline).Turns()...)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// makeRows has the rows of each list made when they are asked for first.
func (v *View) makeRows() {
	v.turns = sync.OnceValue(v.turnsOf)
	v.Flags = sync.OnceValue(func() []FlagRow {
		active := v.ws.WithStatus()
		alike := map[string]project.FlagSummary{} // most maps of statuses are like another's
		return projected(v.of(document.Flag), func(p placed) FlagRow {
			stored := p.row.(*project.FlagOutline)
			row := FlagRow{FlagSummary: stored.FlagSummary}
			lifecycles := fmt.Sprintf("%q", stored.Lifecycles)
			known, is := alike[lifecycles]
			if !is {
				known.Statuses, known.EnvironmentStatuses = stored.Lifecycles.Statuses(active)
				alike[lifecycles] = known
			}
			row.Statuses, row.EnvironmentStatuses = known.Statuses, known.EnvironmentStatuses
			row.Use, row.Timed = useOf(stored.Servings, active), stored.Servings.Timed(active)
			row.Serves = stored.Servings.In(active, time.Time{})
			if everyone, is := stored.Servings.One(active); is {
				row.Everyone = &everyone
			}
			row.Commit = LastCommit(p.file)
			return row
		})
	})
	v.Configs = sync.OnceValue(func() []ConfigRow {
		active := v.ws.WithStatus()
		return projected(v.of(document.Config), func(p placed) ConfigRow {
			stored := p.row.(*project.ConfigOutline)
			row := ConfigRow{ConfigSummary: stored.ConfigSummary}
			row.Use, row.Timed = useOf(stored.Servings, active), stored.Servings.Timed(active)
			row.Serves = stored.Servings.In(active, time.Time{})
			row.Commit = LastCommit(p.file)
			return row
		})
	})
	v.LogLevels = sync.OnceValue(func() []project.LogLevelRow {
		return projected(v.of(document.LogLevel), func(p placed) project.LogLevelRow {
			row, commit := *p.row.(*project.LogLevelRow), LastCommit(p.file)
			row.CommitSHA = commit.SHA
			if commit.LastModified != nil {
				row.LastModified = commit.LastModified.Date
			}
			return row
		})
	})
	v.Segments = sync.OnceValue(func() []project.SegmentSummary {
		return projected(v.of(document.Segment), func(p placed) project.SegmentSummary {
			row := *p.row.(*project.SegmentSummary)
			row.CommitSHA = p.file.Last.SHA
			return row
		})
	})
}

func projected[R any](all []placed, row func(placed) R) []R {
	rows := make([]R, len(all))
	for i, p := range all {
		rows[i] = row(p)
	}
	return rows
}

// rowOf is a document's row of its list, of which nothing is missing but
// what depends on more than the document, and about what it takes beside rowBytes. It
// stands under the document's key, which is the file's.
func rowOf(item *workspace.Item) (row any, bytes int64) {
	folder, _, _ := workspace.SplitPath(item.Path)
	switch t, _ := folder.Type(); t {
	case document.Flag:
		row := project.OutlineFlag(item.View)
		row.Key = item.Key
		return &row, row.Servings.Bytes()
	case document.Config:
		row := project.OutlineConfig(item.View)
		row.Key = item.Key
		return &row, row.Servings.Bytes()
	case document.LogLevel:
		row := project.SummarizeLogLevel(item.Tree, "", "")
		row.Key = item.Key
		return &row, 0
	}
	segment := project.SummarizeSegment(item.View, "")
	segment.Key = item.Key
	return &segment, 0
}

// LastCommit is what an answer says of the last commit that touched a file.
func LastCommit(f *repository.File) project.Commit {
	c := project.Commit{SHA: f.Last.SHA}
	if by := f.Last.Author; by.Name != "" && !by.When.IsZero() {
		c.LastModified = &project.Modified{Date: project.Date(by.When), Author: by.Name}
	}
	return c
}

// FlagRow is a flag in the list.
type FlagRow struct {
	project.FlagSummary
	Use
}

// ConfigRow is a config in the list.
type ConfigRow struct {
	project.ConfigSummary
	Use
}

// Use is what a list says of an item beside what its document does.
type Use struct {
	LastEvaluatedAt string                `json:"lastEvaluatedAt,omitempty"` // to the day; "": not that is known
	Stale           []project.StaleReason `json:"stale,omitempty"`           // where that is asked for
	// Everyone is what everybody is served of a flag in all environments; nil for nothing.
	Everyone *project.ShortValue `json:"-"`
	// ServesAt is what it serves at a time; nil where that is always the same.
	ServesAt func(now time.Time) json.RawMessage `json:"-"`
}

func useOf(s project.Servings, active []document.Active) (u Use) {
	if len(s.Turns()) > 0 {
		u.ServesAt = func(now time.Time) json.RawMessage { return s.In(active, now) }
	}
	return u
}
