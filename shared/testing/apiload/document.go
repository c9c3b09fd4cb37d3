// Package apiload is many clients at work on the control plane's HTTP API, and
// the judges of what they saw. Tests of every way to run the control plane use
// it; nothing else imports it.
//
// What a load does is recorded and judged afterwards, by two judges:
//
//   - porcupine searches for an order of all requests, key by key, in which a
//     model of the contract gives the same answers. Keys that differ in case
//     only are one, as in the contract. A request without an answer (a client
//     that gave up, a server that was killed, 503) stays open: it may have
//     happened at any time from then on, or not at all.
//   - The history of the repository, as git tells it, is the one order of all
//     writes. The acknowledged writes and their previousCommitSha must be
//     exactly it, in an order that agrees with the clock, and each list must
//     be what one commit held.
//
// What must stay true:
//
//   - The model is written from the contract and shares no code with the
//     server. The server is reached by HTTP alone, and git by its program.
//   - Clients share principals, in pairs, and the two of a pair send the same
//     requests at the same moment: whose commit it was is all that tells their
//     writes apart.
//   - A test of a store also shows that the store is caught when it is broken on
//     purpose (Judges.Catch).
//   - Nothing is decided by how long something takes. Every choice comes from
//     a seed, which is logged; SVC_TEST_SEED makes the same choices again,
//     though the machine will order them differently.
package apiload

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// What the contract says of documents, as far as the tests' requests need it:
// written again here, so that the server is not held against itself.

// Object is a JSON object.
type Object = map[string]any

// parse reads JSON. Numbers stay as they are written.
func parse(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	return value, err
}

// Canonical spells a JSON value in one way: documents are deep-equal when
// their canonical texts are. The server stamps $schema, so it is left out.
func Canonical(value any) string {
	if document, ok := value.(Object); ok && document["$schema"] != nil {
		rest := Object{}
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
func reading(text string) Object {
	value, err := parse([]byte(text))
	document, ok := value.(Object)
	if err != nil || !ok {
		panic(fmt.Sprintf("%q is no document", text))
	}
	return document
}

// Families are the four kinds of item that the tests write, by the folder of
// the API; what git calls the folder, and the document its type.
var Families = map[string]struct{ Folder, documentType string }{
	"flags":      {"feature-flags", "feature_flag"},
	"configs":    {"configs", "config"},
	"log-levels": {"log-levels", "log_level"},
}

func PathOf(family, key string) string {
	return Families[family].Folder + "/" + key + ".json"
}

func ValueOf(valueType string, content any) Object {
	return Object{"type": valueType, "value": content}
}

func everyone(value any) Object {
	return Object{"criteria": []any{Object{"operator": "ALWAYS_TRUE"}}, "value": value}
}

func NewDocument(documentType, valueType, key, description string, value any, variants ...any) Object {
	document := Object{
		"key": key, "type": documentType, "valueType": valueType, "access": "standard", "tags": []any{},
		"default": Object{"rules": []any{everyone(value)}}, "environments": []any{},
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
func newFlag(key, description string) Object {
	off, on := ValueOf("bool", false), ValueOf("bool", true)
	return NewDocument("feature_flag", "bool", key, description, off, Object{"value": off}, Object{"value": on})
}

func NewConfig(key, description string, value int) Object {
	typed := ValueOf("int", value)
	document := NewDocument("config", "int", key, description, typed, Object{"value": typed})
	document["sendToClientSdk"] = false
	return document
}

// rulesOf returns the rules of a scope: those that it inherits, copied, where
// it has none of its own.
func rulesOf(document Object, scope string) []any {
	if entry := entryOf(document, scope); entry != nil {
		if rules := entry["rules"].([]any); len(rules) > 0 || scope == "default" {
			return rules
		}
	}
	inherited := document["default"].(Object)["rules"].([]any)
	return reading(Canonical(Object{"rules": inherited}))["rules"].([]any)
}

func entryOf(document Object, scope string) Object {
	if scope == "default" {
		return document["default"].(Object)
	}
	for _, entry := range document["environments"].([]any) {
		if entry.(Object)["id"] == scope {
			return entry.(Object)
		}
	}
	return nil
}

func setRules(document Object, scope string, rules []any) {
	if entry := entryOf(document, scope); entry != nil {
		entry["rules"] = rules
		return
	}
	entry := Object{"id": scope, "rules": rules}
	document["environments"] = append(document["environments"].([]any), entry)
}

// setFallback makes the last rule of a scope, which every scope here has,
// serve a value to everyone.
func setFallback(document Object, scope string, value any, replaceTargeting bool) {
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
func setTarget(document Object, scope, target, level string) {
	rules := rulesOf(document, scope)
	fallback := len(rules) - 1
	list := ValueOf("string_list", []any{target})
	criterion := Object{"operator": "PROP_STARTS_WITH_ONE_OF", "propertyName": "svc-sdk-logging.key", "valueToMatch": list}
	rule := Object{"criteria": []any{criterion}, "value": ValueOf("log_level", level)}
	for i := range fallback {
		if strings.Contains(Canonical(rules[i]), `["`+target+`"]`) {
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
func split(shares []share) Object {
	var arms []any
	for _, s := range shares {
		arms = append(arms, Object{"value": ValueOf("string", s.Value), "weight": 1000 * s.Percent})
	}
	return ValueOf("weighted_values", Object{"hashByPropertyName": "user.key", "weightedValues": arms})
}

// Seed chooses what a test's choices come from.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("SVC_TEST_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("SVC_TEST_SEED=%d makes the same choices", seed)
	return seed
}

// Random are the choices of one of those who act in a test.
func Random(seed uint64, who int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(who)))
}

func OneOf[T any](r *rand.Rand, choices ...T) T {
	return choices[r.IntN(len(choices))]
}

// The items that are there from the start. What the clients create is called
// fresh-0, fresh-1 and so on, in several spellings.
const (
	boolFlag    = "redesign"
	stringFlag  = "headline"
	IntConfig   = "timeout"
	serviceLogs = "log-level.shop"
)

//go:embed fixture
var fixture embed.FS

// Fixture is what the clients find, by path.
func Fixture() map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(fixture, "fixture", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var text []byte
			text, err = fixture.ReadFile(path)
			files[strings.TrimPrefix(path, "fixture/")] = string(text)
		}
		return err
	})
	if err != nil {
		panic(err) // it is in the program
	}
	return files
}

// Items are those of them that the API tells a history of: family and key.
var Items = [][2]string{{"flags", boolFlag}, {"flags", stringFlag}, {"configs", IntConfig}}

// flagFile is a flag of an ordinary size, a bit more than a kilobyte.
//
//go:embed flag.json.txt
var flagFile string

// FlagKey is the key of one of ManyFlags.
func FlagKey(i int) string { return fmt.Sprintf("team%d.feature-%d", i%20, i) }

// ManyFlags are the files of a workspace of so many flags.
func ManyFlags(flags int) map[string]string {
	files := map[string]string{"svc.json": "{\n  \"environments\": [\n    \"development\",\n    \"production\"\n  ]\n}\n"}
	for i := range flags {
		files[PathOf("flags", FlagKey(i))] = fmt.Sprintf(flagFile, FlagKey(i), i, i%50)
	}
	return files
}
