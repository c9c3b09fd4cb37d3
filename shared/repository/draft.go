package repository

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/requestid"
)

// check says everything that is wrong with a draft.
func (d Draft) check() error {
	var problems []error
	note := func(where string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", where, err))
		}
	}
	note("author", d.Author.Check())
	note("committer", d.Committer.Check())
	note("message", object.CheckMessage(d.Message))
	if d.RequestID != "" && !requestid.Valid(d.RequestID) {
		note("request id", fmt.Errorf("%q is not 32 hexadecimal digits", d.RequestID))
	}
	if d.Once != nil && !(requestid.Valid(d.Once.ID) && requestid.Valid(d.Once.Request)) {
		note("once", fmt.Errorf("%q and %q are not 32 hexadecimal digits each", d.Once.ID, d.Once.Request))
	}
	seen := map[string]bool{}
	for i, change := range d.Changes {
		where := fmt.Sprintf("changes[%d]", i)
		note(where, checkPath(change.Path))
		if seen[change.Path] {
			note(where, fmt.Errorf("%q is changed twice", change.Path))
		}
		seen[change.Path] = true
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %w", ErrDraft, errors.Join(problems...))
	}
	return nil
}

// RequestTrailer begins the line of a message that names the request.
const RequestTrailer = "Request-Id: "

// message is what is committed: the draft's message with the request's id
// among the trailers of its last paragraph, and one line break at the end, as
// git's own have it.
func (d Draft) message() string {
	text, id := strings.TrimRight(d.Message, "\n"), d.RequestID
	if id == "" {
		id = requestid.New()
	}
	if !EndsInTrailers(text) {
		text += "\n"
	}
	return text + "\n" + RequestTrailer + id + "\n"
}

var trailer = regexp.MustCompile(`^[A-Za-z0-9-]+: `)

// EndsInTrailers reports whether the last paragraph of a message, which is never
// the first, holds nothing but trailers.
func EndsInTrailers(text string) bool {
	i := strings.LastIndex(text, "\n\n")
	if i < 0 {
		return false
	}
	for line := range strings.SplitSeq(text[i+2:], "\n") {
		if !trailer.MatchString(line) {
			return false
		}
	}
	return true
}
