package telemetry

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc.example/svc/shared/jsontree"
)

// What a body may hold. One that holds more is refused.
const (
	MaxBody       = 1 << 20 // bytes
	MaxEvents     = 100
	MaxExamples   = 1000   // in all events
	MaxContexts   = 50     // of an example
	MaxSeen       = 5000   // contexts in all examples: what a store can count in seconds
	MaxProperties = 100    // of a context or a shape
	MaxShapes     = 1000   // in all events
	MaxCounters   = 10_000 // of all summaries
	MaxList       = 100    // elements of a stringList
	MaxName       = 200    // bytes of a context type or property name
	MaxText       = 4096   // bytes of a text
	MaxKey        = 1024   // bytes of a context's key
)

// Decode reads a body. When there are issues the report is empty.
func Decode(body []byte) (Report, []jsontree.Issue) {
	if len(body) > MaxBody {
		return Report{}, []jsontree.Issue{{Message: "the body is larger than " + strconv.Itoa(MaxBody) + " bytes; send it in several batches"}}
	}
	tree, err := jsontree.Parse(body)
	var syntax *jsontree.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return Report{}, []jsontree.Issue{{Pointer: syntax.Pointer, Message: "not JSON: " + syntax.Error()}}
	case err != nil:
		return Report{}, []jsontree.Issue{{Message: "not JSON"}}
	}
	r := &reader{}
	report := r.report(tree)
	if len(r.issues) > 0 {
		if r.more > 0 {
			r.issues = append(r.issues, jsontree.More(r.more))
		}
		return Report{}, r.issues
	}
	return report, nil
}

func (r *reader) report(tree *jsontree.Node) Report {
	var report Report
	var top *place
	if !r.kind(top, tree, jsontree.Object, `the body is an object such as {"events":[]}`) {
		return report
	}
	report.Instance = r.name(top.in("instanceHash"), tree.Get("instanceHash"))
	report.BatchID = r.name(top.in("batchId"), tree.Get("batchId"))
	report.SentAt = r.time(top.in("sentAt"), tree.Get("sentAt"))
	events := r.list(top.in("events"), tree.Get("events"), MaxEvents, "events is an array of events")
	report.Public, _ = tree.Get("public").Bool()
	report.Reports = reportsOf(tree.Get("reports"), len(events))
	for i, event := range events {
		before := len(report.Counters)
		r.event(top.in("events").at(i), event, &report)
		for c := before; c < len(report.Counters); c++ {
			report.Counters[c].Event = i
		}
	}
	return report
}

// reportsOf reads which reports events came with: an array with an identity, in
// hexadecimal, for each of them. Whatever else stands there says nothing.
func reportsOf(n *jsontree.Node, events int) [][32]byte {
	var of [][32]byte
	for _, element := range n.Elements() {
		var id [32]byte
		text, _ := element.Text()
		if len(text) == hex.EncodedLen(len(id)) {
			_, _ = hex.Decode(id[:], []byte(text))
		}
		if of = append(of, id); len(of) == events {
			break
		}
	}
	return of
}

// event reads what it knows of an event. Later kinds of event are no mistake:
// they are passed over and counted.
func (r *reader) event(at *place, event *jsontree.Node, report *Report) {
	if !r.kind(at, event, jsontree.Object, `an event is an object such as {"exampleContexts":{"examples":[]}}`) {
		return
	}
	known := false
	for _, kind := range []struct {
		name, such string
		read       func(*place, *jsontree.Node, *Report)
	}{
		{"summaries", "summaries is an object", r.summaries},
		{"contextShapes", `contextShapes is an object such as {"shapes":[]}`, r.shapes},
		{"exampleContexts", `exampleContexts is an object such as {"examples":[]}`, r.examples},
	} {
		part := event.Get(kind.name)
		known = known || part != nil
		if part != nil && r.kind(at.in(kind.name), part, jsontree.Object, kind.such) {
			kind.read(at.in(kind.name), part, report)
		}
	}
	if !known {
		report.Unknown++
	}
}

// summaries reads how often items were evaluated. SDKs of many makes send them:
// what of them cannot be read counts nothing, and is no reason to refuse the rest.
func (r *reader) summaries(at *place, event *jsontree.Node, report *Report) {
	var end time.Time
	if millis := wholeNumber(event.Get("end")); millis > 0 && millis <= lastMillis {
		end = time.UnixMilli(millis).UTC()
	}
	for i, summary := range event.Get("summaries").Elements() {
		key, ok := summary.Get("key").Text()
		if !ok || key == "" || len(key) > MaxName {
			continue
		}
		counters := summary.Get("counters").Elements()
		if most := MaxCounters - len(report.Counters); len(counters) > most {
			r.refuse(at.in("summaries").at(i).in("counters"), "there are too many: %d, and at most %d more are taken in one batch; send them in several batches", len(counters), most)
			return
		}
		for _, c := range counters {
			if n := wholeNumber(c.Get("count")); n > 0 {
				report.Counters = append(report.Counters, Counter{key, c.Get("selectedValue"), min(n, MaxCount), end, 0})
			}
		}
	}
}

// wholeNumber reads a number as parseInt does; 0 for anything else, and the largest for
// one that is larger.
func wholeNumber(n *jsontree.Node) int64 {
	if whole, err := parseInt(n); err == nil || errors.Is(err, strconv.ErrRange) {
		return whole
	}
	return 0
}

// parseInt reads a whole number, or the string in which some encoders write large ones.
func parseInt(n *jsontree.Node) (int64, error) {
	literal := n.Literal()
	if text, ok := n.Text(); ok {
		literal = text
	}
	return strconv.ParseInt(literal, 10, 64)
}

func (r *reader) shapes(at *place, event *jsontree.Node, report *Report) {
	at = at.in("shapes")
	for i, shape := range r.list(at, event.Get("shapes"), MaxShapes-len(report.Shapes), "shapes is an array of shapes") {
		report.Shapes = append(report.Shapes, r.shape(at.at(i), shape))
	}
}

func (r *reader) shape(at *place, shape *jsontree.Node) KnownShape {
	if !r.kind(at, shape, jsontree.Object, `a shape is an object such as {"name":"user","fieldTypes":{"plan":2}}`) {
		return KnownShape{}
	}
	s := KnownShape{Type: r.name(at.in("name"), shape.Get("name")), Fields: map[string][]Kind{}}
	at = at.in("fieldTypes")
	for _, m := range r.members(at, shape.Get("fieldTypes"), "fieldTypes is an object of property names and their kinds") {
		if kind := r.fieldType(at.in(m.Name), m.Value); kind != 0 {
			s.Fields[m.Name] = []Kind{kind}
		}
	}
	return s
}

// fieldType reads a kind by its number or its name; one that is not known is 0.
func (r *reader) fieldType(at *place, n *jsontree.Node) Kind {
	if name, ok := n.Text(); ok {
		return kindOf(name)
	}
	if !r.kind(at, n, jsontree.Number, "a field type is a number: 1 int, 2 string, 4 double, 5 bool, 10 stringList") {
		return 0
	}
	number, err := strconv.ParseUint(n.Literal(), 10, 8)
	if _, known := kindNames[Kind(number)]; err != nil || !known {
		return 0
	}
	return Kind(number)
}

func (r *reader) examples(at *place, event *jsontree.Node, report *Report) {
	at = at.in("examples")
	for i, example := range r.list(at, event.Get("examples"), MaxExamples-len(report.Examples), "examples is an array of examples") {
		report.Examples = append(report.Examples, r.example(at.at(i), example))
	}
}

func (r *reader) example(at *place, n *jsontree.Node) Example {
	if !r.kind(at, n, jsontree.Object, `an example is an object such as {"timestamp":1767225600000,"contextSet":{"contexts":[]}}`) {
		return Example{}
	}
	e := Example{At: r.time(at.in("timestamp"), n.Get("timestamp"))}
	at, set := at.in("contextSet"), n.Get("contextSet")
	if !r.kind(at, set, jsontree.Object, `contextSet is an object such as {"contexts":[]}`) {
		return e
	}
	at = at.in("contexts")
	contexts := r.list(at, set.Get("contexts"), min(MaxContexts, MaxSeen-r.contexts), "contexts is an array of contexts")
	r.contexts += len(contexts)
	for i, context := range contexts {
		e.Contexts = append(e.Contexts, r.context(at.at(i), context))
	}
	return e
}

func (r *reader) context(at *place, n *jsontree.Node) Context {
	if !r.kind(at, n, jsontree.Object, `a context is an object such as {"type":"user","values":{"key":{"string":"u-1"}}}`) {
		return Context{}
	}
	c := Context{Type: r.name(at.in("type"), n.Get("type"))}
	at = at.in("values")
	for _, m := range r.members(at, n.Get("values"), "values is an object of properties") {
		p := r.property(at.in(m.Name), m.Name, m.Value)
		if p.Kind == 0 {
			continue
		}
		if c.Properties = append(c.Properties, p); m.Name == keyProperty {
			c.Key = r.key(at.in(m.Name), p)
		}
	}
	return c
}

// keyProperty is the property that makes a context an entity.
const keyProperty = "key"

// key is the text that identifies an entity. Values of other kinds identify
// nothing, so such a context counts as one without a key.
func (r *reader) key(at *place, p Property) string {
	if p.Kind != String && p.Kind != Int {
		return ""
	}
	if len(p.Text) > MaxKey {
		r.refuse(at, "a key has at most %d bytes, this one has %d", MaxKey, len(p.Text))
	}
	return p.Text
}

// time reads milliseconds since 1970.
func (r *reader) time(at *place, n *jsontree.Node) time.Time {
	if n == nil || n.Kind == jsontree.Null {
		return time.Time{}
	}
	millis, err := parseInt(n)
	if err != nil || millis < 0 || millis > lastMillis {
		r.refuse(at, "a time is a whole number of milliseconds since 1970, such as 1767225600000")
		return time.Time{}
	}
	return time.UnixMilli(max(millis, 1)).UTC()
}

// lastMillis is the end of the year 9999, the last that RFC 3339 can write.
const lastMillis = 253402300799999

// name reads a name; where there is none it is "".
func (r *reader) name(at *place, n *jsontree.Node) string {
	if n == nil || n.Kind == jsontree.Null {
		return ""
	}
	text, ok := n.Text()
	if !ok {
		r.refuse(at, "%s is a string, not %s", at.name, n.Kind)
	}
	r.length(at, text, MaxName)
	return text
}

func (r *reader) length(at *place, text string, most int) {
	if len(text) > most {
		r.refuse(at, "a text here has at most %d bytes, this one has %d", most, len(text))
	}
}

// cut takes a text to a number of bytes, less a rune that would be halved.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.ToValidUTF8(text[:most], "\uFFFD")
}
