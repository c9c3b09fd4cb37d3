package project

import (
	"crypto/sha256"
	"encoding/json"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Serving is what a scope serves, in short: after so many targeting rules one value to
// everyone else, or a split; neither where no rule holds for everyone.
type Serving struct {
	Rules  int  `json:"rules,omitempty"`
	Paused bool `json:"paused,omitempty"`
	*ShortValue
	Split []Share `json:"split,omitempty"`
}

// ShortValue is a bare value. What is long is cut, and then a string.
type ShortValue struct {
	Value        json.RawMessage `json:"value,omitempty"` // nil: it is confidential or provided
	Confidential bool            `json:"confidential,omitempty"`
	Truncated    bool            `json:"truncated,omitempty"`
}

// Share is one value of a split.
type Share struct {
	ShortValue
	Percent float64 `json:"percent"`
}

const (
	maxShown  = 100 // characters of a value
	maxShares = 10
)

// Servings are what all scopes of a document serve: the default rules first, then each
// environment that has an entry.
type Servings []scopeServing

type scopeServing struct {
	scope  string
	text   json.RawMessage // a Serving
	due    []dueServing    // what is served in its place; see document.Outcome
	shown  ShortValue      // what everyone gets
	digest string          // of that in full; "": not everyone gets the same
	paused bool
	timed  bool // something is scheduled
}

type dueServing struct {
	from time.Time
	text json.RawMessage
}

// at is what is served at a time.
func (s scopeServing) at(now time.Time) json.RawMessage {
	for _, due := range s.due {
		if due.from.Before(now) {
			return due.text
		}
	}
	return s.text
}

// Timed are the scopes of an item that are paused, and in which something is scheduled.
type Timed struct {
	Paused    []string `json:"paused,omitempty"`
	Scheduled []string `json:"scheduled,omitempty"`
}

// ServingsOf sums up what a document serves.
func ServingsOf(d *document.Document) Servings {
	all := Servings{servingOf(d, document.DefaultScope)}
	for _, e := range d.Environments {
		all = append(all, servingOf(d, e.ID))
	}
	return all
}

func servingOf(d *document.Document, scope string) scopeServing {
	outcome := d.OutcomeIn(scope)
	serving, s := Serving{Rules: outcome.Targeting}, scopeServing{scope: scope}
	rules := d.Default
	if scope != document.DefaultScope {
		rules, _ = d.Own(scope)
	}
	s.paused = len(rules) > 0 && rules[0].Paused
	s.timed = slices.ContainsFunc(rules, func(r document.Rule) bool { return r.Schedule != "" })
	serving.Paused = s.paused
	for _, due := range outcome.Due {
		text, _ := json.Marshal(Serving{Rules: due.Targeting}.of(&due.Else)) // of what was JSON
		s.due = append(s.due, dueServing{due.From, text})
	}
	serving = serving.of(outcome.Else)
	if value := outcome.Else; serving.ShortValue != nil {
		shown := *serving.ShortValue
		switch digest := sha256.Sum256([]byte(value.Served().Canonical())); {
		case shown.Confidential && len(rules) > 1: // whether all of them are the same is not to be told
		case shown.Confidential:
			s.shown, s.digest = shown, scope // nor whether another scope has the same
		case outcome.Everyone:
			s.shown, s.digest = shown, string(digest[:])
		}
	}
	s.text, _ = json.Marshal(serving) // of what was JSON
	return s
}

// of is the serving of a value, nil for none.
func (s Serving) of(value *document.Value) Serving {
	switch {
	case value == nil:
	case value.Weighted != nil:
		s.Split = sharesOf(value.Weighted)
	case value.Content != nil:
		shown := shorten(*value)
		s.ShortValue = &shown
	}
	return s
}

func sharesOf(split *document.Weighted) []Share {
	total := int64(0)
	for _, arm := range split.Arms {
		total += arm.Weight
	}
	shares := []Share{}
	for _, arm := range split.Arms {
		if arm.Weight > 0 && len(shares) < maxShares {
			percent := math.Round(float64(arm.Weight)/float64(total)*100_000) / 1000
			shares = append(shares, Share{shorten(arm.Value), percent})
		}
	}
	return shares
}

func shorten(value document.Value) ShortValue {
	if value.Secret() || value.Content == nil {
		return ShortValue{Confidential: value.Secret()}
	}
	served := value.Served()
	text, isText := served.Text()
	if !isText {
		text = string(served.Compact())
	}
	if utf8.RuneCountInString(text) <= maxShown {
		return ShortValue{Value: served.Compact()}
	}
	cut := string([]rune(text[:min(len(text), maxShown*utf8.UTFMax)])[:maxShown])
	return ShortValue{Value: jsontree.NewString(cut).Compact(), Truncated: true}
}

// Timed are those of the default rules, and of these environments.
func (s Servings) Timed(environments []document.Active) (t Timed) {
	for _, one := range s {
		if one.scope != document.DefaultScope && !slices.ContainsFunc(environments, func(e document.Active) bool { return e.Name == one.scope }) {
			continue
		}
		if one.paused {
			t.Paused = append(t.Paused, one.scope)
		}
		if one.timed {
			t.Scheduled = append(t.Scheduled, one.scope)
		}
	}
	return t
}

// Turns are the times at which something else is served than before, in no order.
func (s Servings) Turns() (all []time.Time) {
	for _, one := range s {
		for _, due := range one.due {
			all = append(all, due.from)
		}
	}
	return all
}

// In is what the default rules and those environments serve that have an entry, at a time,
// as an object.
func (s Servings) In(environments []document.Active, now time.Time) json.RawMessage {
	shown := map[string]json.RawMessage{}
	for _, one := range s {
		if one.scope == document.DefaultScope || slices.ContainsFunc(environments, func(e document.Active) bool { return e.Name == one.scope }) {
			shown[one.scope] = one.at(now)
		}
	}
	object, _ := json.Marshal(shown) // a map for each row takes several times as much
	return object
}

// One is the value that everyone is served in all of these environments, and whether
// there is one.
func (s Servings) One(environments []document.Active) (value ShortValue, is bool) {
	digest := ""
	for i := range max(1, len(environments)) {
		one := s[0]
		for _, own := range s[1:] {
			if i < len(environments) && own.scope == environments[i].Name {
				one = own
				break
			}
		}
		if one.digest == "" || digest != "" && one.digest != digest {
			return ShortValue{}, false
		}
		digest, value = one.digest, one.shown
	}
	return value, true
}

// Bytes is about what they take in memory.
func (s Servings) Bytes() (n int64) {
	for i := range s {
		n += servingBytes + int64(len(s[i].text)+len(s[i].shown.Value))
		for _, due := range s[i].due {
			n += dueBytes + int64(len(due.text))
		}
	}
	return n
}

const (
	servingBytes = 216
	dueBytes     = 48
)
