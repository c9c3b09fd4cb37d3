package document

import (
	"regexp"
	"strconv"
	"strings"

	"svc.example/svc/shared/jsontree"
)

// ValueType says how a value is to be read. The set is open: a type that this
// code does not know is carried as it is.
type ValueType string

// The value types that have a meaning here.
const (
	BoolValue       ValueType = "bool"
	StringValue     ValueType = "string"
	IntValue        ValueType = "int"
	DoubleValue     ValueType = "double"
	JSONValue       ValueType = "json"
	StringListValue ValueType = "string_list"
	DurationValue   ValueType = "duration"
	LogLevelValue   ValueType = "log_level"
	ProvidedValue   ValueType = "provided"
	WeightedValue   ValueType = "weighted_values"
	SchemaValue     ValueType = "schema" // legacy
)

// Levels are those of a logger, most talkative first.
var Levels = []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}

// Value is a Value object, or a rule's weighted value.
type Value struct {
	Type ValueType
	// Content is the stored value as written; nil when there is none. An int
	// or double may be stored as a string here: use Served for the wire.
	Content      *jsontree.Node
	Confidential bool
	DecryptWith  string    // key of the config that decrypts Content
	Weighted     *Weighted // set when Type is weighted_values
}

// Weighted is a split of contexts over several values.
type Weighted struct {
	Arms           []Arm
	HashByProperty string
}

// Arm is one value of a split. Weight is in thousandths of a percent.
type Arm struct {
	Value  Value
	Weight int64
}

// FullWeight is the weight of 100 %.
const FullWeight = 100_000

// Secret says that the content must not stand in a message, a log or a commit.
func (v Value) Secret() bool {
	return v.Confidential || v.DecryptWith != "" || v.Type == ProvidedValue
}

// Served returns the content as it goes over the wire: a number for an int or
// a double however it is stored, the content itself for everything else. An int is
// digits alone: what reads 64-bit integers takes neither 1.0 nor 1e2 for one. A
// double has a fraction or an exponent: many languages take 2 for an integer.
func (v Value) Served() *jsontree.Node {
	n := v.Content
	if v.Type == IntValue || v.Type == DoubleValue {
		n = v.number()
	}
	if v.Type == IntValue && n != nil && n.Kind == jsontree.Number && strings.ContainsAny(n.Literal(), ".eE") {
		if whole, err := strconv.ParseInt(jsontree.NumberText(n.Literal()), 10, 64); err == nil {
			return jsontree.NewInt(whole)
		}
	}
	if v.Type == DoubleValue && n != nil && n.Kind == jsontree.Number && !strings.ContainsAny(n.Literal(), ".eE") {
		return jsontree.NewDouble(n.Literal())
	}
	return n
}

// number is a content that may be stored as a string.
func (v Value) number() *jsontree.Node {
	text, ok := v.Content.Text()
	if !ok {
		return v.Content
	}
	text = strings.TrimSpace(text)
	if !jsonNumber.MatchString(text) { // much cheaper than to have the parser find it
		return v.Content
	}
	n, err := jsontree.Parse([]byte(text))
	if err != nil || n.Kind != jsontree.Number {
		return v.Content
	}
	return n
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// Bool returns the value of a plain bool, and false, false for any other.
func (v Value) Bool() (boolean, ok bool) {
	if v.Type != BoolValue || v.DecryptWith != "" {
		return false, false
	}
	return v.Content.Bool()
}

// ContentProblem says what is wrong with a value's content for its type, or
// "". Ciphertext and what is masked are not looked into.
func (v Value) ContentProblem() string {
	if Masked(v.Content) {
		return ""
	}
	if v.DecryptWith != "" {
		return Want(v.Content, jsontree.String, "ciphertext")
	}
	switch v.Type {
	case BoolValue:
		return Want(v.Content, jsontree.Bool, "a bool value")
	case StringValue, LogLevelValue:
		return Want(v.Content, jsontree.String, "a "+string(v.Type)+" value")
	case IntValue, DoubleValue:
		return v.numberProblem()
	case StringListValue:
		return stringListProblem(v.Content)
	case DurationValue:
		if problem := Want(v.Content, jsontree.String, "a duration value"); problem != "" {
			return problem
		}
		text, _ := v.Content.Text()
		if _, err := ReadDuration(text); err != nil {
			return err.Error()
		}
		return ""
	case ProvidedValue:
		return Want(v.Content, jsontree.Object, "a provided value (with source and lookup)")
	}
	return ""
}

// Want says what is wrong with a node that should be of a kind, or "".
func Want(n *jsontree.Node, kind jsontree.Kind, what string) string {
	if n == nil {
		return what + " is missing: expected " + kind.String()
	}
	if n.Kind != kind {
		return what + " is " + kind.String() + ", not " + n.Kind.String()
	}
	return ""
}

func (v Value) numberProblem() string {
	n := v.Served()
	what := "a " + string(v.Type) + " value"
	if v.Type == IntValue {
		what = "an int value"
	}
	if n != nil && n.Kind == jsontree.String {
		return what + " stored as a string must read as a number"
	}
	if problem := Want(n, jsontree.Number, what); problem != "" {
		return problem
	}
	if v.Type == DoubleValue {
		if _, err := strconv.ParseFloat(n.Literal(), 64); err != nil {
			return "a double value is beyond the range of a 64-bit float"
		}
		return ""
	}
	if _, err := strconv.ParseInt(jsontree.NumberText(n.Literal()), 10, 64); err != nil {
		return "an int value is a whole number of at most 64 bits"
	}
	return ""
}

func stringListProblem(n *jsontree.Node) string {
	if problem := Want(n, jsontree.Array, "a string_list value"); problem != "" {
		return problem
	}
	for _, item := range n.Items {
		if item.Kind != jsontree.String {
			return "a string_list holds strings only, not " + item.Kind.String()
		}
	}
	return ""
}

// Canonical resolves the two other spellings that a type may be asked for.
func (t ValueType) Canonical() ValueType {
	switch t {
	case "boolean":
		return BoolValue
	case "string-list":
		return StringListValue
	}
	return t
}
