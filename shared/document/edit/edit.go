// Package edit makes new documents, and new versions of stored ones: a flag is
// switched, a value set, a rollout moved, a logger's level changed.
//
// What must stay true:
//
//   - An edit changes what it names and nothing else: the rest keeps its order
//     and its spelling.
//   - The tree that is given is never written to.
//   - An edit is possible whatever else is wrong with a document, as long as the
//     lists on the way to the rules that it changes are lists.
package edit

import (
	"slices"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Place says which rule list an edit sets the fallback of.
type Place struct {
	// Scope is an environment's name or DefaultScope. Whether the workspace
	// has that environment is the caller's to know.
	Scope string
	// ReplaceTargeting puts the fallback in the place of the whole list.
	ReplaceTargeting bool
	// At is when it is to be so, as RFC 3339 has it; nil for at once.
	At *string
	// Now is what the time is.
	Now time.Time
}

// Edited is what an edit made of a document.
//
// An environment without rules of its own (no entry, or one whose list is
// empty, which evaluation passes over) is given a copy of the default rules
// and then its fallback. That is a change even when the default rules serve
// the wanted value already: an environment that inherits has nothing that
// could match, and who sets production to false wants it to stay false when
// the default rules are switched on. The same edit again finds the entry and
// changes nothing. A list that ends without a fallback is given a copy of the
// default rules' one, which has held there until then.
type Edited struct {
	// Tree is the document after the edit, nil for none. It is the tree that was
	// given when nothing changed, and shares no node with it after the edit of a
	// scope.
	Tree *jsontree.Node
	// Text is how Tree is stored where it is written as it once was; nil for
	// document.Encode.
	Text []byte
	// Changed is false when the document already was what the edit asks for,
	// however that is spelled.
	Changed bool
	// Rules are the scope's rules as they now stand in Tree; View is the same
	// decoded.
	Rules []*jsontree.Node
	View  []document.Rule
	// PreservedTargetingRuleCount counts the rules that stand before the
	// fallback. It is 0 when the edit replaces targeting.
	PreservedTargetingRuleCount int
	// ReplacedTargetingRuleCount counts the scope's own rules that
	// ReplaceTargeting deleted, its fallback left out. Rules that the scope
	// only inherited are still where they were, and are not counted.
	ReplacedTargetingRuleCount int
	// Previously are the rules that held in the scope before: its own, or the
	// default rules when it had none.
	Previously []*jsontree.Node
	// NowPlain: the fallback was encrypted, or provided by the environment of the
	// applications, and is plain now.
	NowPlain bool
	// NewSplit: the scope has a rollout where none stood; see StickBy.
	NewSplit bool
	// Detached: an environment that inherited before it was paused keeps rules of its own,
	// since these or the default rules have changed meanwhile.
	Detached bool
	// Paused: the scope is paused, and nobody gets what was written beneath yet.
	Paused bool
	// Ended says of what had been scheduled in the scope that this edit ended it, and Until
	// what takes the place of what was written, "" for nothing that is said; in words.
	Ended []string
	Until string

	splits        []*jsontree.Node // that are new
	overTargeting bool             // a plan has begun in the place of all rules
	timed         bool             // what is scheduled was changed
}

// StickBy makes a new split sticky by a property.
func (e *Edited) StickBy(property string) {
	for _, split := range e.splits {
		split.Get("value").Set("hashByPropertyName", jsontree.NewString(property))
	}
	e.View = document.ReadRules(e.Rules)
}

// SetDescription is a document with another description, and with another name unless
// that is nil; "" is none.
func SetDescription(tree *jsontree.Node, name *string, description string) *jsontree.Node {
	edited := tree.Clone()
	set := func(member, text string) {
		if text == "" {
			edited.Delete(member)
			return
		}
		setInOrder(edited, member, jsontree.NewString(text))
	}
	if name != nil {
		set("name", *name)
	}
	set("description", description)
	return edited
}

// SetEnabled switches the fallback of a bool flag.
func SetEnabled(tree *jsontree.Node, place Place, enabled bool) (*Edited, error) {
	return editFallback(tree, place, func(stored *jsontree.Node) (*jsontree.Node, error) {
		if t := valueTypeOf(tree); t != document.BoolValue {
			return nil, refuse(document.Issue{Pointer: "/enabled", Message: "only a bool flag can be enabled or disabled; this one is of type " + document.Words(string(t)) + ", so send value"})
		}
		return plaintext(stored, valueObject(document.BoolValue, jsontree.NewBool(enabled))), nil
	})
}

// SetValue makes the fallback serve one value. A fallback that is confidential
// or encrypted stays so: the value sent is ciphertext then, and a string
// whatever the type of the document.
func SetValue(tree *jsontree.Node, place Place, bare *jsontree.Node) (*Edited, error) {
	valueType := valueTypeOf(tree)
	return editFallback(tree, place, func(stored *jsontree.Node) (*jsontree.Node, error) {
		secret := document.SecrecyOf(stored)
		typed, problem := typedSecret(secret, valueType, bare)
		if problem != "" {
			return nil, refuse(document.Issue{Pointer: "/value", Message: problem})
		}
		variant, _ := variantsOf(tree).secrecyOf(typed)
		secret = secret.Or(armSecrecy(stored, typed)).Or(variant)
		return servedPlain(stored, typed, secret), nil
	})
}

// editFallback sets the fallback of a rule list to the value that makes of the
// stored one (nil when there is none), and leaves the rest alone.
func editFallback(tree *jsontree.Node, place Place, makes func(stored *jsontree.Node) (*jsontree.Node, error)) (*Edited, error) {
	s, err := openScope(tree, place.Scope)
	if err != nil {
		return nil, err
	}
	l := layoutOf(s.rules)
	if place.At != nil {
		split, err := l.schedule(place, makes)
		if err != nil {
			return nil, err
		}
		e, err := s.closeTimed(l, place)
		if err == nil && e.Changed {
			e.Paused = len(l.pause) > 0
			at, _ := document.Moment(*place.At)
			e.Until = until(timeline(e.Rules), at)
			if e.NewSplit = split != nil; e.NewSplit {
				e.splits = []*jsontree.Node{split}
			}
		}
		return e, err
	}
	replaced := document.Targeting(s.own)
	// What has come by now is what is served, and what the edit begins with.
	l.settle(place.Now.Add(Slack), true)
	fallback := l.fallback
	if fallback == nil {
		fallback = unconditional(nil)
		// The default rules' one has held here until now: of a secret that was served
		// here, a copy stays one.
		if held := document.StoredFallback(document.StoredRules(tree.Get("default"))); held != nil && place.Scope != document.DefaultScope {
			fallback = held.Clone()
		}
		l.fallback = fallback
	}
	stored := fallback.Get("value")
	value, err := makes(stored)
	if err != nil {
		return nil, err
	}
	nowPlain := keptElsewhere(stored) && !keptElsewhere(value)
	fallback.Set("value", value)
	ended := l.end()
	due := l.due(place.Now)
	if place.ReplaceTargeting {
		l.over, l.targeting, l.below = nil, nil, nil
	}
	e, err := s.close(l.rules(), place.ReplaceTargeting)
	if err != nil {
		return e, err
	}
	if !place.ReplaceTargeting {
		replaced = replaced[:len(replaced)-min(len(replaced), len(l.targeting))]
	}
	e.ReplacedTargetingRuleCount = len(replaced)
	e.NowPlain = nowPlain
	if e.NewSplit = document.IsRollout(value) && !document.IsRollout(stored); e.NewSplit {
		e.splits = []*jsontree.Node{value}
	}
	if ended {
		e.Ended = append(e.Ended, "the rollout plan that stood here")
	}
	for i, at := range due {
		if place.ReplaceTargeting {
			e.Ended = append(e.Ended, "what was scheduled for "+at)
		} else if i == 0 {
			e.Until = "what is scheduled for " + at
		}
	}
	e.Paused = len(l.pause) > 0
	return e, nil
}

// keptElsewhere reports whether what a value, or an arm of it, comes to does not
// stand in the document.
func keptElsewhere(value *jsontree.Node) bool {
	return document.KeptElsewhere(value) ||
		slices.ContainsFunc(document.StoredArms(value), func(arm *jsontree.Node) bool { return keptElsewhere(arm.Get("value")) })
}

// unchanged is what came of an edit that has nothing to do.
func (s *openedScope) unchanged() *Edited {
	return &Edited{Tree: s.given, Rules: s.own, View: document.ReadRules(s.own), Previously: s.previously, PreservedTargetingRuleCount: document.TargetingCount(s.own)}
}

// close puts the rules into the tree and says what came of it.
func (s *openedScope) close(rules []*jsontree.Node, replaced bool) (*Edited, error) {
	e := &Edited{Tree: s.tree, Changed: true, Rules: rules, Previously: s.previously}
	s.store(rules)
	if !replaced {
		e.PreservedTargetingRuleCount = document.TargetingCount(rules)
	}
	if jsontree.Equal(s.given, s.tree) {
		e.Tree, e.Rules, e.Changed = s.given, s.own, false
	} else if problem := StorageProblem(s.tree); problem != "" {
		return nil, refuse(document.Issue{Message: problem})
	}
	e.View = document.ReadRules(e.Rules)
	return e, nil
}

// unconditional makes a rule that serves a value to everyone.
func unconditional(value *jsontree.Node) *jsontree.Node {
	always := jsontree.NewObject(jsontree.Field("operator", jsontree.NewString(document.AlwaysTrue)))
	return jsontree.NewObject(
		jsontree.Field("criteria", jsontree.NewArray(always)),
		jsontree.Field("value", value))
}
