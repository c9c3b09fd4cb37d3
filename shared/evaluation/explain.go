package evaluation

import (
	"math"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Explainer is a Snapshot that can also tell why it answers as it does. It
// decides nothing by itself: what a rule and a criterion came to is asked of
// the frame, which has decided it for Evaluate.
type Explainer struct {
	*Snapshot
	environment string
	segmentAt   map[string]int
}

// Size is about how many bytes it takes.
func (e *Explainer) Size() int64 { return e.Snapshot.Size() + wordBytes*int64(len(e.segmentAt)) }

// NewFrame gives an empty context in which chance decides each split once, so
// that what is told is what was decided. It is not to be released: others must
// not find what chance has decided here.
func (e *Explainer) NewFrame(now int64, random func() float64) *Frame {
	f := e.Snapshot.NewFrame(now, random)
	f.drawn = map[*split]float64{}
	return f
}

// TriedRule is a rule that was tried for a context.
type TriedRule struct {
	RuleSource RuleSource       `json:"ruleSource"`
	Index      int              `json:"index"` // in the list that RuleSource names
	Matched    bool             `json:"matched"`
	Member     *bool            `json:"member,omitempty"` // what a segment's rule that matched says
	Criteria   []TriedCriterion `json:"criteria"`
	Split      *TriedSplit      `json:"split,omitempty"` // of a rule that matched, or that has no weight
	Paused     bool             `json:"paused,omitempty"`
	Scheduled  string           `json:"scheduled,omitempty"` // what it was made for: see document.StoredSchedule
}

// TriedCriterion is a criterion, and what it came to.
type TriedCriterion struct {
	Operator     string         `json:"operator"`
	PropertyName string         `json:"propertyName,omitempty"`
	Expected     *jsontree.Node `json:"expected,omitempty"`
	Actual       *jsontree.Node `json:"actual,omitempty"`
	Present      bool           `json:"present"`
	Holds        bool           `json:"holds"`
	// Confidential says that Expected is left out for being confidential,
	// Truncated that Expected or Actual is left out in part, or as a whole, for
	// its size.
	Confidential bool `json:"confidential,omitempty"`
	Truncated    bool `json:"truncated,omitempty"`
	// Segment is the rules of the segment that is asked for, where an explanation
	// comes to it first.
	Segment []TriedRule `json:"segment,omitzero"`
	// Flag is the same of another flag. Actual is what it serves, left out where it
	// must not be told.
	Flag []TriedRule `json:"flag,omitzero"`
}

// TriedSplit is how a rule chose one of several values.
type TriedSplit struct {
	Property string `json:"property,omitempty"`
	// Hash is the murmur3 of the item's key and the property; nil where the
	// property is not there, and chance decides.
	Hash  *uint32    `json:"hash,omitempty"`
	Point float64    `json:"point"` // from 0 to 100
	Arms  []TriedArm `json:"arms"`
}

// TriedArm is one of the values. It is chosen for points above From, up to To.
type TriedArm struct {
	Value        *jsontree.Node `json:"value,omitempty"`
	Confidential bool           `json:"confidential,omitempty"`
	Truncated    bool           `json:"truncated,omitempty"`
	From         float64        `json:"from"`
	To           float64        `json:"to"`
	Chosen       bool           `json:"chosen"`
}

// Account is what explanations need beside the rules, and how much they may
// tell, all of one context together.
type Account struct {
	// Segment finds a segment's document; nil for none.
	Segment func(key string) *document.Document
	// Flag finds a flag; its document is nil for none.
	Flag func(key string) Source
	// Property finds what the context has as a property; nil for nothing.
	Property func(name string) *jsontree.Node
	// Now is the time of the frame.
	Now int64
	// Left is about how many bytes may be told yet. Where it ends an explanation
	// ends too, before it is complete.
	Left int

	properties map[string]shown // of the context, as they are told
}

// shown is a value as it is told.
type shown struct {
	node  *jsontree.Node
	bytes int // about
	cut   bool
}

// property is what is told of a property, which many criteria may read.
func (a *Account) property(name string) shown {
	if a.properties == nil {
		a.properties = map[string]shown{}
	}
	told, known := a.properties[name]
	if !known {
		told = brief(a.Property(name))
		a.properties[name] = told
	}
	return told
}

// What is told of one value, and about what the rest of each part takes.
const (
	maxTold       = 1 << 10
	ruleTold      = 96
	criterionTold = 96
	armTold       = 64
	// maxNested is how many segments within segments are told of.
	maxNested = 16
)

// Explain tells which rules of an item were tried, in order, for a frame in
// which it was evaluated. Complete is false where the account did not suffice.
func (e *Explainer) Explain(item int, source Source, f *Frame, account *Account) (tried []TriedRule, complete bool) {
	x := explanation{e, f, account, map[string]bool{}}
	return x.item(item, source, 0)
}

// item tells of the rules of an item.
func (x *explanation) item(item int, source Source, depth int) (tried []TriedRule, complete bool) {
	tried = []TriedRule{}
	own, _ := source.Document.Own(x.environment)
	it := x.items[item]
	compiled, serves := x.lists[it.list], x.serves[it.first:]
	if int(x.lists[it.list+1]-compiled) != len(source.Overrides)+len(own)+len(source.Document.Default) {
		return tried, false // the document is another one
	}
	for _, list := range []struct {
		of     RuleSource
		stored []document.Rule
	}{{OverrideRules, source.Overrides}, {EnvironmentRules, own}, {DefaultRules, source.Document.Default}} {
		for i := range list.stored {
			rule := TriedRule{RuleSource: list.of, Index: i, Paused: list.stored[i].Paused, Scheduled: list.stored[i].Schedule}
			if !x.rule(&rule, &list.stored[i], x.testsOf(compiled), x.splitOf(serves[0]), depth) {
				return tried, false
			}
			if tried = append(tried, rule); rule.Matched {
				return tried, true
			}
			compiled, serves = compiled+1, serves[1:]
		}
	}
	return tried, true
}

// explanation is the explanation of one item.
type explanation struct {
	*Explainer
	frame   *Frame
	account *Account
	told    map[string]bool // segments and flags
}

// room reports whether so many bytes may be told, and takes them.
func (x *explanation) room(bytes int) bool {
	x.account.Left -= bytes
	return x.account.Left > 0
}

// rule tells of a rule. It is false where there is no room.
func (x *explanation) rule(told *TriedRule, stored *document.Rule, testIDs []int32, s *split, depth int) bool {
	if !x.room(ruleTold) {
		return false
	}
	told.Matched, told.Criteria = x.frame.all(testIDs), []TriedCriterion{}
	for _, criterion := range stored.Criteria {
		c := TriedCriterion{Operator: criterion.Operator, PropertyName: criterion.PropertyName, Holds: true}
		if criterion.Operator != document.AlwaysTrue {
			c.Holds = x.frame.all(testIDs[:1])
			testIDs = testIDs[1:]
		}
		if !x.criterion(&c, criterion.ValueToMatch, depth) {
			return false
		}
		told.Criteria = append(told.Criteria, c)
	}
	if s == nil || !told.Matched && s.total > 0 {
		return true
	}
	told.Split = x.split(s, stored.Value.Weighted)
	return told.Split != nil
}

func (x *explanation) criterion(told *TriedCriterion, operand *document.Value, depth int) bool {
	bytes := criterionTold + len(told.PropertyName)
	tell := func(s shown) *jsontree.Node {
		bytes += s.bytes
		told.Truncated = told.Truncated || s.cut
		return s.node
	}
	if operand != nil {
		if told.Confidential = operand.Secret(); !told.Confidential {
			told.Expected = tell(brief(operand.Served()))
		}
	}
	flag, asks := FlagOf(document.Criterion{Operator: told.Operator, PropertyName: told.PropertyName})
	var asked Source
	if asks {
		asked = x.account.Flag(flag)
		if served := x.servedOf(asked); served != nil {
			told.Present = true
			if !served.Secret() {
				told.Actual = tell(brief(served.Served()))
			}
		}
	} else if name := slotName(told.PropertyName); told.PropertyName != "" {
		actual := x.account.property(name)
		// A property that no rule reads has no slot.
		slot, read := x.slotByName[name]
		switch {
		case name == CurrentTime:
			actual = brief(jsontree.NewInt(x.account.Now))
		case read && !x.frame.Has(slot), actual.node != nil && actual.node.Kind == jsontree.Null:
			actual = shown{}
		}
		told.Present = actual.node != nil || actual.cut
		told.Actual = tell(actual)
	}
	if !x.room(bytes) {
		return false
	}
	if asks {
		return asked.Document == nil || x.told[flag] || depth == maxNested || x.flag(told, asked, depth+1)
	}
	key, ok := SegmentOf(document.Criterion{Operator: told.Operator, ValueToMatch: operand})
	if !ok || told.Confidential || x.told[key] || depth == maxNested {
		return true
	}
	x.told[key] = true
	return x.segment(told, key, depth+1)
}

// servedOf is what a flag serves; nil for nothing.
func (x *explanation) servedOf(source Source) *document.Value {
	item, known := x.Find(source.Key)
	if source.Document == nil || !known {
		return nil
	}
	own, _ := source.Document.Own(x.environment)
	n := x.Evaluate(item, x.frame)
	if n == None {
		return nil
	}
	answers, n := answersOf(source.Overrides, own, source.Document.Default), n-int(x.serves[x.items[item].first].answer)
	if n >= len(answers) {
		return nil // the document is another one
	}
	return &answers[n].Value
}

// flag tells of the flag that is asked for.
func (x *explanation) flag(told *TriedCriterion, source Source, depth int) (complete bool) {
	x.told[source.Key] = true
	item, known := x.Find(source.Key)
	if !known {
		return true
	}
	told.Flag, complete = x.item(item, source, depth)
	return complete
}

func (x *explanation) segment(told *TriedCriterion, key string, depth int) bool {
	n, known := x.segmentAt[key]
	doc := x.account.Segment(key)
	if told.Segment = []TriedRule{}; !known || doc == nil {
		return true // without rules it has no members
	}
	if len(doc.Default) != len(x.segments[n].rules) {
		return false
	}
	for i, compiled := range x.segments[n].rules {
		rule := TriedRule{RuleSource: DefaultRules, Index: i}
		if !x.rule(&rule, &doc.Default[i], compiled.testIDs, compiled.split, depth) {
			return false
		}
		if rule.Matched {
			arm := 0
			if compiled.split != nil {
				arm = compiled.split.arm(x.frame)
			}
			rule.Member = &compiled.member[arm]
		}
		told.Segment = append(told.Segment, rule)
		if rule.Matched {
			break
		}
	}
	return true
}

// split tells of a split; nil where there is no room.
func (x *explanation) split(s *split, w *document.Weighted) *TriedSplit {
	point := s.point(x.frame)
	told := &TriedSplit{Property: w.HashByProperty, Point: 100 * point, Arms: []TriedArm{}}
	if s.hashes(x.frame) {
		hash := uint32(math.Round(point * maxHash)) // which is exact
		told.Hash = &hash
	}
	chosen, sum := s.armAt(point), 0.0
	for i, a := range w.Arms {
		arm := TriedArm{From: sum, To: sum, Confidential: a.Value.Secret(), Chosen: i == chosen && s.total > 0}
		if s.total > 0 {
			sum += s.weights[i]
			arm.From, arm.To = 100*arm.From/s.total, 100*sum/s.total
		}
		bytes := armTold
		if !arm.Confidential {
			value := brief(a.Value.Served())
			arm.Value, arm.Truncated = value.node, value.cut
			bytes += value.bytes
		}
		if !x.room(bytes) {
			return nil
		}
		told.Arms = append(told.Arms, arm)
	}
	return told
}

// brief is a value as far as it is told: of a long text the beginning, of a long
// list the first elements, and of a large object nothing.
func brief(n *jsontree.Node) shown {
	room := maxTold
	if n == nil || fits(n, &room) {
		return shown{n, maxTold - room, false}
	}
	switch n.Kind {
	case jsontree.String:
		text, _ := n.Text()
		return shown{jsontree.NewString(document.WordsWithin(text, maxTold/4)), maxTold, true}
	case jsontree.Array:
		first, room := 0, maxTold
		for first < len(n.Items) && fits(n.Items[first], &room) {
			first++
		}
		return shown{jsontree.NewArray(n.Items[:first]...), maxTold, true}
	}
	return shown{nil, 0, true}
}

// fits takes about as many bytes as a value has, and reports whether that many are
// left. It looks no further than that.
func fits(n *jsontree.Node, room *int) bool {
	const punctuation = 3
	if *room -= punctuation; len(n.Items)+len(n.Members) == 0 {
		*room -= n.EncodedSize()
	}
	for i := 0; *room >= 0 && i < len(n.Items); i++ {
		fits(n.Items[i], room)
	}
	for i := 0; *room >= 0 && i < len(n.Members); i++ {
		*room -= len(n.Members[i].Name) + punctuation
		fits(n.Members[i].Value, room)
	}
	return *room >= 0
}
