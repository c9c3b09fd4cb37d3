package explanation

import (
	"fmt"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/workspace"
)

// State is what one environment serves at one state of a workspace. It never
// changes, and may be used concurrently.
type State struct {
	Environment string

	keys      []string // of all flags and configs, in order
	items     map[string]*item
	overrides Overrides
	explainer *evaluation.Explainer
	bytes     int64
}

// item is a flag or a config.
type item struct {
	kind      document.Type
	valueType document.ValueType
	number    int // of the item in the explainer
	first     int // the number of its first answer there
	answers   []answer
}

// answer is one value that an item can serve.
type answer struct {
	value      []byte // nil for one that is not told
	reason     evaluation.Reason
	source     evaluation.RuleSource
	index, arm int
}

// About how many bytes an item and an answer take, beside their texts.
const (
	itemBytes   = 200
	answerBytes = 96
)

// TooLarge is the error of an environment that serves more than there is memory for.
type TooLarge struct {
	Bytes int64 // about, once compiled
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("what the environment serves takes about %d bytes of memory once it is compiled", e.Bytes)
}

// Overrides are rules that are tried before those of an item, by its key; see
// evaluation.Source.
type Overrides map[string][]document.Rule

// Compile compiles what an environment serves of a workspace: one document at a
// time is decoded. Beyond max bytes, if that is not 0, it is TooLarge.
func Compile(ws *workspace.Workspace, environment string, overrides Overrides, max int64) (*State, error) {
	s := &State{Environment: environment, items: map[string]*item{}, overrides: overrides}
	units, compiler := evaluation.NewUnits(environment), evaluation.NewCompiler()
	number, counted, read, all := 0, 0, 0, 0
	for _, stored := range ws.Items {
		all += len(stored.Text)
	}
	for doc := range ws.ByKey() {
		source := evaluation.Source{Key: doc.Key, Document: doc.View, Overrides: overrides[doc.Key]}
		kind := doc.View.Type
		unit, answers := units.Make(source)
		compiler.Add(unit)
		if kind == document.Flag || kind == document.Config {
			s.add(source, &item{kind: kind, valueType: doc.View.ValueType, number: number, first: counted}, answers)
		}
		if kind != document.Segment {
			number, counted = number+1, counted+len(answers)
		}
		read += len(doc.Text)
		if bytes := s.bytes + compiler.Size(); max > 0 && bytes > max {
			return nil, &TooLarge{int64(float64(bytes) * float64(all) / float64(read))}
		}
	}
	s.explainer = compiler.Explainer(environment)
	s.bytes += s.explainer.Size()
	return s, nil
}

func (s *State) add(source evaluation.Source, made *item, answers []evaluation.Answer) {
	s.keys = append(s.keys, source.Key)
	s.items[source.Key] = made
	s.bytes += itemBytes + int64(len(source.Key))
	for _, a := range answers {
		told := answer{reason: a.Reason, source: a.RuleSource, index: a.RuleIndex, arm: a.ArmIndex}
		if !a.Value.Secret() {
			told.value = []byte("null")
			if served := a.Value.Served(); served != nil {
				told.value = served.Compact()
			}
		}
		made.answers = append(made.answers, told)
		s.bytes += answerBytes + int64(len(told.value))
	}
}

// Size is about how many bytes it takes; none when there is none.
func (s *State) Size() int64 {
	if s == nil {
		return 0
	}
	return s.bytes
}
