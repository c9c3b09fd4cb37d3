package served

import (
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// makeRows has the rows of each list made when they are asked for first.
func (v *View) makeRows() {
	v.Flags = sync.OnceValue(func() []FlagRow {
		active := v.ws.WithStatus()
		return projected(v.of(document.Flag), func(p placed) FlagRow {
			stored := p.row.(*project.FlagOutline)
			row := FlagRow{FlagSummary: stored.FlagSummary}
			row.Statuses, row.EnvironmentStatuses = stored.Lifecycles.Statuses(active)
			row.Commit = LastCommit(p.file)
			return row
		})
	})
	v.Configs = sync.OnceValue(func() []ConfigRow {
		return projected(v.of(document.Config), func(p placed) ConfigRow {
			row := ConfigRow{ConfigSummary: *p.row.(*project.ConfigSummary)}
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
// what depends on more than the document. It stands under the document's key,
// which is the file's.
func rowOf(item *workspace.Item) any {
	folder, _, _ := workspace.SplitPath(item.Path)
	switch t, _ := folder.Type(); t {
	case document.Flag:
		row := project.OutlineFlag(item.View)
		row.Key = item.Key
		return &row
	case document.Config:
		row := project.SummarizeConfig(item.View, project.Commit{})
		row.Key = item.Key
		return &row
	case document.LogLevel:
		row := project.SummarizeLogLevel(item.Tree, "", "")
		row.Key = item.Key
		return &row
	}
	row := project.SummarizeSegment(item.View, "")
	row.Key = item.Key
	return &row
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
	LastEvaluatedAt string `json:"lastEvaluatedAt,omitempty"` // to the day; "": not that is known
}

// ConfigRow is a config in the list.
type ConfigRow struct {
	project.ConfigSummary
	LastEvaluatedAt string `json:"lastEvaluatedAt,omitempty"`
}
