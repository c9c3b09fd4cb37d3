package negotiation

import (
	"net/http"
	"strings"
)

// Match is how an If-None-Match header meets an entity tag.
type Match int

// The ways to meet one.
const (
	Neither   Match = iota
	Whichever       // "*": any answer at all
	ThisOne
)

// NoneMatch compares weakly, as every conditional GET does. Our tags hold no
// comma, so that a list can be taken apart at each.
func NoneMatch(r *http.Request, etag string) Match {
	found := Neither
	for _, line := range r.Header["If-None-Match"] {
		for candidate := range strings.SplitSeq(line, ",") {
			switch strings.TrimPrefix(strings.TrimSpace(candidate), "W/") {
			case etag:
				return ThisOne
			case "*":
				found = Whichever
			}
		}
	}
	return found
}

// NoneMatchCoded is NoneMatch for the answer of an entity tag in any coding. It returns the
// tag of the one that the client has.
func NoneMatchCoded(r *http.Request, etag string) (Match, string) {
	match := NoneMatch(r, etag)
	if match != ThisOne && r.Header["If-None-Match"] != nil {
		for _, coding := range []Coding{GzipCoding, Zstd} {
			if packed := coding.Tag(etag); NoneMatch(r, packed) == ThisOne {
				return ThisOne, packed
			}
		}
	}
	return match, etag
}
