package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// What the contract says of documents, as far as the tests' requests need it:
// written anew here, so that the server is not held against itself.

// object is a JSON object.
type object = map[string]any

// parse reads JSON. Numbers stay as they are written.
func parse(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	return value, err
}

// canonical spells a JSON value in one way: documents are deep-equal when
// their canonical texts are. The server stamps $schema, so it is left out.
func canonical(value any) string {
	if document, ok := value.(object); ok && document["$schema"] != nil {
		rest := object{}
		for name, member := range document {
			if name != "$schema" {
				rest[name] = member
			}
		}
		value = rest
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // made of what parse returns, or of literals
	}
	return string(text)
}

// reading parses a canonical text, which nobody else holds.
func reading(text string) object {
	value, err := parse([]byte(text))
	document, ok := value.(object)
	if err != nil || !ok {
		panic(fmt.Sprintf("%q is no document", text))
	}
	return document
}

// families are the four kinds of item that the tests write, by the folder of
// the API; what git calls the folder, and the document its type.
var families = map[string]struct{ folder, documentType string }{
	"flags":      {"feature-flags", "feature_flag"},
	"configs":    {"configs", "config"},
	"log-levels": {"log-levels", "log_level"},
}

func pathOf(family, key string) string {
	return families[family].folder + "/" + key + ".json"
}

func valueOf(valueType string, content any) object {
	return object{"type": valueType, "value": content}
}

func everyone(value any) object {
	return object{"criteria": []any{object{"operator": "ALWAYS_TRUE"}}, "value": value}
}

func newDocument(documentType, valueType, key, description string, value any, variants ...any) object {
	document := object{
		"key": key, "type": documentType, "valueType": valueType, "access": "standard", "tags": []any{},
		"default": object{"rules": []any{everyone(value)}}, "environments": []any{},
	}
	if description != "" {
		document["description"] = description
	}
	if len(variants) > 0 {
		document["variants"] = variants
	}
	return document
}

// newFlag, newConfig and newLogLevel are what a creation stores.
func newFlag(key, description string) object {
	off, on := valueOf("bool", false), valueOf("bool", true)
	return newDocument("feature_flag", "bool", key, description, off, object{"value": off}, object{"value": on})
}

func newConfig(key, description string, value int) object {
	typed := valueOf("int", value)
	document := newDocument("config", "int", key, description, typed, object{"value": typed})
	document["sendToClientSdk"] = false
	return document
}

func newLogLevel(key, level string) object {
	return newDocument("log_level", "log_level", key, "", valueOf("log_level", level))
}

// rulesOf returns the rules of a scope: those that it inherits, copied, where
// it has none of its own.
func rulesOf(document object, scope string) []any {
	if entry := entryOf(document, scope); entry != nil {
		if rules := entry["rules"].([]any); len(rules) > 0 || scope == "default" {
			return rules
		}
	}
	inherited := document["default"].(object)["rules"].([]any)
	return reading(canonical(object{"rules": inherited}))["rules"].([]any)
}

func entryOf(document object, scope string) object {
	if scope == "default" {
		return document["default"].(object)
	}
	for _, entry := range document["environments"].([]any) {
		if entry.(object)["id"] == scope {
			return entry.(object)
		}
	}
	return nil
}

func setRules(document object, scope string, rules []any) {
	if entry := entryOf(document, scope); entry != nil {
		entry["rules"] = rules
		return
	}
	entry := object{"id": scope, "rules": rules}
	document["environments"] = append(document["environments"].([]any), entry)
}

// setFallback makes the last rule of a scope, which every scope here has,
// serve a value to everyone.
func setFallback(document object, scope string, value any, replaceTargeting bool) {
	rules := rulesOf(document, scope)
	fallback := len(rules) - 1
	rules[fallback] = everyone(value)
	if replaceTargeting {
		rules = rules[fallback:]
	}
	setRules(document, scope, rules)
}

// setTarget sets the level of the loggers below a prefix. Of the prefixes that
// the tests use none extends another, so a new rule goes before the fallback.
func setTarget(document object, scope, target, level string) {
	rules := rulesOf(document, scope)
	fallback := len(rules) - 1
	list := valueOf("string_list", []any{target})
	criterion := object{"operator": "PROP_STARTS_WITH_ONE_OF", "propertyName": "svc-sdk-logging.key", "valueToMatch": list}
	rule := object{"criteria": []any{criterion}, "value": valueOf("log_level", level)}
	for i := range fallback {
		if strings.Contains(canonical(rules[i]), `["`+target+`"]`) {
			rules[i] = rule
			setRules(document, scope, rules)
			return
		}
	}
	setRules(document, scope, append(rules[:fallback:fallback], rule, rules[fallback]))
}

// share is one entry of a rollout.
type share struct {
	Value   string `json:"value"`
	Percent int    `json:"percent"`
}

// split is the value that a rollout stores. The tests name the shares in one
// order always, so that it is also the order in which they are stored.
func split(shares []share) object {
	var arms []any
	for _, s := range shares {
		arms = append(arms, object{"value": valueOf("string", s.Value), "weight": 1000 * s.Percent})
	}
	return valueOf("weighted_values", object{"hashByPropertyName": "user.key", "weightedValues": arms})
}
