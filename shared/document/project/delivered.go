package project

import (
	"cmp"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Delivered is a document as applications get it that evaluate in their own
// process, for one environment: {"id", "key", "type", "valueType",
// "sendToClientSdk", "default", "environment", "variants"?}, with the default
// rules and the environment's own entry, null when it has none. It is nil when
// it cannot be served there: a criterion compares with a confidential value.
func Delivered(key string, tree *jsontree.Node, view *document.Document, environment string) *jsontree.Node {
	row := DeliveredEverywhere(key, tree, view)
	if row == nil {
		return nil
	}
	for _, entry := range tree.Get("environments").Elements() {
		if id, ok := entry.Get("id").Text(); ok && id == environment {
			own := DeliveredOwn(entry)
			if own == nil {
				return nil
			}
			row.Set("environment", own)
			break
		}
	}
	return row
}

// DeliveredEverywhere is what Delivered is for an environment without an entry.
func DeliveredEverywhere(key string, tree *jsontree.Node, view *document.Document) *jsontree.Node {
	rules := defaultRules(tree)
	if comparesWithConfidential(rules) {
		return nil
	}
	row := delivered(key, view, without(confidential, rules))
	if len(view.Variants) > 0 && !view.Confidential {
		row.Set("variants", tree.Get("variants"))
	}
	return row
}

// DeliveredOwn is an environment's entry as Delivered has it, nil when the
// document cannot be served there.
func DeliveredOwn(entry *jsontree.Node) *jsontree.Node {
	if comparesWithConfidential(entry) {
		return nil
	}
	return without(confidential, entry)
}

// Evaluated is all of a document that decides what browsers are answered in an
// environment without an entry; nil for one that no browser is served. Where that
// is what is delivered everywhere, given that, it is the same node.
func Evaluated(key string, tree *jsontree.Node, view *document.Document, everywhere *jsontree.Node) *jsontree.Node {
	if view.Type != document.Flag && (view.Type != document.Config || !view.SendToClientSDK) {
		return nil
	}
	var variants *jsontree.Node
	described := false
	if len(view.Variants) > 0 && !view.Confidential {
		variants = jsontree.NewArray()
		for _, variant := range tree.Get("variants").Elements() {
			described = described || variant.Get("description") != nil
			variants.Items = append(variants.Items, variant.Without("description"))
		}
	}
	rules := defaultRules(tree)
	shown := EvaluatedScope(rules)
	if everywhere != nil && shown == rules && !described {
		return everywhere
	}
	row := delivered(key, view, shown)
	if variants != nil {
		row.Set("variants", variants)
	}
	return row
}

// EvaluatedScope is what of an environment's entry, or of a segment's default
// rules, decides what browsers are answered.
func EvaluatedScope(scope *jsontree.Node) *jsontree.Node { return without(withheld, scope) }

func delivered(key string, view *document.Document, rules *jsontree.Node) *jsontree.Node {
	return jsontree.NewObject(
		jsontree.Field("id", jsontree.NewString(cmp.Or(view.ID, key))),
		jsontree.Field("key", jsontree.NewString(key)),
		jsontree.Field("type", jsontree.NewString(string(view.Type))),
		jsontree.Field("valueType", jsontree.NewString(string(view.ValueType))),
		jsontree.Field("sendToClientSdk", jsontree.NewBool(view.SendToClientSDK)),
		jsontree.Field("default", rules),
		jsontree.Field("environment", null),
	)
}

// defaultRules is the default scope with nothing beside its rules.
func defaultRules(tree *jsontree.Node) *jsontree.Node {
	rules := tree.Get("default").Get("rules")
	if rules == nil {
		rules = jsontree.NewArray()
	}
	return jsontree.NewObject(jsontree.Field("rules", rules))
}

// null is shared: nothing changes a scalar.
var null, _ = jsontree.Parse([]byte("null"))

func comparesWithConfidential(scope *jsontree.Node) bool {
	return slices.ContainsFunc(scope.Get("rules").Elements(), func(rule *jsontree.Node) bool {
		return slices.ContainsFunc(rule.Get("criteria").Elements(), func(criterion *jsontree.Node) bool {
			return confidential(criterion.Get("valueToMatch"))
		})
	})
}

// without leaves out the content of those values that are hidden. What it
// changes it has copied: the trees are the workspace's.
func without(hidden func(value *jsontree.Node) bool, scope *jsontree.Node) *jsontree.Node {
	found := false
	eachValue(scope, func(value *jsontree.Node) { found = found || hidden(value) })
	if !found {
		return scope
	}
	scope = scope.Clone()
	eachValue(scope, func(value *jsontree.Node) {
		if hidden(value) {
			value.Delete("value")
		}
	})
	return scope
}

// eachValue visits the values that a scope's rules serve. It does not look into
// them: a JSON value may hold anything.
func eachValue(scope *jsontree.Node, visit func(value *jsontree.Node)) {
	for _, rule := range scope.Get("rules").Elements() {
		visit(rule.Get("value"))
		for _, arm := range document.StoredArms(rule.Get("value")) {
			visit(arm.Get("value"))
		}
	}
}

// confidential reports whether a value has content that leaves the control plane
// in no way.
func confidential(value *jsontree.Node) bool {
	return value.Get("value") != nil && document.OwnSecrecy(value).Confidential && !document.KeptElsewhere(value)
}

// withheld reports whether a value has content that no browser is sent.
func withheld(value *jsontree.Node) bool {
	return value.Get("value") != nil && (document.OwnSecrecy(value).Confidential || document.KeptElsewhere(value))
}
