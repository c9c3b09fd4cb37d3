package explanation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

const (
	// MaxKeys is how many items may be asked for by name.
	MaxKeys = 100
	// MaxAnswer bounds the values of an answer, in bytes.
	MaxAnswer = 8 << 20
	// MaxExplained bounds the explanations of an answer, in bytes, about.
	MaxExplained = 4 << 20
	// lookUpEvery is after how many items the context is checked.
	lookUpEvery = 64
)

// ErrTooMuch is the error for an answer of more than MaxAnswer.
var ErrTooMuch = errors.New("the values take more than 8 MiB together; name fewer keys")

// Question asks what a context is served.
type Question struct {
	// Context holds the contexts by name, each an object of properties; nil is
	// the empty one. ContextIssues has nothing against it.
	Context *jsontree.Node
	// Keys are the items that are asked for; All asks for every flag and config.
	Keys []string
	All  bool
	// Explain asks for explanations. For them Document finds the documents that the
	// State was compiled from; nil for one that is not there.
	Explain  bool
	Document func(t document.Type, key string) *workspace.Stored
	// Now is the time in milliseconds since 1970; Random is in [0, 1).
	Now    int64
	Random func() float64
}

// Evaluations are what a context is served.
type Evaluations struct {
	Environment string `json:"environment"`
	// CommitSHA is the state that was evaluated, null before the first commit.
	// State leaves it to the caller.
	CommitSHA   *string                `json:"commitSha"`
	Evaluations map[string]*Evaluation `json:"evaluations"`
	Missing     []string               `json:"missing"` // keys of no flag or config, as they were asked for
}

// Evaluation is what one item serves.
type Evaluation struct {
	// Value is bare; null where no rule matches, and left out where it is
	// confidential, encrypted or provided by the environment of a server.
	Value              json.RawMessage        `json:"value,omitempty"`
	ValueType          document.ValueType     `json:"valueType"`
	Reason             evaluation.Reason      `json:"reason,omitempty"`
	RuleSource         *evaluation.RuleSource `json:"ruleSource"` // null where no rule matches
	RuleIndex          *int                   `json:"ruleIndex,omitempty"`
	WeightedValueIndex *int                   `json:"weightedValueIndex,omitempty"`
	Confidential       bool                   `json:"confidential,omitempty"`
	// Explanation is the rules that were tried, in order. Truncated says that
	// there are more than an answer tells.
	Explanation []evaluation.TriedRule `json:"explanation,omitzero"`
	Truncated   bool                   `json:"explanationTruncated,omitempty"`
}

// ContextIssues are what is wrong with the shape of a context that stands at a
// pointer. Of each context any property will do.
func ContextIssues(context *jsontree.Node, pointer string) []document.Issue {
	if context == nil {
		return nil
	}
	const form = `, such as {"user": {"key": "u-1", "plan": "pro"}}`
	if context.Kind != jsontree.Object {
		return []document.Issue{{Pointer: pointer, Message: "the context is an object of named contexts" + form + ", not " + context.Kind.String()}}
	}
	var issues []document.Issue
	for _, m := range context.Members {
		if m.Value.Kind != jsontree.Object {
			issues = append(issues, document.Issue{Pointer: pointer + jsontree.Pointer(m.Name),
				Message: "the context " + terminal.Quote(m.Name) + " is an object of properties" + form + ", not " + m.Value.Kind.String()}.Cut())
		}
	}
	return jsontree.Bounded(issues)
}

// evaluator is one question on its way to an answer.
type evaluator struct {
	*State
	Question
	frame   *evaluation.Frame // the context
	account evaluation.Account
}

// Evaluate answers a question. Its error is ErrTooMuch or the context's.
func (s *State) Evaluate(ctx context.Context, q Question) (*Evaluations, error) {
	e := evaluator{State: s, Question: q, frame: s.explainer.NewFrame(q.Now, q.Random)}
	for _, named := range cmp.Or(q.Context, jsontree.NewObject()).Members {
		for _, p := range named.Value.Members {
			if slot := e.frame.Slot([]byte(named.Name), []byte(p.Name)); slot >= 0 {
				e.frame.Put(slot, evaluation.FromNode(p.Value))
			}
		}
	}
	e.account = evaluation.Account{Left: MaxExplained, Property: q.property, Now: q.Now,
		Segment: func(key string) *document.Document { return e.document(document.Segment, key) },
		Flag: func(key string) evaluation.Source {
			return evaluation.Source{Key: key, Document: e.document(document.Flag, key), Overrides: e.overrides[key]}
		}}
	all := &Evaluations{Environment: s.Environment, Evaluations: map[string]*Evaluation{}, Missing: []string{}}
	keys := q.Keys
	if q.All {
		keys = s.keys
	}
	room := MaxAnswer
	for i, key := range keys {
		if (q.Explain || i%lookUpEvery == 0) && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		item, known := s.items[key]
		switch {
		case !known && !slices.Contains(all.Missing, key):
			all.Missing = append(all.Missing, key)
		case known && all.Evaluations[key] == nil:
			made := e.evaluate(key, item)
			if room -= len(key) + len(made.Value); room < 0 {
				return nil, ErrTooMuch
			}
			all.Evaluations[key] = made
		}
	}
	return all, nil
}

func (e *evaluator) evaluate(key string, asked *item) *Evaluation {
	made := &Evaluation{Value: json.RawMessage("null"), ValueType: asked.valueType}
	if n := e.explainer.Evaluate(asked.number, e.frame); n != evaluation.None {
		a := &asked.answers[n-asked.first]
		made.Value, made.Confidential = a.value, a.value == nil
		if made.Reason, made.RuleSource = a.reason, &a.source; a.source != evaluation.OverrideRules {
			made.RuleIndex = &a.index
		}
		if a.arm >= 0 {
			made.WeightedValueIndex = &a.arm
		}
	}
	if e.Explain {
		made.Explanation, made.Truncated = []evaluation.TriedRule{}, true
		if doc := e.document(asked.kind, key); doc != nil {
			var complete bool
			made.Explanation, complete = e.explainer.Explain(asked.number, evaluation.Source{Key: key, Document: doc, Overrides: e.overrides[key]}, e.frame, &e.account)
			made.Truncated = !complete
		}
	}
	return made
}

// document decodes a document, as long as more may be told. What that takes counts
// against what is told.
func (e *evaluator) document(t document.Type, key string) *document.Document {
	if e.account.Left <= 0 {
		return nil
	}
	stored := e.Document(t, key)
	if stored == nil {
		return nil
	}
	const decodedForEachByteTold = 8
	e.account.Left -= len(stored.Text) / decodedForEachByteTold
	return stored.Read().View
}

// property finds a property by the name that rules give it: context, dot,
// property.
func (q *Question) property(name string) *jsontree.Node {
	context, property, _ := strings.Cut(name, ".")
	return q.Context.Get(context).Get(property)
}
