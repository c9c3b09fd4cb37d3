package edit

import (
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Pause has a scope serve everybody one value, by a rule before all of its others; these
// stay as they are. A bool flag serves false where no value is given (nil), and a scope
// that is paused already serves the new value.
//
// An environment that inherits is given a copy of the default rules, so that what is
// written beneath the pause is its own.
func Pause(tree *jsontree.Node, scope string, serve *jsontree.Node) (*Edited, error) {
	s, err := openScope(tree, scope)
	if err != nil {
		return nil, err
	}
	valueType := valueTypeOf(tree)
	if serve == nil {
		if valueType != document.BoolValue {
			return nil, refuse(document.Issue{Pointer: "/serve", Message: "serve is missing: a pause serves everybody one value, here of type " + document.Words(string(valueType)) + "; only a bool flag has one by itself, false"})
		}
		serve = jsontree.NewBool(false)
	}
	typed, problem := TypedValue(valueType, serve)
	if problem != "" {
		return nil, refuse(document.Issue{Pointer: "/serve", Message: problem})
	}
	secret, _ := variantsOf(tree).secrecyOf(typed)
	if fallback := document.StoredFallback(s.rules); fallback != nil {
		secret.Confidential = secret.Confidential || document.SecrecyOf(fallback.Get("value")).Confidential
	}
	secret.DecryptWith = "" // it is sent as it is
	mark(typed, secret)
	rule := document.StoredPause(s.rules)
	if rule == nil || len(s.own) == 0 && scope != document.DefaultScope {
		rest := s.rules
		if rule != nil { // that of the default rules
			rest = rest[1:]
		}
		rule = unconditional(typed)
		rule.Set("paused", jsontree.NewBool(true))
		if added := s.added(); added != "" {
			rule.Set("inherited", jsontree.NewString(added))
		}
		s.rules = slices.Concat([]*jsontree.Node{rule}, rest)
	} else if document.Meaning(rule.Get("value")) != document.Meaning(typed) {
		rule.Set("value", typed)
	}
	return s.close(s.rules, false)
}

// added is what the document lacks of a place for the scope's own rules.
func (s *openedScope) added() string {
	holder, _, _ := findScope(s.tree, s.scope)
	switch {
	case s.scope == document.DefaultScope || len(s.own) > 0:
		return ""
	case !holder.Absent():
		return document.AddedRules
	case s.tree.Get("environments").Absent():
		return document.AddedEnvironments
	}
	return document.AddedEntry
}

// Resume takes the pause of a scope away. An environment that inherited before inherits
// again, unless its rules are no longer those that it inherits.
func Resume(tree *jsontree.Node, scope string) (*Edited, error) {
	s, err := openScope(tree, scope)
	if err != nil {
		return nil, err
	}
	pause := document.StoredPause(s.own)
	if pause == nil {
		return s.unchanged(), nil
	}
	rest := s.rules[1:]
	added, _ := pause.Get("inherited").Text()
	inherited := document.StoredRules(tree.Get("default"))
	if document.StoredPause(inherited) != nil {
		inherited = inherited[1:]
	}
	if added == "" || !slices.EqualFunc(rest, inherited, jsontree.Equal) {
		e, err := s.close(rest, false)
		if err == nil {
			e.Detached = added != ""
		}
		return e, err
	}
	if added == document.AddedRules {
		return s.close([]*jsontree.Node{}, false)
	}
	environments := s.tree.Get("environments")
	environments.Items = slices.DeleteFunc(environments.Items, func(entry *jsontree.Node) bool {
		id, _ := entry.Get("id").Text()
		return id == scope
	})
	if added == document.AddedEnvironments && len(environments.Items) == 0 {
		s.tree.Delete("environments")
	}
	return &Edited{Tree: s.tree, Changed: true, Previously: s.previously}, nil
}
