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
	// What browsers are served; and what servers are, nil where that is no more.
	browsers, servers *evaluation.Explainer
	bytes             int64
}

// item is a flag or a config.
type item struct {
	kind      document.Type
	valueType document.ValueType
	server    bool // it is evaluated among what servers are served
	number    int  // of the item there
	first     int  // the number of its first answer there
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
	units, browsers, servers := evaluation.NewUnits(environment), evaluation.NewCompiler(), evaluation.NewCompiler()
	numbers, counted, hasServers := [2]int{}, [2]int{}, false
	read, all := 0, 0
	for _, stored := range ws.Items {
		all += len(stored.Text)
	}
	for doc := range ws.ByKey() {
		source := evaluation.Source{Key: doc.Key, Document: doc.View, Overrides: overrides[doc.Key]}
		kind := doc.View.Type
		unit, answers := units.Make(source)
		servers.Add(unit)
		server := kind == document.LogLevel || kind == document.Config && !doc.View.SendToClientSDK
		if !server {
			browsers.Add(unit)
		}
		at := 0
		if server {
			at = 1
		}
		if kind == document.Flag || kind == document.Config {
			s.add(source, &item{kind: kind, valueType: doc.View.ValueType, server: server, number: numbers[at], first: counted[at]}, answers)
			hasServers = hasServers || server
		}
		for part := range numbers {
			if kind != document.Segment && part >= at {
				numbers[part]++
				counted[part] += len(answers)
			}
		}
		read += len(doc.Text)
		if bytes := s.bytes + browsers.Size() + servers.Size(); max > 0 && bytes > max {
			return nil, &TooLarge{int64(float64(bytes) * float64(all) / float64(read))}
		}
	}
	s.browsers = browsers.Explainer(environment)
	if s.bytes += s.browsers.Size(); hasServers {
		s.servers = servers.Explainer(environment)
		s.bytes += s.servers.Size()
	}
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
