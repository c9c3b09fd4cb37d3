package faultproxy

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kind is a way in which a request goes wrong.
type Kind string

// The kinds of fault.
const (
	// Delay makes the answer late by up to Plan.Slow. The request is carried
	// out.
	Delay Kind = "delay"
	// Drop closes the connection without an answer. Nothing is carried out.
	Drop Kind = "drop"
	// Reset breaks the connection. Nothing is carried out.
	Reset Kind = "reset"
	// Error answers 500. Nothing is carried out.
	Error Kind = "error"
	// Unavailable answers 503. Nothing is carried out.
	Unavailable Kind = "unavailable"
	// Throttle refuses in the service's own words: one of several exceptions
	// of DynamoDB, SlowDown of S3.
	Throttle Kind = "throttle"
	// Conflict says that another write is going on: TransactionCanceled or
	// TransactionConflict of DynamoDB, 409 ConditionalRequestConflict of S3.
	// Only writes meet it, in S3 only conditional ones.
	Conflict Kind = "conflict"
	// Partial leaves one item of a DynamoDB batch undone.
	Partial Kind = "partial"
	// LostAnswer resets the connection after the request was carried out.
	LostAnswer Kind = "lost answer"
	// LateError answers 500 after the request was carried out.
	LateError Kind = "late error"
	// CutOff sends half of an answer, then breaks the connection.
	CutOff Kind = "cut off"
)

// kinds in the order in which chance goes through them.
var kinds = []Kind{Drop, Reset, Error, Unavailable, Throttle, Conflict, Partial, LostAnswer, LateError, CutOff, Delay}

// Rates are how likely each kind is, from 0 to 1. Together they stay below 1.
type Rates map[Kind]float64

// Everything is every kind at the same rate.
func Everything(rate float64) Rates {
	all := Rates{}
	for _, kind := range kinds {
		all[kind] = rate
	}
	return all
}

// Plan is what a proxy does.
type Plan struct {
	Seed  uint64
	Rates Rates
	Slow  time.Duration // the longest Delay; 0 is 50 milliseconds
	// Only picks the requests that faults come to; nil is all.
	Only func(*http.Request) bool
	// Before and After are called with each request: before it is passed on,
	// and when the server has carried it out.
	Before, After func(*http.Request)
}

// Counts are how many requests there were, and what was injected.
type Counts struct {
	Requests int
	Injected map[Kind]int
}

// Total is the number of faults.
func (c Counts) Total() int {
	total := 0
	for _, n := range c.Injected {
		total += n
	}
	return total
}

func (c Counts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests, %d faults", c.Requests, c.Total())
	for _, kind := range slices.Sorted(maps.Keys(c.Injected)) {
		fmt.Fprintf(&b, ", %d %s", c.Injected[kind], kind)
	}
	return b.String()
}

// draw picks the fault of a request; "" for none.
func (p Plan) draw(chance *rand.Rand) Kind {
	x := chance.Float64()
	for _, kind := range kinds {
		if x -= p.Rates[kind]; x < 0 {
			return kind
		}
	}
	return ""
}
