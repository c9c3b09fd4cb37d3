package document

import (
	"slices"

	"svc.example/svc/shared/jsontree"
)

// Place says which rule list an edit sets the fallback of.
type Place struct {
	// Scope is an environment's name or DefaultScope. Whether the workspace
	// has that environment is the caller's to know.
	Scope string
	// ReplaceTargeting puts the fallback in the place of the whole list.
	ReplaceTargeting bool
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
	// Tree is the document after the edit. It is the tree that was given when
	// nothing changed, and shares no node with it otherwise.
	Tree *jsontree.Node
	// Changed is false when the document already was what the edit asks for,
	// however that is spelled.
	Changed bool
	// Rules are the scope's rules as they now stand in Tree; View is the same
	// decoded.
	Rules []*jsontree.Node
	View  []Rule
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
	// NewSplit: the fallback is a rollout where none stood; see StickBy.
	NewSplit bool
}

// StickBy makes a new split sticky by a property.
func (e *Edited) StickBy(property string) {
	split := lastOf(e.Rules).Get("value").Get("value")
	split.Set("hashByPropertyName", jsontree.NewString(property))
	e.View = decodeRules(e.Rules)
}

// SetEnabled switches the fallback of a bool flag.
func SetEnabled(tree *jsontree.Node, place Place, enabled bool) (*Edited, error) {
	return editFallback(tree, place, func(stored *jsontree.Node) (*jsontree.Node, error) {
		if t := valueTypeOf(tree); t != BoolValue {
			return nil, refuse(Issue{Pointer: "/enabled", Message: "only a bool flag can be enabled or disabled; this one is of type " + plainWords(string(t)) + ", so send value"})
		}
		return plaintext(stored, valueObject(BoolValue, jsontree.NewBool(enabled))), nil
	})
}

// SetValue makes the fallback serve one value. A fallback that is confidential
// or encrypted stays so: the value sent is ciphertext then, and a string
// whatever the type of the document.
func SetValue(tree *jsontree.Node, place Place, bare *jsontree.Node) (*Edited, error) {
	valueType := valueTypeOf(tree)
	return editFallback(tree, place, func(stored *jsontree.Node) (*jsontree.Node, error) {
		secret := secrecyOf(stored)
		typed, problem := secret.typed(valueType, bare)
		if problem != "" {
			return nil, refuse(Issue{Pointer: "/value", Message: problem})
		}
		secret = secret.or(armSecrecy(stored, typed)).or(variantsOf(tree)[meaning(typed)])
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
	rules := s.rules
	if !catchAll(lastOf(rules)) {
		rules = append(rules[:len(rules):len(rules)], s.newFallback())
	}
	fallback := lastOf(rules)
	stored := fallback.Get("value")
	value, err := makes(stored)
	if err != nil {
		return nil, err
	}
	nowPlain := keptElsewhere(stored) && !keptElsewhere(value)
	fallback.Set("value", value)
	if place.ReplaceTargeting {
		rules = rules[len(rules)-1:]
	}
	e, err := s.close(rules, place.ReplaceTargeting)
	if err == nil {
		e.NowPlain = nowPlain
		e.NewSplit = isWeighted(value) && !isWeighted(stored)
	}
	return e, err
}

// keptElsewhere says whether what a value, or an arm of it, comes to does not
// stand in the document.
func keptElsewhere(value *jsontree.Node) bool {
	name, _ := value.Get("type").Text()
	return name == string(ProvidedValue) || ownSecrecy(value).decryptWith != "" ||
		slices.ContainsFunc(armsOf(value), func(arm *jsontree.Node) bool { return keptElsewhere(arm.Get("value")) })
}

// close puts the rules into the tree and says what came of it.
func (s *openedScope) close(rules []*jsontree.Node, replaced bool) (*Edited, error) {
	e := &Edited{Tree: s.tree, Changed: true, Rules: rules, Previously: s.previously}
	s.store(rules)
	if replaced {
		e.ReplacedTargetingRuleCount = targetingCount(s.own)
	} else {
		e.PreservedTargetingRuleCount = targetingCount(rules)
	}
	if jsontree.Equal(s.given, s.tree) {
		e.Tree, e.Rules, e.Changed = s.given, s.own, false
	} else if problem := StorageProblem(s.tree); problem != "" {
		return nil, refuse(Issue{Message: problem})
	}
	e.View = decodeRules(e.Rules)
	return e, nil
}

// targetingCount counts the rules before the fallback.
func targetingCount(rules []*jsontree.Node) int {
	if catchAll(lastOf(rules)) {
		return len(rules) - 1
	}
	return len(rules)
}

func decodeRules(rules []*jsontree.Node) []Rule {
	var d decoder
	view := make([]Rule, 0, len(rules))
	for _, rule := range rules {
		view = append(view, d.rule(rule, ""))
	}
	return view
}

// catchAll says whether a stored rule's only criterion is ALWAYS_TRUE.
func catchAll(rule *jsontree.Node) bool {
	criteria := rule.Get("criteria")
	if criteria == nil || len(criteria.Items) != 1 {
		return false
	}
	operator, _ := criteria.Items[0].Get("operator").Text()
	return operator == AlwaysTrue
}

// unconditional makes a rule that serves a value to everyone.
func unconditional(value *jsontree.Node) *jsontree.Node {
	always := jsontree.NewObject(jsontree.Field("operator", jsontree.NewString(AlwaysTrue)))
	return jsontree.NewObject(
		jsontree.Field("criteria", jsontree.NewArray(always)),
		jsontree.Field("value", value))
}

func lastOf(nodes []*jsontree.Node) *jsontree.Node {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[len(nodes)-1]
}
