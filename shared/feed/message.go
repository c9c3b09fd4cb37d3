package feed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/requestid"
)

// What stands in a commit's last paragraph.
const (
	principalTrailer = "Svc-Principal: "
	changesTrailer   = "Svc-Changes: "
	requestTrailer   = repository.RequestTrailer
)

// The trailers of a commit that others have approved, or that nobody had to.
const (
	ChangeRequest  = "Svc-Request: "      // its id
	RequestedBy    = "Svc-Requested-By: " // who contributed operations
	ApprovedBy     = "Svc-Approved-By: "
	ReviewBypassed = "Svc-Review-Bypassed: " // the environments
	// Of a commit that needs no approval, since it only stops something or ends that: the
	// environments.
	ReviewExempt = "Svc-Review-Exempt: "
)

// The trailers of guards, and of what takes commits back: see Guarded.
const (
	Guard = "Svc-Guard: " // the name of the service account that may take the commit back
	// Of an undo: the ids of the commits that it takes back.
	Undoes = "Svc-Undoes: "
)

// Guarded is what a commit says of guards, and of what it takes back.
type Guarded struct {
	Guard  string   // whom it names; "" for nobody
	Undoes []string // commits that it takes back, if it says so
	// Exempt: nobody had to approve it, since it only stops something.
	Exempt bool
}

// GuardedBy reads that of a commit: nothing of what anybody else has committed, whose
// trailers prove nothing.
func GuardedBy(c repository.Commit) (g Guarded) {
	if !ours(c) {
		return g
	}
	_, trailers := splitTrailers(c.Message)
	g.Guard, g.Exempt = trailers[Guard], trailers[ReviewExempt] != ""
	if undone := trailers[Undoes]; undone != "" {
		g.Undoes = strings.Split(undone, ", ")
	}
	return g
}

// Reviewed is the change request that a commit has applied, as its trailers say.
type Reviewed struct {
	ID string `json:"id"`
	// Author is who proposed it, and ApprovedBy who approved it, by their names.
	Author     string   `json:"author"`
	ApprovedBy []string `json:"approvedBy"`
}

// ReviewedBy reads that of a commit; nil of one that was no change request, or is not ours.
func ReviewedBy(c repository.Commit) *Reviewed {
	if !ours(c) {
		return nil
	}
	_, trailers := splitTrailers(c.Message)
	if trailers[ChangeRequest] == "" {
		return nil
	}
	r := &Reviewed{ID: trailers[ChangeRequest], Author: nameIn(trailers[RequestedBy]), ApprovedBy: []string{}}
	for line := range strings.SplitSeq(trailers[ApprovedBy], "\n") {
		if line != "" {
			r.ApprovedBy = append(r.ApprovedBy, nameIn(line))
		}
	}
	return r
}

// nameIn is the name in a line such as Ada <ada@acme.example>.
func nameIn(line string) string {
	if at := strings.LastIndexAny(line, "<("); at > 0 {
		return strings.TrimSpace(line[:at])
	}
	return line
}

// Said is what whoever made a commit has said of it, beside what it changes; "" for nothing,
// and of commits that are not ours.
func Said(c repository.Commit) string {
	rest, trailers := splitTrailers(c.Message)
	if !ours(c) || !strings.HasPrefix(trailers[changesTrailer], "{") {
		return ""
	}
	text := rest[:max(0, strings.LastIndex(rest, "\n\n"))] // what it changes comes last
	if text == itemsChanged(len(c.Touched)) {
		return ""
	}
	return text
}

// MessageOfOne is the message of a commit that changes one item. It is as
// short as it can be for readMessages to find the same messages in it again.
func MessageOfOne(messages []activity.Message, by access.Principal) string {
	subject := activity.Subject(messages)
	trailer := principalTrailer + string(by.Type) + "/" + string(by.ID)
	var lines []string
	for _, m := range messages {
		lines = append(lines, m.Message)
	}
	if len(lines) > 0 && lines[0] == subject {
		lines = lines[1:] // the subject says it
	}
	body := strings.Join(lines, "\n")
	for _, text := range []string{
		subject + "\n\n" + trailer + "\n",
		subject + "\n\n" + body + "\n\n" + trailer + "\n",
	} {
		if found, ok := readMessages(text, ""); ok && slices.Equal(found, messages) {
			return text
		}
	}
	if body != "" {
		body += "\n\n"
	}
	exact, _ := json.Marshal(messages) // strings only: it cannot fail
	return subject + "\n\n" + body + changesTrailer + string(exact) + "\n" + trailer + "\n"
}

// What the message of a commit of several items holds of what it changes: the rest
// is found out from the documents, as it is of anybody's commit.
const (
	MaxListed = 20      // items in its body, a line each
	maxLine   = 160     // characters
	maxSaid   = 4 << 10 // bytes of all that is said of the items, for readMessages
)

// Change is what a commit does to an item.
type Change struct {
	Type      document.Type
	Path, Key string
	Messages  []activity.Message
}

// MessageOfMany is the message of a commit that changes so many items, of which the first
// MaxListed are enough. It begins with a text, "" for none.
func MessageOfMany(text string, first []Change, items int, by access.Principal) string {
	var lines []string
	said := map[string][]activity.Message{}
	for _, c := range first[:min(len(first), MaxListed)] {
		said[c.Path] = c.Messages
		lines = append(lines, c.line())
	}
	if items > MaxListed {
		lines = append(lines, fmt.Sprintf("and %d more items", items-MaxListed))
		clear(said)
	}
	if text == "" {
		text = itemsChanged(items)
	}
	exact, _ := json.Marshal(said) // strings only: it cannot fail
	if len(exact) > maxSaid {
		exact = []byte("{}")
	}
	return text + "\n\n" + strings.Join(lines, "\n") + "\n\n" + changesTrailer + string(exact) + "\n" +
		principalTrailer + string(by.Type) + "/" + string(by.ID) + "\n"
}

func itemsChanged(n int) string { return fmt.Sprintf("%d items changed", n) }

// line is what is said first of an item.
func (c Change) line() string {
	line := c.Messages[0].Message
	if !strings.HasPrefix(line, c.Type.Noun()+" ") {
		line = c.Type.Noun() + " " + document.QuotedWords(c.Key) + ": " + line
	}
	if more := len(c.Messages) - 1; more > 0 {
		line = fmt.Sprintf("%s (and %d more)", document.WordsWithin(line, maxLine), more)
	}
	return document.WordsWithin(line, maxLine)
}

// readMessages finds the activity messages of the item at a path in the message of
// a commit of ours.
func readMessages(text, path string) ([]activity.Message, bool) {
	rest, trailers := splitTrailers(text)
	if trailers[principalTrailer] == "" {
		return nil, false
	}
	if exact, ok := trailers[changesTrailer]; ok && strings.HasPrefix(exact, "{") {
		var items map[string][]activity.Message
		err := json.Unmarshal([]byte(exact), &items)
		return items[path], err == nil && len(items[path]) > 0
	} else if ok {
		var messages []activity.Message
		err := json.Unmarshal([]byte(exact), &messages)
		return messages, err == nil && len(messages) > 0
	}
	subject, body, _ := strings.Cut(rest, "\n")
	lines := strings.Split(strings.TrimSpace(body), "\n")
	switch {
	case lines[0] == "":
		lines = []string{subject}
	case activity.Subject([]activity.Message{{Message: lines[0]}}) != subject:
		// The body begins with the second message, unless the subject is a
		// shortened first one.
		lines = append([]string{subject}, lines...)
	}
	var messages []activity.Message
	for _, line := range lines {
		scope, _, found := strings.Cut(line, ": ")
		if !found || slices.Contains(metadata, scope) {
			scope = ""
		}
		messages = append(messages, activity.Message{Scope: scope, Message: line})
	}
	return messages, true
}

// metadata are the words before a colon in messages that are about no scope.
var metadata = []string{"key", "type", "valueType", "name", "schemaKey", "readyForCleanup",
	"sendToClientSdk", "access", "tags", "variants"}

// splitTrailers takes our trailers out of a message. They stand in its last
// paragraph, which is never its first. Of one that stands there more than once, such as
// who approved, each is a line.
func splitTrailers(text string) (rest string, trailers map[string]string) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	trailers = map[string]string{}
	last := strings.LastIndex(text, "\n\n")
	if last < 0 {
		return text, trailers
	}
	var kept []string
	for line := range strings.SplitSeq(text[last+2:], "\n") {
		name := trailerOf(line)
		if name == "" {
			kept = append(kept, line)
			continue
		}
		trailers[name] = strings.TrimPrefix(trailers[name]+"\n"+line[len(name):], "\n")
	}
	return strings.TrimSpace(text[:last+2] + strings.Join(kept, "\n")), trailers
}

func trailerOf(line string) string {
	for _, name := range []string{principalTrailer, changesTrailer, ChangeRequest, RequestedBy, ApprovedBy, ReviewBypassed, ReviewExempt, Guard, Undoes} {
		if strings.HasPrefix(line, name) {
			return name
		}
	}
	if id, ok := strings.CutPrefix(line, requestTrailer); ok && requestid.Valid(id) {
		return requestTrailer
	}
	return ""
}

// MessageOf is a commit's message as it is shown.
func MessageOf(c repository.Commit) string {
	rest, _ := splitTrailers(c.Message)
	return rest
}

// byServiceAccount reports whether a commit's author is a service account.
func byServiceAccount(c repository.Commit) bool {
	_, trailers := splitTrailers(c.Message)
	return strings.HasPrefix(trailers[principalTrailer], string(access.PrincipalServiceAccount)+"/")
}

// Messages are what the control plane has said of the file at a path when it made a
// commit; false for the commits of others, and where it has said nothing of it.
func Messages(c repository.Commit, path string) ([]activity.Message, bool) {
	if !ours(c) {
		return nil, false
	}
	return readMessages(c.Message, path)
}

// ours reports whether the control plane made the commit: then its message says
// what it changed.
func ours(c repository.Commit) bool {
	return c.Committer.Name == repository.CommitterName && c.Committer.Email == repository.CommitterEmail
}

// Author is a principal as git writes one. A name can hold anything; a line
// break or a bracket would break the commit.
func Author(p access.Principal) repository.Signature {
	s := repository.Signature{Name: signable(p.Name), Email: strings.ReplaceAll(signable(p.CommitEmail()), " ", "")}
	if s.Name == "" {
		s.Name = string(p.ID)
	}
	if s.Email == "" {
		s.Email = string(p.ID) + "@users.svc"
	}
	return s
}

func signable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(text), " ")
}
