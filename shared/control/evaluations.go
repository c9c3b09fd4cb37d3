package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/workspace"
)

// openValues are the values that stand openly in a document, and whether browsers are
// sent any of it.
type openValues struct {
	open   map[string]string // by their canonical form: as they are served
	secret map[string]bool   // that do not, by their canonical form
	sent   bool
}

const (
	// maxOpenValues is how many values of a document are told apart where they are
	// counted: those that it holds first.
	maxOpenValues = 100
	// openValuesBytes bounds what is remembered of documents for that, of all
	// workspaces: some 10,000 flags.
	openValuesBytes = 4 << 20
)

// openValuesOf reads a document. Of one that is broken no value is open: it may lack the
// mark of a secret.
func openValuesOf(d *workspace.Decoded) *openValues {
	v := &openValues{open: map[string]string{}, secret: map[string]bool{}}
	if d.Item == nil {
		return v
	}
	doc := d.Item.View
	v.sent = doc.Type == document.Flag || doc.SendToClientSDK
	if len(d.Problems) > 0 {
		return v
	}
	for _, value := range doc.Values() {
		if value.Secret() && value.Content != nil {
			v.secret[value.Served().Canonical()] = true
		}
	}
	for spot, value := range doc.Values() {
		if value.Secret() || value.Content == nil || spot.Variant >= 0 && doc.Confidential || len(v.open) >= maxOpenValues {
			continue
		}
		served := value.Served()
		if canonical := served.Canonical(); !v.secret[canonical] {
			if text := served.Compact(); len(text) <= telemetry.MaxValueText {
				v.open[canonical] = string(text)
			}
		}
	}
	return v
}

// find looks for a value as it was reported: plain, or in the form that names its kind.
func (v *openValues) find(reported *jsontree.Node) string {
	if reported == nil || len(v.open) == 0 {
		return ""
	}
	forms := []*jsontree.Node{reported}
	if reported.Kind == jsontree.Object && len(reported.Members) == 1 && valueKinds[reported.Members[0].Name] {
		inner := reported.Members[0].Value
		forms = append(forms, inner)
		for _, name := range []string{"values", "json", "definition"} { // as messages of lists, JSON and durations have them
			if more := inner.Get(name); more != nil {
				forms = append(forms, more)
			}
		}
		for _, form := range forms[1:] {
			if text, ok := form.Text(); ok { // of JSON, or of a number
				if n, err := jsontree.Parse([]byte(text)); err == nil {
					forms = append(forms, n)
				}
			}
		}
	}
	for _, form := range forms {
		if text, open := v.open[form.Canonical()]; open {
			return text
		}
	}
	return ""
}

// valueKinds are the names that a value is wrapped in.
var valueKinds = map[string]bool{"bool": true, "string": true, "int": true, "double": true, "json": true, "stringList": true, "string_list": true,
	"duration": true, "logLevel": true, "log_level": true}

// Counted says which evaluations of the environment are counted: of flags and configs
// at the head, and behind a public key of those that browsers are sent.
func (d *Delivery) Counted(ctx context.Context) (telemetry.Items, error) {
	o, err := d.session.Open(ctx)
	if err != nil {
		return nil, err
	}
	return func(key string, value *jsontree.Node) (string, bool) {
		for _, t := range []document.Type{document.Flag, document.Config} {
			path, ok := workspace.PathOf(t, key)
			if !ok {
				return "", false
			}
			file, there := o.Snapshot.File(path)
			if !there {
				continue
			}
			id := string(t) + " " + file.Blob
			values, known := d.session.service.openValues.Get(id)
			if !known {
				values = openValuesOf(file.Decode())
				size := int64(512 + len(id))
				for canonical, text := range values.open {
					size += int64(128 + len(canonical) + len(text))
				}
				d.session.service.openValues.Put(id, values, size)
			}
			if d.Key().Kind == access.KindPublicSDK && !values.sent {
				return "", false
			}
			return values.find(value), true
		}
		return "", false
	}, nil
}

// EvaluationsQuery narrows the counts of an item; what is empty does not.
type EvaluationsQuery struct {
	Environment string
	Days        *int // up to today; nil is 30
}

// ItemEvaluations is how often an item was evaluated, by environment.
type ItemEvaluations struct {
	Environments map[string]EnvironmentEvaluations `json:"environments"`
}

// EnvironmentEvaluations is the same in one environment.
type EnvironmentEvaluations struct {
	LastEvaluatedAt string           `json:"lastEvaluatedAt,omitempty"` // "": not as far back as counts are kept
	Days            []DayEvaluations `json:"days"`                      // those with any, newest first
}

// DayEvaluations is the same on a UTC day.
type DayEvaluations struct {
	Day    telemetry.Day `json:"day"`
	Total  int64         `json:"total"`
	Values []ValueCount  `json:"values"` // most often served first
}

// ValueCount is how often a value was served.
type ValueCount struct {
	Value json.RawMessage `json:"value"`
	Count int64           `json:"count"`
}

const evaluationDaysUsually = 30

// Evaluations is how often a flag or config was evaluated.
func (s *Session) Evaluations(ctx context.Context, t document.Type, key string, q EvaluationsQuery) (*ItemEvaluations, error) {
	days := evaluationDaysUsually
	if q.Days != nil {
		if days = *q.Days; days < 1 || days > telemetry.EvaluationDays {
			return nil, refusal.Malformed(document.Issue{Pointer: "?days", Message: fmt.Sprintf("days is a whole number from 1 to %d", telemetry.EvaluationDays)})
		}
	}
	if err := s.knownEnvironment(ctx, q.Environment); err != nil {
		return nil, err
	}
	view, found, err := s.item(ctx, t, key)
	if err != nil {
		return nil, err
	}
	today := s.service.settings.Now().UTC()
	counted := map[string][]telemetry.EvaluatedDay{}
	if s.service.settings.Evaluations != nil {
		first, last := telemetry.DayOf(today.AddDate(0, 0, 1-telemetry.EvaluationDays)), telemetry.DayOf(today.AddDate(0, 0, 1))
		if counted, err = s.service.settings.Evaluations.Evaluations(ctx, s.caller.entry.Workspace.ID, key, first, last); err != nil {
			return nil, telemetry.Fault(err)
		}
	}
	secret := openValuesOf(found.file.Decode()).secret
	first := telemetry.DayOf(today.AddDate(0, 0, 1-days))
	answer := &ItemEvaluations{map[string]EnvironmentEvaluations{}}
	for _, e := range view.Workspace().Environments {
		if e.Name == q.Environment || q.Environment == "" && !e.Archived {
			answer.Environments[e.Name] = environmentEvaluations(counted[e.Name], first, secret)
		}
	}
	return answer, nil
}

func environmentEvaluations(counted []telemetry.EvaluatedDay, first telemetry.Day, secret map[string]bool) EnvironmentEvaluations {
	e := EnvironmentEvaluations{Days: []DayEvaluations{}}
	if len(counted) > 0 {
		e.LastEvaluatedAt = project.Date(time.UnixMilli(counted[0].Last))
	}
	for _, day := range counted {
		if day.Day < first {
			break
		}
		row := DayEvaluations{day.Day, day.Total, []ValueCount{}}
		for text, n := range day.Values {
			// What has become a secret since is none of the values that are told.
			if value, err := jsontree.Parse([]byte(text)); err == nil && !secret[value.Canonical()] {
				row.Values = append(row.Values, ValueCount{json.RawMessage(text), n})
			}
		}
		slices.SortStableFunc(row.Values, func(a, b ValueCount) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(string(a.Value), string(b.Value)))
		})
		e.Days = append(e.Days, row)
	}
	return e
}

// ReadEvaluated begins to read when items were evaluated last, beside what a list waits
// for anyway, unless they are on this machine.
func (s *Session) ReadEvaluated(ctx context.Context) {
	counts := s.service.settings.Evaluations
	if s.lastEvaluated != nil || counts == nil {
		return
	}
	workspace := s.caller.entry.Workspace.ID
	read := func() *telemetry.Evaluated {
		read, err := counts.Evaluated(ctx, workspace)
		if err != nil {
			return nil
		}
		return read
	}
	if s.lastEvaluated = sync.OnceValue(read); !s.service.settings.EvaluationsLocal {
		go s.lastEvaluated()
	}
}

// evaluated is on which day items were evaluated last. A list does without where that
// cannot be read: it is of items, and telemetry is beside it.
func (s *Session) evaluated(ctx context.Context) *telemetry.Evaluated {
	if s.ReadEvaluated(ctx); s.lastEvaluated != nil {
		if read := s.lastEvaluated(); read != nil {
			return read
		}
	}
	return &telemetry.Evaluated{}
}

// EvaluatedVersion numbers what lists say of evaluations.
func (s *Session) EvaluatedVersion(ctx context.Context) uint64 { return s.evaluated(ctx).Version }
