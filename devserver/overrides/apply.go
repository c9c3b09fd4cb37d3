package overrides

import (
	"encoding/json"
	"fmt"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// Applied is what overrides come to in a workspace.
type Applied struct {
	// Effective are those that have an effect, in the order in which they were set.
	Effective []Override
	Useless   []Listed
	// Sources are the documents that are overridden.
	Sources []evaluation.Source
}

// Apply finds out what the overrides that have not ended by a moment come to.
func Apply(ws *workspace.Workspace, all []Override, now time.Time) *Applied {
	a := &Applied{}
	seen := map[string]bool{}
	all = InForce(all, now)
	for _, o := range all {
		doc := Document(ws, o.Key)
		if problem := o.Problem(doc); problem != "" {
			a.Useless = append(a.Useless, Listed{Override: o, Problem: problem})
			continue
		}
		if a.Effective = append(a.Effective, o); !seen[o.Key] {
			seen[o.Key] = true
			var of []Override
			for _, other := range all {
				if other.Key == o.Key {
					of = append(of, other)
				}
			}
			a.Sources = append(a.Sources, evaluation.Source{Key: o.Key, Document: doc, Overrides: Rules(of, doc)})
		}
	}
	return a
}

// Listed is an override as it is shown.
type Listed struct {
	Override
	// Value is left out of one whose item has confidential values by now.
	Value   *jsontree.Node `json:"value,omitempty"`
	Problem string         `json:"problem,omitempty"` // why it comes to nothing
}

// Warning says that it comes to nothing.
func (l Listed) Warning() string {
	return fmt.Sprintf("warning: the override of %s comes to nothing: %s", terminal.Quote(l.Key), l.Problem)
}

// List shows the overrides that have not ended by a moment.
func List(ws *workspace.Workspace, all []Override, now time.Time) []Listed {
	listed := []Listed{}
	for _, o := range InForce(all, now) {
		doc := Document(ws, o.Key)
		l := Listed{Override: o, Problem: o.Problem(doc)}
		if doc == nil || !secret(doc) {
			l.Value = o.Value
		}
		listed = append(listed, l)
	}
	return listed
}

// Document is the flag or config of a key; nil where there is none.
func Document(ws *workspace.Workspace, key string) *document.Document {
	for _, t := range []document.Type{document.Flag, document.Config} {
		if stored, found := ws.Item(t, key); found {
			return stored.Read().View
		}
	}
	return nil
}

// Rules are those of the documents, for explanations.
func (a *Applied) Rules() explanation.Overrides {
	rules := explanation.Overrides{}
	for _, source := range a.Sources {
		rules[source.Key] = source.Overrides
	}
	return rules
}

// Version stands for all that has an effect; it is nil where nothing has.
func (a *Applied) Version() []byte {
	if len(a.Effective) == 0 {
		return nil
	}
	text, _ := json.Marshal(a.Effective) // what was read is JSON
	return text
}

// Turns are when rules on the current time end overrides.
func (a *Applied) Turns() (turns evaluation.Turns) {
	for _, source := range a.Sources {
		turns = turns.And(evaluation.TurnsOf(source.Overrides))
	}
	return turns
}
