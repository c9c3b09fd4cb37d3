package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
)

// What a window takes at most. What is beyond is counted, or left out.
const (
	maxExamples   = 500
	maxWindow     = 512 << 10 // bytes of examples: what one batch can hold
	maxExample    = 64 << 10
	maxContexts   = 16 // of an example
	maxShapes     = 100
	maxProperties = 100 // of a context
	maxName       = 200 // bytes of a name
	maxText       = 1024
)

// window is what was seen of contexts since the last flush.
type window struct {
	start    int64
	shapes   map[string]map[string]int
	seen     map[string]bool // the examples, by their types and keys
	examples []json.RawMessage
	bytes    int
}

func newWindow(start int64) *window {
	return &window{start: start, shapes: map[string]map[string]int{}, seen: map[string]bool{}}
}

func (w *window) see(set *contexts.Set, now int64) {
	var id strings.Builder
	var keyed []contexts.Context
	n := 0
	for c := range set.All() {
		if c.Name() == loggerContext || len(c.Name()) > maxName { // those of loggers are made by the client itself
			continue
		}
		if n++; n > maxContexts {
			break
		}
		w.shape(c)
		if key, ok := c.Key(); ok && len(key) <= maxText {
			keyed = append(keyed, c)
			fmt.Fprintf(&id, "%d %s %d %s ", len(c.Name()), c.Name(), len(key), key)
		}
	}
	if id.Len() == 0 || len(w.examples) >= maxExamples || w.bytes >= maxWindow || w.seen[id.String()] {
		return
	}
	w.seen[id.String()] = true
	e := example{Timestamp: now}
	for _, c := range keyed {
		e.ContextSet.Contexts = append(e.ContextSet.Contexts, exampleContext{c.Name(), valuesOf(c)})
	}
	text, _ := json.Marshal(e)
	if len(text) > maxExample {
		return // its shape has to do
	}
	w.examples = append(w.examples, text)
	w.bytes += len(text)
}

func (w *window) shape(c contexts.Context) {
	fields := w.shapes[c.Name()]
	if fields == nil {
		if len(w.shapes) >= maxShapes {
			return
		}
		fields = map[string]int{}
		w.shapes[c.Name()] = fields
	}
	n := 0
	for name, v := range c.All() {
		if n++; n > maxProperties {
			return
		}
		if field, ok := fieldTypes[v.Kind()]; ok && len(name) <= maxName && len(fields) < maxProperties {
			fields[name] = field
		}
	}
}

// fieldTypes are the numbers that the protocol gives the kinds of property.
var fieldTypes = map[contexts.Kind]int{contexts.Int: 1, contexts.Text: 2, contexts.Double: 4, contexts.Bool: 5, contexts.List: 10}

type example struct {
	Timestamp  int64 `json:"timestamp"`
	ContextSet struct {
		Contexts []exampleContext `json:"contexts"`
	} `json:"contextSet"`
}

type exampleContext struct {
	Type   string         `json:"type"`
	Values map[string]any `json:"values"`
}

func valuesOf(c contexts.Context) map[string]any {
	key, _ := c.Lookup(contexts.Key)
	values := map[string]any{contexts.Key: typed(key)}
	for name, v := range c.All() {
		if len(values) >= maxProperties {
			break
		}
		if out := typed(v); out != nil && len(name) <= maxName {
			values[name] = out
		}
	}
	return values
}

// typed is a property as the protocol spells it; nil for one that it cannot.
func typed(v contexts.Value) any {
	switch v.Kind() {
	case contexts.Text:
		return map[string]string{"string": clipped(v.Text())}
	case contexts.Int:
		return map[string]json.Number{"int": json.Number(v.Text())}
	case contexts.Double:
		return map[string]json.Number{"double": json.Number(v.Text())}
	case contexts.Bool:
		boolean, _ := strconv.ParseBool(v.Text())
		return map[string]bool{"bool": boolean}
	case contexts.List:
		texts := []string{}
		for item := range v.Items() {
			if len(texts) < maxProperties {
				texts = append(texts, clipped(item.Text()))
			}
		}
		return map[string][]string{"stringList": texts}
	}
	return nil
}

func clipped(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return strings.ToValidUTF8(text, "")
}

// events are the window's shapes and examples as the protocol spells them.
func (w *window) events() []json.RawMessage {
	var events []json.RawMessage
	type shape struct {
		Name   string         `json:"name"`
		Fields map[string]int `json:"fieldTypes"`
	}
	var shapes []shape
	for _, name := range slices.Sorted(maps.Keys(w.shapes)) {
		shapes = append(shapes, shape{name, w.shapes[name]})
	}
	for some := range slices.Chunk(shapes, 5) {
		events = append(events, event("contextShapes", map[string]any{"shapes": some}))
	}
	for some := range slices.Chunk(w.examples, 100) {
		events = append(events, event("exampleContexts", map[string]any{"examples": some}))
	}
	return events
}

func event(kind string, content any) json.RawMessage {
	text, _ := json.Marshal(map[string]any{kind: content})
	return text
}

type summary struct {
	Key      string    `json:"key"`
	Type     string    `json:"type"`
	Counters []counter `json:"counters"`
}

// counter is how often one way of coming about served one value.
type counter struct {
	counted
	Count int64 `json:"count"`
}

// counted is what tells a key's counters apart.
type counted struct {
	ConfigID string            `json:"configId"`
	Reason   evaluation.Reason `json:"reason"`
	Rule     index             `json:"ruleIndex,omitzero"`
	Arm      index             `json:"weightedValueIndex,omitzero"`
	Value    selected          `json:"selectedValue,omitzero"`
}

// selected is a value under the name of its kind, as JSON; "" is none.
type selected string

func (s selected) MarshalJSON() ([]byte, error) { return []byte(s), nil }

// maxSelected is how long a value is that is told of.
const maxSelected = 1000

// selected is what telemetry tells of a value: nothing of one that is secret in any way.
func (a *answer) selected() selected {
	if a.sealed != nil || a.secret || a.err != nil || a.raw == nil || len(a.raw) > maxSelected {
		return ""
	}
	kind := string(a.kind)
	switch a.kind {
	case document.StringListValue:
		kind = "stringList"
	case document.LogLevelValue:
		kind = "logLevel"
	}
	return selected(`{"` + kind + `":` + string(a.raw) + `}`)
}

// index is a number from 1 for one that is written from 0, so that the zero
// index is none.
type index int

func (i index) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(i)-1, 10), nil }

// maxSummaries is how many keys stand in one event.
const maxSummaries = 300

func (t *table) summarize(a *answer, into map[string]*summary) {
	n := a.served.Swap(0)
	if n == 0 {
		return
	}
	i := &t.items[a.item]
	if into[i.key] == nil {
		into[i.key] = &summary{Key: i.key, Type: string(i.kind)}
	}
	c := counted{ConfigID: i.id, Reason: a.reason, Arm: index(a.arm + 1), Value: a.selected()}
	if a.reason != evaluation.Static {
		c.Rule = index(a.rule + 1)
	}
	// One that counts the same may be there: the rules of an environment and the
	// default rules are numbered alike, and tables follow one another.
	counters := &into[i.key].Counters
	at := slices.IndexFunc(*counters, func(k counter) bool { return k.counted == c })
	if at < 0 {
		at = len(*counters)
		*counters = append(*counters, counter{counted: c})
	}
	(*counters)[at].Count += n
}
