package evaluation

import (
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/murmur3"

	"svc.example/svc/shared/document"
)

// Reason says how a value came to be served.
type Reason string

// The reasons.
const (
	Split          Reason = "SPLIT"
	TargetingMatch Reason = "TARGETING_MATCH"
	Static         Reason = "STATIC"
	Overridden     Reason = "OVERRIDE"
)

// RuleSource says which of an item's lists a rule stands in.
type RuleSource string

// The two lists of a document, and Source.Overrides.
const (
	EnvironmentRules RuleSource = "environment"
	DefaultRules     RuleSource = "default"
	OverrideRules    RuleSource = "override"
)

// None stands for an item that serves nothing: no rule matched.
const None = -1

// Answer is one value that an item can serve.
type Answer struct {
	Item       int // index into the snapshot's Keys
	Value      document.Value
	Reason     Reason
	RuleSource RuleSource
	RuleIndex  int // where the rule stands in the list that RuleSource names
	ArmIndex   int // -1 unless Reason is Split
}

// Variants are the names of a document's values: the first name that each has,
// by its canonical form.
type Variants map[string]string

// VariantsOf are the names of a document's values. Variants of an item that has a
// confidential value give no names.
func VariantsOf(doc *document.Document) Variants {
	names := Variants{}
	for _, v := range doc.Variants {
		if v.Name == "" || doc.Confidential {
			continue
		}
		if value := v.Value.Served().Canonical(); names[value] == "" {
			names[value] = v.Name
		}
	}
	return names
}

// Of is what an answer of the document is called: by the variant of its value
// when that has a name, else by how it came to be served.
func (v Variants) Of(a *Answer) string {
	if len(v) > 0 {
		if name := v[a.Value.Served().Canonical()]; name != "" {
			return name
		}
	}
	switch a.Reason {
	case Split:
		return "split:" + strconv.Itoa(a.ArmIndex)
	case TargetingMatch:
		return "targeting:" + strconv.Itoa(a.RuleIndex)
	}
	return "static"
}

// Source is a document to compile, under its key in the workspace.
type Source struct {
	Key      string
	Document *document.Document
	// Overrides are rules of somebody who tries out other values on their own
	// machine. They are tried before those of the document.
	Overrides []document.Rule
}

// Content is what a snapshot was compiled from, for a caller that encodes it.
// The snapshot keeps none of it: it is what is large, and evaluation works
// with numbers.
type Content struct {
	Items   []Source // by key: the flags, configs and log levels
	Answers []Answer // all values that could be served
}

// Snapshot is the documents of one head compiled for one environment.
type Snapshot struct {
	// Keys are the keys of the items in order. An item's index is what
	// Evaluate takes; what it returns is the index of an answer.
	Keys []string

	items  []item
	serves []serving
	splits []*split

	// A list's rules go from where its number in lists points to where the next
	// list's do, and a rule's tests from where its number in rules points to where
	// the next rule's do.
	lists   []int32
	rules   []int32
	testIDs []int32
	tests   []test

	segments   []segment
	slots      []slot
	slotByName map[string]int
	timeSlot   int
	thresholds []int64 // moments at which a rule on the current time turns
	volatile   bool    // some rule reads the time in a way that has no thresholds
	held       int64   // about how many bytes the elements of the above refer to
	frames     sync.Pool
}

// slot is a context property that some rule reads.
type slot struct {
	numeric bool // some rule compares it as a number
	price   price
}

// item is what is served under a key. Lists of rules with equal criteria are one
// list, and equal criteria are one test; a frame decides each once. Targeting repeats
// itself from flag to flag.
type item struct {
	list  int32 // overrides, the environment's own rules, then the default ones
	first int32 // what the first of them serves, the others following it: snapshot.serves[first:]
}

// serving is what one rule of one item serves.
type serving struct {
	answer int32 // with a split, its first arm's
	split  int32 // its number in splits, from 1; 0 for none
}

// test is a compiled criterion.
type test func(*Frame) bool

type segment struct {
	rules []membershipRule
}

type membershipRule struct {
	testIDs []int32
	member  []bool // per arm; one for a plain value
	split   *split
}

type split struct {
	key     string
	slot    int // of the property to hash; -1 for none
	weights []float64
	total   float64
	sole    bool // only one of them is above 0: there is nothing for chance to decide
	once    bool // others ask what it comes to: chance decides it once for a context
}

// Size is about how many bytes a snapshot takes, with a frame.
func (s *Snapshot) Size() int64 {
	const text, number, pair, moment, pointer, slot, segment = 16, 4, 8, 8, 8, 40, 24
	const property = 96 // in a frame, where tests and segments have a byte
	size := text*cap(s.Keys) + pair*(cap(s.items)+cap(s.serves)) + number*(cap(s.lists)+cap(s.rules)+cap(s.testIDs)) +
		moment*cap(s.thresholds) + pointer*(cap(s.splits)+cap(s.tests)) + slot*cap(s.slots) + segment*cap(s.segments) +
		number*len(s.lists) + len(s.tests) + property*len(s.slots) + len(s.segments)
	return int64(size) + s.held
}

// What the elements of a snapshot take beside their place in a list, about.
const (
	textBytes    = 16 // in a list, beside its characters
	numberBytes  = 4
	testBytes    = 48 // of most
	limitBytes   = 48 // a number or a time that a test compares with
	slotBytes    = 48 // the slot's place among the names
	wordBytes    = 50 // in a map, beside its characters
	splitBytes   = 64
	weightBytes  = 8
	segmentRule  = 56
	memberBytes  = 1
	smallestText = 16
)

// hold counts what an element of the snapshot takes.
func (c *compiler) hold(bytes int) { c.out.held += int64(bytes) }

// holdText counts the characters of a text.
func (c *compiler) holdText(text string) {
	c.hold((len(text) + smallestText - 1) &^ (smallestText - 1))
}

// holdTexts counts texts that take so many bytes each, beside their characters.
func (c *compiler) holdTexts(texts []string, bytes int) {
	for _, text := range texts {
		c.hold(bytes)
		c.holdText(text)
	}
}

// Find returns the index of the item with that key.
func (s *Snapshot) Find(key string) (int, bool) {
	return slices.BinarySearch(s.Keys, key)
}

// Evaluate returns the index of the answer that an item serves to the frame's
// context, or None.
func (s *Snapshot) Evaluate(item int, f *Frame) int {
	it := s.items[item]
	if f.matched[it.list] == 0 {
		f.matched[it.list] = f.match(it.list)
	}
	rule := f.matched[it.list] - firstRule
	if rule == None {
		return None
	}
	serves := s.serves[it.first+rule]
	if split := s.splitOf(serves); split != nil {
		return int(serves.answer) + split.arm(f)
	}
	return int(serves.answer)
}

// splitOf is the split that chooses what is served, or nil.
func (s *Snapshot) splitOf(serves serving) *split {
	if serves.split == 0 {
		return nil
	}
	return s.splits[serves.split-1]
}

// firstRule is how match writes a list's first rule, since 0 is for what is not known.
const firstRule = 2

// match finds the first rule of a list whose tests all hold, or None.
func (f *Frame) match(n int32) int32 {
	first, end := f.snapshot.lists[n], f.snapshot.lists[n+1]
	for i := first; i < end; i++ {
		if f.all(f.snapshot.testsOf(i)) {
			return i - first + firstRule
		}
	}
	return None + firstRule
}

// testsOf are the tests of a rule.
func (s *Snapshot) testsOf(rule int32) []int32 { return s.testIDs[s.rules[rule]:s.rules[rule+1]] }

func (f *Frame) all(testIDs []int32) bool {
	for _, n := range testIDs {
		if f.decided[n] == unknown {
			f.decided[n] = outcomeOf(f.snapshot.tests[n](f))
		}
		if f.decided[n] == no {
			return false
		}
	}
	return true
}

// inSegment decides a segment once. One that is met again meanwhile, in a circle, has no
// member.
func (f *Frame) inSegment(i int) bool {
	if f.segments[i] == unknown {
		f.segments[i] = no
		f.segments[i] = outcomeOf(f.snapshot.segments[i].contains(f))
	}
	return f.segments[i] == yes
}

func (s *segment) contains(f *Frame) bool {
	for i := range s.rules {
		r := &s.rules[i]
		if !f.all(r.testIDs) {
			continue
		}
		if r.split != nil {
			return r.member[r.split.arm(f)]
		}
		return r.member[0]
	}
	return false
}

// arm chooses an arm for a frame's context.
func (s *split) arm(f *Frame) int { return s.armAt(s.point(f)) }

// armAt chooses an arm: the first whose share of the running sum reaches the
// point that the context hashes to. An arm without weight is never chosen.
func (s *split) armAt(point float64) int {
	goal := point * s.total
	last := 0
	sum := 0.0
	for i, weight := range s.weights {
		if weight == 0 {
			continue
		}
		last = i
		if sum += weight; sum >= goal {
			break
		}
	}
	return last
}

func (s *split) point(f *Frame) float64 {
	if !s.hashes(f) {
		if s.sole {
			return 0
		}
		return f.draw(s)
	}
	f.scratch = append(append(f.scratch[:0], s.key...), f.properties[s.slot].Text...)
	return float64(murmur3.Sum32(f.scratch)) / maxHash
}

// maxHash is the highest hash there is.
const maxHash = 1<<32 - 1

// hashes reports whether the context has the property that decides.
func (s *split) hashes(f *Frame) bool { return s.slot >= 0 && f.properties[s.slot].scalar() }

// Phase numbers the interval of time that a moment falls into: within one
// phase the time alone changes no answer. A cached answer is good for its
// phase only.
func (s *Snapshot) Phase(now int64) int64 {
	if s.volatile {
		return now
	}
	return int64(s.Turns().Turned(now))
}
