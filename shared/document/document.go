package document

import (
	"regexp"
	"strings"
	"time"

	"svc.example/svc/shared/jsontree"
)

// MaxSize is the most bytes a stored document may have: what the API accepts
// as a request body, so that whatever a directory holds can also be written.
const MaxSize = 1 << 20

// MaxValues is how many values (objects, arrays and what they hold) a stored
// document may have. What is written for people has fewer in MaxSize; without
// white space there could be 500,000, which take 50 MB each time they are read.
const MaxValues = 100_000

// Parse reads the tree of a stored document.
func Parse(text []byte) (*jsontree.Node, error) { return ParseIn(nil, text) }

// ParseIn is Parse into memory that is used again.
func ParseIn(scratch *jsontree.Scratch, text []byte) (*jsontree.Node, error) {
	return scratch.ParseWithin(text, MaxValues)
}

// Encode is a document as it is stored: indented for people, or without white
// space where it would be larger than MaxSize otherwise.
func Encode(tree *jsontree.Node) []byte {
	if tree.EncodedSize() <= MaxSize {
		return tree.Encode()
	}
	return append(tree.Compact(), '\n')
}

// MaxName is how many characters an id and the name of a variant may have: they
// are served with every answer. Decode takes a longer one for one left out.
const MaxName = 200

// Type is the kind of item a document stores.
type Type string

// The four types of document.
const (
	Flag     Type = "feature_flag"
	Config   Type = "config"
	LogLevel Type = "log_level"
	Segment  Type = "segment"
)

// Noun is the type in words, for messages.
func (t Type) Noun() string {
	return strings.NewReplacer("feature_flag", "flag", "_", " ").Replace(string(t))
}

// LogLevelPrefix begins the key of every log-level document.
const LogLevelPrefix = "log-level."

// LoggerProperty is the context property that carries a logger's path.
const LoggerProperty = "svc-sdk-logging.key"

// DefaultScope is the reserved name of a document's default rules where an
// environment's name may stand.
const DefaultScope = "default"

// Document is the decoded view of a stored document.
type Document struct {
	ID              string // an identifier from an older system; served as configId
	Key             string
	Type            Type
	ValueType       ValueType
	Name            string
	Description     string
	Owner           string // a team or a person; "" where nobody is named, or not by a text
	Access          string // the access tier as stored; "" means standard
	Tags            []string
	ReadyForCleanup bool
	SendToClientSDK bool
	SchemaKey       string
	Default         []Rule
	Environments    []Environment
	Variants        []Variant
	// Confidential: some value of the document is confidential, in whichever
	// environment. Its variants are then shown to no client: a plain one may be the
	// secret, and a name may tell it.
	Confidential bool
}

// Environment is one environment's own rules.
type Environment struct {
	ID    string
	Rules []Rule
}

// Rule serves Value to the contexts that meet every criterion. An empty list
// of criteria matches, but does not make the rule a catch-all.
type Rule struct {
	Criteria []Criterion
	Value    Value
	Paused   bool      // of a pause: see StoredPause
	Schedule string    // what was made for a time: see StoredSchedule
	From     time.Time // when that begins to hold
}

// Criterion is one condition of a rule.
type Criterion struct {
	Operator     string
	PropertyName string
	ValueToMatch *Value
}

// AlwaysTrue is the operator of a catch-all rule's only criterion.
const AlwaysTrue = "ALWAYS_TRUE"

// Variant is a named value of a flag.
type Variant struct {
	Name        string
	Description string
	Value       Value
}

// CatchAll reports whether the rule matches every context by its one criterion.
func (r Rule) CatchAll() bool {
	return len(r.Criteria) == 1 && r.Criteria[0].Operator == AlwaysTrue
}

// Own returns an environment's own rules and whether the document has an
// entry for it at all; one without inherits the default rules.
func (d *Document) Own(environment string) ([]Rule, bool) {
	for _, e := range d.Environments {
		if e.ID == environment {
			return e.Rules, true
		}
	}
	return nil, false
}

// Issue is one thing wrong with a document, and where.
type Issue = jsontree.Issue

// View decodes a document that is known to have no issues, as one that has been
// through Decode before is.
func View(tree *jsontree.Node) *Document {
	d, _ := Decode(tree)
	return d
}

var newKey = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$`)

func isKey(text string) bool { return newKey.MatchString(text) }

// KeyProblem says why no document may be created with a key, or "".
func KeyProblem(key string) string {
	if isKey(key) {
		return ""
	}
	return "a key has 1 to 200 letters, digits, dots, dashes and underscores, and no dot in front"
}

// LogLevelKey is the key of a service's log-level document: the service's name
// behind the prefix, which the name may already have, in capitals too: keys that
// differ in case alone are one.
func LogLevelKey(service string) string {
	if n := len(LogLevelPrefix); len(service) >= n && strings.EqualFold(service[:n], LogLevelPrefix) {
		service = service[n:]
	}
	return LogLevelPrefix + service
}
