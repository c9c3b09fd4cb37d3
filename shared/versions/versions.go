package versions

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
)

// Version stands for what is served.
type Version [16]byte

// String is 32 hexadecimal digits.
func (v Version) String() string { return hex.EncodeToString(v[:]) }

// Salt goes into the versions of a workspace. Without it, somebody who knows a version
// and all else that is served could try out what a confidential criterion
// compares with. The zero Salt is for a directory, whose versions are the same on
// every machine.
type Salt [16]byte

// SaltOf is the salt that a workspace's secret leads to, which tells nothing of the
// secret.
func SaltOf(secret []byte) Salt {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("versions of environments"))
	return Salt(mac.Sum(nil)[:len(Salt{})])
}

// After is the version once rules on the current time have turned, given the
// last moment at which they did; 0 for none.
func (v Version) After(turn int64) Version {
	if turn == 0 {
		return v
	}
	hash := sha256.Sum256(binary.BigEndian.AppendUint64(v[:], uint64(turn)))
	return Version(hash[:])
}

// With is the version where something else is served beside what it stands for.
func (v Version) With(other []byte) Version {
	hash := sha256.Sum256(append(append([]byte("with"), v[:]...), other...))
	return Version(hash[:])
}

// Environment is the versions of an environment.
type Environment struct {
	SDK Version
	// Client is without regard to time; Turns are when After changes it.
	Client Version
	Turns  evaluation.Turns
}

// ClientAfter is the text of the client version, given the last moment at which
// a rule has turned; 0 for none.
func (e Environment) ClientAfter(turn int64) string { return e.Client.After(turn).String() }

// State is what all environments of a workspace are served, as far as versions
// tell it. The zero State is that of a workspace without documents. It may be
// read concurrently.
type State struct {
	everywhere scope
	own        map[string]scope // by environment
	segments   map[string]segment
}

// scope is what documents contribute in one scope. A scope without entries is
// the zero scope, but for maps that are empty.
type scope struct {
	Entries    int            `json:"entries"`
	SDK        sum            `json:"sdk"`
	Client     sum            `json:"client"`
	References map[string]int `json:"references,omitempty"` // clients' references to segments, by key: how many
	Moments    map[int64]int  `json:"moments,omitempty"`    // at which rules for clients turn: how many
	Volatile   int            `json:"volatile,omitzero"`    // how many entries have rules that turn all the time
}

// segment is what clients need of one.
type segment struct {
	Sum        sum              `json:"sum"`
	References []string         `json:"references,omitempty"`
	Turns      evaluation.Turns `json:"turns,omitzero"`
}

// Clone makes a copy that can be changed.
func (s *State) Clone() *State {
	c := &State{everywhere: s.everywhere.clone(), own: map[string]scope{}, segments: maps.Clone(s.segments)}
	for name, scope := range s.own {
		c.own[name] = scope.clone()
	}
	return c
}

func (s scope) clone() scope {
	s.References, s.Moments = maps.Clone(s.References), maps.Clone(s.Moments)
	return s
}

// Bytes is about what the State takes in memory.
func (s *State) Bytes() int64 {
	const each = 100 // of whatever stands in a map
	n := s.everywhere.size() + 4*len(s.segments)
	for _, scope := range s.own {
		n += 2 + scope.size()
	}
	return each * int64(n)
}

func (s scope) size() int { return len(s.References) + len(s.Moments) }

// Add counts a document in, under the key that its file has. No two documents of
// a State have one key, so what is replaced is removed first.
func (s *State) Add(key string, tree *jsontree.Node, view *document.Document) {
	s.change(PartOf(key, tree, view), 1)
}

// Remove undoes Add. The document is the one that was added.
func (s *State) Remove(key string, tree *jsontree.Node, view *document.Document) {
	s.change(PartOf(key, tree, view), -1)
}

// Put is Add for a document whose part is known.
func (s *State) Put(p *Part) { s.change(p, 1) }

// Part is what a document contributes. It never changes, and holds nothing of the
// document.
type Part struct {
	key     string
	common  entry
	own     []ownEntry
	segment *segment // what clients need of it, when it is one
}

// ownEntry is what a document contributes to one environment.
type ownEntry struct {
	environment string
	entry
}

// In is the part without what is another environment's.
func (p *Part) In(environment string) *Part {
	only := *p
	only.own = nil
	for i := range p.own {
		if p.own[i].environment == environment {
			only.own = p.own[i : i+1 : i+1]
		}
	}
	only.own = slices.Clone(only.own)
	return &only
}

// PartOf finds out what a document contributes, under the key that its file has.
func PartOf(key string, tree *jsontree.Node, view *document.Document) *Part {
	p := &Part{key: key}
	everywhere := project.DeliveredEverywhere(key, tree, view)
	if everywhere != nil {
		p.common.sdk = digest("document", key, everywhere)
	}
	evaluated := project.Evaluated(key, tree, view, everywhere)
	if evaluated != nil {
		p.common.serve(view.Default)
		if p.common.client = p.common.sdk; evaluated != everywhere { // which is rare
			p.common.client = digest("document", key, evaluated)
		}
	}
	seen := map[string]bool{}
	for i, node := range tree.Get("environments").Elements() {
		name, named := node.Get("id").Text()
		if !named || seen[name] {
			continue // the first one counts
		}
		seen[name] = true
		var own entry
		delivered := project.DeliveredOwn(node)
		switch {
		case p.common.sdk == sum{}: // it is delivered nowhere
		case delivered == nil:
			own.sdk = sum{}.minus(p.common.sdk)
		default:
			own.sdk = digest("entry", key, delivered)
		}
		if evaluated != nil {
			if shown := project.EvaluatedScope(node); everywhere != nil && shown == delivered {
				own.client = own.sdk
			} else {
				own.client = digest("entry", key, shown)
			}
			own.serve(view.Environments[i].Rules)
		}
		p.own = append(p.own, ownEntry{name, own})
	}
	if view.Type == document.Segment {
		// Members are told by the default rules alone.
		p.segment = &segment{
			Sum:        digest("segment", key, tree.Get("default").Get("rules")),
			References: evaluation.SegmentsOf(view.Default),
			Turns:      evaluation.TurnsOf(view.Default),
		}
	}
	return p
}

func (s *State) change(p *Part, by int) {
	s.everywhere.change(&p.common, by)
	for i := range p.own {
		own := &p.own[i]
		in := s.own[own.environment]
		in.change(&own.entry, by)
		if s.own == nil {
			s.own = map[string]scope{}
		}
		if s.own[own.environment] = in; in.Entries == 0 {
			delete(s.own, own.environment)
		}
	}
	switch {
	case p.segment == nil:
	case by < 0:
		delete(s.segments, p.key)
	default:
		if s.segments == nil {
			s.segments = map[string]segment{}
		}
		s.segments[p.key] = *p.segment
	}
}

// entry is what a document contributes in a scope.
type entry struct {
	sdk, client sum
	references  []string         // of clients to segments
	turns       evaluation.Turns // of rules for clients
}

// serve notes the rules that clients are served.
func (e *entry) serve(rules []document.Rule) {
	e.references, e.turns = evaluation.SegmentsOf(rules), evaluation.TurnsOf(rules)
}

func (s *scope) change(e *entry, by int) {
	s.Entries += by
	if by > 0 {
		s.SDK, s.Client = s.SDK.plus(e.sdk), s.Client.plus(e.client)
	} else {
		s.SDK, s.Client = s.SDK.minus(e.sdk), s.Client.minus(e.client)
	}
	for _, key := range e.references {
		s.References = count(s.References, key, by)
	}
	for _, moment := range e.turns.Moments {
		s.Moments = count(s.Moments, moment, by)
	}
	if e.turns.Volatile {
		s.Volatile += by
	}
}

func count[K comparable](counts map[K]int, key K, by int) map[K]int {
	if counts == nil {
		counts = map[K]int{}
	}
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
	return counts
}

// Of is the versions of an environment. One that no document names is served
// the default rules.
func (s *State) Of(environment string, salt Salt) Environment {
	own := s.own[environment]
	client := s.everywhere.Client.plus(own.Client)
	turns := evaluation.Turns{Volatile: s.everywhere.Volatile+own.Volatile > 0}
	turns.Moments = slices.AppendSeq(slices.Collect(maps.Keys(s.everywhere.Moments)), maps.Keys(own.Moments))
	for key := range s.reached(own) {
		segment := s.segments[key]
		client = client.plus(segment.Sum)
		turns.Moments = append(turns.Moments, segment.Turns.Moments...)
		turns.Volatile = turns.Volatile || segment.Turns.Volatile
	}
	return Environment{
		SDK:    s.everywhere.SDK.plus(own.SDK).version(salt, "sdk", environment),
		Client: client.version(salt, "client", environment),
		Turns:  evaluation.Turns{Moments: distinct(turns.Moments), Volatile: turns.Volatile},
	}
}

// reached are the segments that there are of those that clients of an
// environment come to, by key.
func (s *State) reached(own scope) map[string]bool {
	reached := map[string]bool{}
	var queue []string
	visit := func(key string) {
		if _, there := s.segments[key]; there && !reached[key] {
			reached[key] = true
			queue = append(queue, key)
		}
	}
	for key := range s.everywhere.References {
		visit(key)
	}
	for key := range own.References {
		visit(key)
	}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		for _, next := range s.segments[key].References {
			visit(next)
		}
	}
	return reached
}
