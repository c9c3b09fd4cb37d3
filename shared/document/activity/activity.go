// Package activity tells in words what one version of a document did to the one
// before: the messages of the activity feed and of commits.
//
// What must stay true: no message holds a secret, or anything that a terminal
// would obey, and each is one line of bounded length.
package activity

import (
	"fmt"
	"strconv"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Message says one thing that a commit changed in a document, for people.
type Message struct {
	// Scope is the scope whose rules changed, "" for what is no rule.
	Scope   string `json:"scope"`
	Message string `json:"message"`
}

// Diff says in words what became of a document. Before nil it was created,
// after nil deleted. There is no message when the documents say the same, and
// at least one when they do not. A message is one line of bounded length, and
// shows no secret.
func Diff(before, after *jsontree.Node) []Message {
	if before == nil && after == nil || document.SameDocument(before, after) {
		return nil
	}
	var d differ
	switch {
	case after == nil:
		d.say("", "%s deleted", itemWords(before))
	case !isObject(after) || before != nil && !isObject(before):
		d.say("", "content replaced; it is not a JSON object on both sides")
	case before == nil:
		d.say("", "%s created", itemWords(after))
		d.rules(jsontree.NewObject(), after)
	default:
		d.rules(before, after)
		d.metadata(before, after)
	}
	if len(d.messages) == 0 {
		d.say("", otherFields)
	}
	if len(d.messages) <= MaxMessages {
		return d.messages
	}
	more := len(d.messages) - (MaxMessages - 1)
	kept := d.messages[: MaxMessages-1 : MaxMessages-1]
	return append(kept, Message{"", fmt.Sprintf("and %d more changes", more)})
}

const otherFields = "other fields changed"

func isObject(n *jsontree.Node) bool { return n != nil && n.Kind == jsontree.Object }

// itemWords names an item: flag "new-nav".
func itemWords(tree *jsontree.Node) string {
	kind, _ := tree.Get("type").Text()
	noun := "document"
	switch t := document.Type(kind); t {
	case document.Flag, document.Config, document.LogLevel, document.Segment:
		noun = t.Noun()
	}
	key, _ := tree.Get("key").Text()
	return noun + " " + document.QuotedWords(key)
}

// differ collects messages.
type differ struct {
	messages []Message
	unscoped bool // there is one scope, which goes without saying
}

// say adds a message. Arguments that are user text have been through
// document.Words; the whole is bounded once more.
func (d *differ) say(scope, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if scope != "" && !d.unscoped {
		text = document.Words(scope) + ": " + text
	}
	d.messages = append(d.messages, Message{scope, document.WordsWithin(text, maxMessage)})
}

// Subject is the first line of a commit's message: what changed first.
func Subject(messages []Message) string {
	if len(messages) == 0 {
		return "no change"
	}
	return document.WordsWithin(messages[0].Message, maxSubject)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// readWeight is an arm's weight, and false when it is no weight at all.
func readWeight(arm *jsontree.Node) (int64, bool) {
	weight, err := strconv.ParseInt(jsontree.NumberText(arm.Get("weight").Literal()), 10, 64)
	return weight, err == nil && weight >= 0
}
