package apitest

import (
	"fmt"
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

	mu    sync.Mutex
	known map[edit]edited
}

func newModel(s *stored) *model { return &model{stored: s, known: map[edit]edited{}} }

// edit is an operation on a document; edited is what comes of it.
type (
	edit struct {
		text string
		op   *operation
	}
	edited struct{ text, rules string }
)

// outcome is what the contract says to an operation.
type outcome struct {
	status  int
	code    string
	holder  string
	next    state
	changed bool
	created bool
	text    string // what the answer shows of the document
}

// step says whether the contract allows an answer, and what holds afterwards.
// It binds the commit that a state was in doubt of.
func (m *model) step(s state, o *operation, a *answer) (bool, state) {
	if o.kind == readRow {
		return m.row(s, o, a)
	}
	for _, want := range m.outcomes(s, o) {
		if a.open {
			return true, want.next.unnamed(s)
		}
		if ok, next := m.matches(s, want, a); ok {
			return true, next
		}
	}
	return a.open, s
}

// unnamed is a state whose commit nobody was told.
func (s state) unnamed(before state) state {
	if s != before {
		s.commit = ""
	}
	return s
}

func (m *model) matches(s state, want outcome, a *answer) (bool, state) {
	if a.status != want.status || a.code != want.code || a.holder != want.holder ||
		a.changed != want.changed || a.created != want.created || a.text != want.text {
		return false, s
	}
	switch {
	case want.status != 200:
		return a.commit == "" && a.previous == "", s
	case want.next != s:
		want.next.commit = a.commit
		return a.commit != "" && m.agrees(want.next), want.next
	}
	ok, next := m.bind(s, a.commit)
	return ok && a.previous == "", next
}

// bind compares the commit that an answer names with the state's.
func (m *model) bind(s state, commit string) (bool, state) {
	if s.commit != "" {
		return s.commit == commit, s
	}
	s.commit = commit
	return m.agrees(s), s
}

// agrees says whether git has under the commit what the state says.
func (m *model) agrees(s state) bool {
	return m.stored.text(s.commit, pathOf(s.family, s.key)) == s.text
}

// row is what a list shows of a pool: the one who holds the key, if it is of
// the list's family.
func (m *model) row(s state, o *operation, a *answer) (bool, state) {
	if s.family != o.family {
		return len(a.listed) == 0, s
	}
	commit, shown := a.listed[s.key]
	if !shown || len(a.listed) != 1 {
		return false, s
	}
	return m.bind(s, commit)
}

// outcomes are what the contract allows: one, but for a token of which it
// cannot be told whether it holds.
func (m *model) outcomes(s state, o *operation) []outcome {
	held := s.family == o.family && s.key == o.key
	switch {
	case o.kind == create || o.kind == level && !held && o.token == "":
		return []outcome{m.creation(s, o)}
	case !held:
		return []outcome{{status: 404, next: s}}
	case o.kind == readDetail:
		return []outcome{{status: 200, next: s, text: canonical(detailOf(reading(s.text)))}}
	case o.kind == readDocument:
		return []outcome{{status: 200, next: s, text: s.text}}
	}
	return m.writes(s, o)
}

func (m *model) creation(s state, o *operation) outcome {
	if s.family != "" {
		return outcome{status: 409, code: "ALREADY_EXISTS", holder: families[s.family].documentType + " " + s.key, next: s}
	}
	text := canonical(o.first())
	done := outcome{status: 200, next: state{family: o.family, key: o.key, text: text}, text: text}
	if o.kind == level {
		done.created, done.changed, done.text = true, true, ""
	}
	return done
}

// first is the document that an operation creates.
func (o *operation) first() object {
	switch o.family {
	case "flags":
		return newFlag(o.key, o.description)
	case "configs":
		return newConfig(o.key, o.description, o.value.(int))
	}
	return newLogLevel(o.key, o.level)
}

func (m *model) writes(s state, o *operation) []outcome {
	stale := outcome{status: 409, code: "STALE_COMMIT_SHA", next: s}
	after := m.edit(s.text, o)
	done := outcome{status: 200, next: s, text: after.rules}
	if after.text != s.text {
		done.next.text, done.next.commit, done.changed = after.text, "", true
	}
	switch m.holds(s, o.token) {
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

// holds says whether the content that a token stands for is the state's. That
// is a question of bytes, which git answers once the state's commit is known.
func (m *model) holds(s state, token string) verdict {
	if token == "" {
		return yes
	}
	path := pathOf(s.family, s.key)
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
func (m *model) edit(text string, o *operation) edited {
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

func (o *operation) edits(text string) edited {
	document := reading(text)
	switch o.kind {
	case put:
		return edited{text: o.document}
	case level:
		if o.target != "" {
			setTarget(document, o.scope, o.target, o.level)
		} else {
			setFallback(document, o.scope, valueOf("log_level", o.level), false)
		}
		return edited{text: canonical(document)}
	case toggle:
		setFallback(document, o.scope, valueOf("bool", o.enabled), o.replace)
	case rollout:
		setFallback(document, o.scope, split(o.rollout), o.replace)
	default:
		setFallback(document, o.scope, valueOf(document["valueType"].(string), o.value), o.replace)
	}
	return edited{canonical(document), canonical(rulesOf(document, o.scope))}
}
