package feed

import (
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/repository"
)

// activityFilter is what a query leaves of the feed. It goes through the commits
// from the newest to the oldest.
type activityFilter struct {
	since, until time.Time // zero for none
	author       string
	environment  string

	earlier int // commits in a row that are before since
	ended   bool
}

// filter reads the filters of a query, and says what is wrong with them.
func (q ActivityQuery) filter() (f activityFilter, issues []document.Issue) {
	f.author, f.environment = q.Author, q.Environment
	for _, bound := range []struct {
		name, text string
		time       *time.Time
	}{{"since", q.Since, &f.since}, {"until", q.Until, &f.until}} {
		if bound.text == "" {
			continue
		}
		var err error
		if *bound.time, err = time.Parse(time.RFC3339, bound.text); err != nil {
			issues = append(issues, document.Issue{Pointer: "?" + bound.name,
				Message: bound.name + " is a time as RFC 3339 has it, such as 2026-03-04T10:15:00Z or 2026-03-04T11:15:00%2B01:00 (in an address a plus is %2B)"})
		}
	}
	if len(issues) == 0 && !f.since.IsZero() && !f.until.IsZero() && !f.since.Before(f.until) {
		issues = append(issues, document.Issue{Pointer: "?since", Message: "since is not before until, so that nothing is between the two"})
	}
	return f, issues
}

const (
	// skew is how far the clocks of two writers may be apart.
	skew = time.Hour
	// enoughEarlier commits in a row that are too early are taken for the end,
	// where git made them, which tells when a change was made and not when it came.
	enoughEarlier = 1000
)

// ends reports whether this commit and all before it are too early. What svc itself
// commits, it dates as it comes: whatever stands before came before.
func (f *activityFilter) ends(c repository.Commit) bool {
	if f.since.IsZero() || !c.Author.When.Before(f.since) {
		f.earlier = 0
		return false
	}
	f.earlier++
	f.ended = f.earlier == enoughEarlier || ours(c) && c.Author.When.Before(f.since.Add(-skew))
	return f.ended
}

// takes reports whether a commit passes.
func (f *activityFilter) takes(c repository.Commit) bool {
	when := c.Author.When
	switch {
	case !f.since.IsZero() && when.Before(f.since), !f.until.IsZero() && !when.Before(f.until):
		return false
	case f.author == "", strings.EqualFold(f.author, c.Author.Name), strings.EqualFold(f.author, c.Author.Email):
		return true
	}
	_, trailers := splitTrailers(c.Message)
	_, id, _ := strings.Cut(trailers[principalTrailer], "/")
	return ours(c) && id == f.author
}

// speaksOf reports whether messages are about the environment. As many as are told at
// the most may not be all.
func (f *activityFilter) speaksOf(messages []activity.Message) bool {
	return f.environment == "" || len(messages) >= activity.MaxMessages || slices.ContainsFunc(messages, func(m activity.Message) bool { return m.Scope == f.environment })
}

// maySpeakOf reports whether a trace may turn out to be about the environment: as far
// as can be told without reading documents.
func (r *Reader) maySpeakOf(t trace, f activityFilter) bool {
	if f.environment == "" || t.touch == nil {
		return true
	}
	messages, known := r.knownMessages(t)
	return !known || f.speaksOf(messages)
}
