package served

import (
	"strings"
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// rows are the rows of all lists at a snapshot, by key. Each list is made when
// it is asked for first, and then shared by all answers: nobody changes it.
type rows struct {
	flags     func() []FlagRow
	configs   func() []ConfigRow
	logLevels func() []project.LogLevelRow
	segments  func() []project.SegmentSummary
}

func (v *View) newRows() rows {
	return rows{
		flags: sync.OnceValue(func() []FlagRow {
			statuses, commits := statusCache{active: v.ws.WithStatus()}, commitCache{}
			return projected(v.of(document.Flag), func(p placed) FlagRow {
				stored := p.row.(*project.FlagOutline)
				row := FlagRow{FlagSummary: stored.FlagSummary}
				row.Statuses, row.EnvironmentStatuses = statuses.of(stored.Lifecycles)
				row.Commit = commits.last(p.file)
				return row
			})
		}),
		configs: sync.OnceValue(func() []ConfigRow {
			commits := commitCache{}
			return projected(v.of(document.Config), func(p placed) ConfigRow {
				row := ConfigRow{ConfigSummary: *p.row.(*project.ConfigSummary)}
				row.Commit = commits.last(p.file)
				return row
			})
		}),
		logLevels: sync.OnceValue(func() []project.LogLevelRow {
			return projected(v.of(document.LogLevel), func(p placed) project.LogLevelRow {
				row, commit := *p.row.(*project.LogLevelRow), LastCommit(p.file)
				row.CommitSHA = commit.SHA
				if commit.LastModified != nil {
					row.LastModified = commit.LastModified.Date
				}
				return row
			})
		}),
		segments: sync.OnceValue(func() []project.SegmentSummary {
			return projected(v.of(document.Segment), func(p placed) project.SegmentSummary {
				row := *p.row.(*project.SegmentSummary)
				row.CommitSHA = p.file.Last.SHA
				return row
			})
		}),
	}
}

// Flags are the rows of the list of flags, by key.
func (v *View) Flags() []FlagRow { return v.rows.flags() }

// Configs are the same of configs.
func (v *View) Configs() []ConfigRow { return v.rows.configs() }

// LogLevels are the same of log levels.
func (v *View) LogLevels() []project.LogLevelRow { return v.rows.logLevels() }

// Segments are the same of segments.
func (v *View) Segments() []project.SegmentSummary { return v.rows.segments() }

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
func rowOf(item *workspace.Item, known names) any {
	folder, _, _ := workspace.SplitPath(item.Path)
	switch t, _ := folder.Type(); t {
	case document.Flag:
		row := project.OutlineFlag(item.View)
		row.Key = item.Key
		known.share(row.Tags)
		return &row
	case document.Config:
		row := project.SummarizeConfig(item.View, project.Commit{})
		row.Key = item.Key
		known.share(row.Tags)
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

// names makes equal texts one: many documents have the same few tags and name the
// same environments. It lasts as long as a view is made: package unique would share
// with other views too, and takes 4 us for each text that nobody else has.
type names map[string]string

// maxNames bounds the texts that are made one, and maxShared the length of a list
// whose texts are: nobody else has more of them.
const (
	maxNames  = 10_000
	maxShared = 100
)

func (n names) one(text string) string {
	same, found := n[text]
	if !found {
		same = strings.Clone(text)
		if len(n) < maxNames {
			n[same] = same
		}
	}
	return same
}

// share makes the texts of a list one with others. None holds the document in
// memory afterwards.
func (n names) share(texts []string) {
	if len(texts) <= maxShared {
		for i := range texts {
			texts[i] = n.one(texts[i])
		}
		return
	}
	all := strings.Join(texts, "")
	for i := range texts {
		texts[i], all = all[:len(texts[i])], all[len(texts[i]):]
	}
}

// statusCache makes the statuses of flags, which are the same few for all.
type statusCache struct {
	active []document.Active
	made   map[string][2]map[string]document.Lifecycle
	name   []byte
}

func (s *statusCache) of(l document.Lifecycles) (production, all map[string]document.Lifecycle) {
	s.name = s.name[:0]
	for _, e := range s.active {
		s.name = append(append(s.name, l.In(e.Name)...), ' ')
	}
	made, known := s.made[string(s.name)]
	if !known {
		made[0], made[1] = l.Statuses(s.active)
		if s.made == nil {
			s.made = map[string][2]map[string]document.Lifecycle{}
		}
		s.made[string(s.name)] = made
	}
	return made[0], made[1]
}

// commitCache makes what answers say of commits, of which many files have the
// same.
type commitCache map[string]project.Commit

func (c commitCache) last(f *repository.File) project.Commit {
	made, known := c[f.Last.SHA]
	if !known {
		made = LastCommit(f)
		c[f.Last.SHA] = made
	}
	return made
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
