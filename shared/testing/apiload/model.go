package apiload

import (
	"fmt"
	"slices"
	"sync"
)

// state is all there is to know of the keys of one pool: who holds them, the
// document, and its commitSha.
type state struct {
	family, key string // "" when nobody holds a key of the pool
	text        string // canonical
	// commit is "" after a write whose answer nobody got, until it is read.
	commit string
}

func (s state) String() string {
	return fmt.Sprintf("%s/%s %.8s %s", s.family, s.key, s.commit, s.text)
}

// model is the contract for one pool of keys.
type model struct {
	// stored is what a commit holds under a path, by git's account: what a
	// token stands for.
	stored *stored
	// made are the commits that a request without an answer may have made.
	made map[*Answer]made
	// earlier is the commit that wrote a path before a commit did.
	earlier map[string]string
	history *History

	mu    sync.Mutex
	known map[edit]edited
}

// edit is an operation on a document; edited is what comes of it.
type (
	edit struct {
		text string
		op   *Operation
	}
	edited struct{ text, rules string }
)

// outcome is what the contract says to an operation.
type outcome struct {
	status  int
	code    string
	holder  string
	next    state
	lands   bool // as a commit
	changed bool
	created bool
	text    string // what the answer shows of the document
	unnamed bool   // the answer names the head, and no commit of the item
}

// step reports whether the contract allows an answer, and what holds afterwards.
// It binds the commit that a state was in doubt of.
func (m *model) step(s state, o *Operation, a *Answer) (bool, state) {
	if o.Kind == ReadRow {
		return m.row(s, o, a)
	}
	for _, want := range m.outcomes(s, o) {
		if a.Open {
			return m.unanswered(s, want, o, a)
		}
		if ok, next := m.matches(s, want, a); ok {
			return true, next
		}
	}
	return a.Open, s
}

func (m *model) matches(s state, want outcome, a *Answer) (bool, state) {
	if a.Status != want.status || a.Code != want.code || a.Holder != want.holder ||
		a.Changed != want.changed || a.Created != want.created || a.Text != want.text {
		return false, s
	}
	switch {
	case want.status != 200:
		return a.Commit == "" && a.Previous == "", s
	case want.lands && want.next == state{}: // deleted
		return a.Commit != "" && m.stored.at(a.Commit, PathOf(s.family, s.key)).blob == "", want.next
	case want.lands:
		want.next.commit = a.Commit
		return a.Commit != "" && m.agrees(want.next), want.next
	}
	if want.unnamed {
		return a.Previous == "", s
	}
	ok, next := m.bind(s, a.Commit)
	return ok && a.Previous == "", next
}

// bind compares the commit that an answer names with the state's.
func (m *model) bind(s state, commit string) (bool, state) {
	if s.commit != "" {
		return s.commit == commit, s
	}
	s.commit = commit
	return m.agrees(s), s
}

// agrees reports whether git has under the commit what the state says.
func (m *model) agrees(s state) bool {
	return m.stored.text(s.commit, PathOf(s.family, s.key)) == s.text
}

// row is what a list shows of a pool: the one who holds the key, if it is of
// the list's family.
func (m *model) row(s state, o *Operation, a *Answer) (bool, state) {
	if s.family != o.Family {
		return len(a.Listed) == 0, s
	}
	commit, shown := a.Listed[s.key]
	if !shown || len(a.Listed) != 1 {
		return false, s
	}
	return m.bind(s, commit)
}

// outcomes are what the contract allows: one, but for a token of which it
// cannot be told whether it holds.
func (m *model) outcomes(s state, o *Operation) []outcome {
	held := s.family == o.Family && s.key == o.Key
	switch {
	case o.Kind == Restore:
		return m.restoration(s, o, held)
	case o.Kind == Undo:
		return m.undoing(s, o, held)
	case o.Kind == Create || o.Kind == Level && !held && o.Token == "":
		return []outcome{m.creation(s, o)}
	case !held:
		return []outcome{{status: 404, next: s}}
	case o.Kind == ReadDetail:
		return []outcome{{status: 200, next: s, text: Canonical(detailOf(reading(s.text)))}}
	case o.Kind == ReadDocument:
		return []outcome{{status: 200, next: s, text: s.text}}
	}
	return m.writes(s, o)
}

func (m *model) creation(s state, o *Operation) outcome {
	if s.family != "" {
		return outcome{status: 409, code: "ALREADY_EXISTS", holder: Families[s.family].documentType + " " + s.key, next: s}
	}
	text := Canonical(o.first())
	done := outcome{status: 200, next: state{family: o.Family, key: o.Key, text: text}, lands: true, text: text}
	if o.Kind == Level {
		done.created, done.changed, done.text = true, true, ""
	}
	return done
}

// first is the document that an operation creates.
func (o *Operation) first() Object {
	switch o.Family {
	case "flags":
		return newFlag(o.Key, o.Description)
	case "configs":
		return NewConfig(o.Key, o.Description, o.Value.(int))
	}
	return NewDocument("log_level", "log_level", o.Key, "", ValueOf("log_level", o.Level))
}

// restoration brings back what a commit holds, byte for byte.
func (m *model) restoration(s state, o *Operation, held bool) []outcome {
	path := PathOf(o.Family, o.Key)
	then := m.stored.at(o.Commit, path)
	unchanged := outcome{status: 200, next: s}
	changed := outcome{status: 200, next: state{family: o.Family, key: o.Key, text: then.text}, lands: true, changed: true}
	switch {
	case then.blob == "" && held:
		return []outcome{{status: 422, next: s}}
	case then.blob == "": // there may never have been one
		return []outcome{{status: 422, next: s}, {status: 404, next: s}}
	case s.family != "" && !held:
		return []outcome{{status: 409, code: "ALREADY_EXISTS", holder: Families[s.family].documentType + " " + s.key, next: s}}
	case !held || then.text != s.text:
		return []outcome{changed}
	case s.commit == "":
		return []outcome{unchanged, changed}
	case m.stored.at(s.commit, path).blob == then.blob:
		return []outcome{unchanged}
	}
	return []outcome{changed}
}

// undoing takes back a commit whose content stands, as the token demands: what was
// before it comes back, byte for byte.
func (m *model) undoing(s state, o *Operation, held bool) []outcome {
	path := PathOf(o.Family, o.Key)
	c := m.history.Commits[m.history.Position[o.Commit]]
	stale := outcome{status: 409, code: "STALE_COMMIT_SHA", next: s}
	done := outcome{status: 200, lands: true, changed: true}
	if before := m.stored.at(c.Parent(), path); before.blob != "" {
		done.next = state{family: o.Family, key: o.Key, text: before.text}
	}
	switch {
	case !slices.Contains(c.Paths, path) && held:
		return []outcome{{status: 422, next: s}}
	case !slices.Contains(c.Paths, path): // there may never have been one
		return []outcome{{status: 422, next: s}, {status: 404, next: s}}
	case !held && m.stored.at(o.Commit, path).blob != "":
		return []outcome{stale}
	case !held && s.family != "":
		return []outcome{{status: 409, code: "ALREADY_EXISTS", holder: Families[s.family].documentType + " " + s.key, next: s}}
	case !held:
		return []outcome{done}
	}
	switch m.holds(s, o.Token) {
	case yes:
		return []outcome{done}
	case no:
		return []outcome{stale}
	}
	return []outcome{done, stale}
}

func (m *model) writes(s state, o *Operation) []outcome {
	stale := outcome{status: 409, code: "STALE_COMMIT_SHA", next: s}
	done := outcome{status: 200, lands: true, changed: true} // of a deletion
	if o.Kind != Delete {
		after := m.edit(s.text, o)
		done = outcome{status: 200, next: s, text: after.rules, unnamed: o.Kind == Changes}
		if after.text != s.text {
			done.next.text, done.next.commit, done.lands, done.changed = after.text, "", true, true
		}
	}
	switch m.holds(s, o.Token) {
	case yes:
		return []outcome{done}
	case no:
		return []outcome{stale}
	}
	return []outcome{done, stale}
}

type verdict int

const (
	yes verdict = iota
	no
	perhaps
)

// holds reports whether the content that a token stands for is the state's. That
// is a question of bytes, which git answers once the state's commit is known.
func (m *model) holds(s state, token string) verdict {
	if token == "" {
		return yes
	}
	path := PathOf(s.family, s.key)
	meant := m.stored.at(token, path)
	switch {
	case len(token) != 40, meant.blob == "", meant.text != s.text:
		return no
	case s.commit == "":
		return perhaps
	case m.stored.at(s.commit, path).blob != meant.blob:
		return no
	}
	return yes
}

// edit is what an operation makes of a document, and the rules of its scope.
func (m *model) edit(text string, o *Operation) edited {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := edit{text, o}
	after, known := m.known[key]
	if !known {
		after = o.edits(text)
		m.known[key] = after
	}
	return after
}

func (o *Operation) edits(text string) edited {
	document := reading(text)
	switch o.Kind {
	case Put:
		return edited{text: o.Document}
	case Level:
		if o.Target != "" {
			setTarget(document, o.Scope, o.Target, o.Level)
		} else {
			setFallback(document, o.Scope, ValueOf("log_level", o.Level), false)
		}
		return edited{text: Canonical(document)}
	case Toggle:
		setFallback(document, o.Scope, ValueOf("bool", o.Enabled), o.Replace)
	case Changes:
		for _, part := range []*Operation{o, o.Also} {
			setFallback(document, part.Scope, ValueOf("bool", part.Enabled), false)
		}
		return edited{text: Canonical(document)}
	case Rollout:
		setFallback(document, o.Scope, split(o.Rollout), o.Replace)
	default:
		setFallback(document, o.Scope, ValueOf(document["valueType"].(string), o.Value), o.Replace)
	}
	return edited{Canonical(document), Canonical(rulesOf(document, o.Scope))}
}
