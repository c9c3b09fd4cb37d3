package control

import (
	"sync"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
)

// rows are the rows of all lists at a snapshot, by key. Each list is made when
// it is asked for first, and then shared by all answers: nobody changes it.
type rows struct {
	flags     func() []document.FlagSummary
	configs   func() []document.ConfigSummary
	logLevels func() []document.LogLevelRow
	segments  func() []document.SegmentSummary
}

func (v *view) newRows() rows {
	return rows{
		flags: sync.OnceValue(func() []document.FlagSummary {
			active := v.active()
			return project(v.of(document.Flag), func(p placed) document.FlagSummary {
				row := document.SummarizeFlag(p.View, active, lastCommit(p.file))
				row.Key = p.Key
				return row
			})
		}),
		configs: sync.OnceValue(func() []document.ConfigSummary {
			return project(v.of(document.Config), func(p placed) document.ConfigSummary {
				row := document.SummarizeConfig(p.View, lastCommit(p.file))
				row.Key = p.Key
				return row
			})
		}),
		logLevels: sync.OnceValue(func() []document.LogLevelRow {
			return project(v.of(document.LogLevel), logLevelRow)
		}),
		segments: sync.OnceValue(func() []document.SegmentSummary {
			return project(v.of(document.Segment), func(p placed) document.SegmentSummary {
				row := document.SummarizeSegment(p.View, p.file.Last.SHA)
				row.Key = p.Key
				return row
			})
		}),
	}
}

func project[R any](all []placed, row func(placed) R) []R {
	rows := make([]R, len(all))
	for i, p := range all {
		rows[i] = row(p)
	}
	return rows
}

func logLevelRow(p placed) document.LogLevelRow {
	commit := lastCommit(p.file)
	modified := ""
	if commit.LastModified != nil {
		modified = commit.LastModified.Date
	}
	row := document.SummarizeLogLevel(p.Tree, commit.SHA, modified)
	row.Key = p.Key
	return row
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
