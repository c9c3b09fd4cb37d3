package telemetry

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"
)

// Report is a body of POST /api/v1/telemetry/, decoded.
type Report struct {
	// Instance and BatchID name the batch; "" when the body does not.
	Instance, BatchID string
	// SentAt is the sender's time, zero when the body does not say.
	SentAt   time.Time
	Examples []Example
	Shapes   []KnownShape
	Counters []Counter // at most MaxCounters
	// Reports has of each event, in order, the identity of the report that it came with,
	// where a relay passes on those of others; zero where the body does not say.
	Reports [][32]byte
	// Public says that a relay passes on what came with public keys.
	Public bool
	// Unknown is how many events are of no kind that is known here.
	Unknown int
}

// Identity is what a report of an environment is known by when it comes again: what its
// sender says, else its content. One that numbers its batches and does not say who it is
// could be anybody.
func (r Report) Identity(workspace, environment string, body []byte) [32]byte {
	parts := []string{workspace, environment, r.Instance, r.BatchID}
	if r.Instance == "" || r.BatchID == "" {
		parts = append(parts, string(body))
	}
	hash := sha256.New()
	for _, part := range parts {
		_, _ = hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = hash.Write([]byte(part))
	}
	return [32]byte(hash.Sum(nil))
}

// Example is a set of contexts that an evaluation was asked for.
type Example struct {
	At       time.Time // zero when the body does not say
	Contexts []Context
}

// Context is a named context. Its key is the text of the property key, or "".
type Context struct {
	Type, Key  string
	Properties []Property
}

// Property is a property of a context. The text of a number is as it was sent.
type Property struct {
	Name string   `json:"name"`
	Kind Kind     `json:"kind"`
	Text string   `json:"text,omitempty"`
	List []string `json:"list,omitempty"` // of a StringList
}

// Kind is the kind of a property's value, as field types number it.
type Kind byte

// The kinds.
const (
	Int        Kind = 1
	String     Kind = 2
	Double     Kind = 4
	Bool       Kind = 5
	StringList Kind = 10
)

var kindNames = map[Kind]string{Int: "int", String: "string", Double: "double", Bool: "bool", StringList: "stringList"}

func (k Kind) String() string {
	if name, known := kindNames[k]; known {
		return name
	}
	return "kind " + strconv.Itoa(int(k))
}

// kindOf is the kind of a name such as stringList, or 0.
func kindOf(name string) Kind {
	for kind, other := range kindNames {
		if other == name {
			return kind
		}
	}
	return 0
}
