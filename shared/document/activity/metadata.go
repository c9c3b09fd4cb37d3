package activity

import (
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// metadata says what became of everything that is no rule.
func (d *differ) metadata(before, after *jsontree.Node) {
	for _, name := range []string{"key", "type", "valueType", "name", "schemaKey", "readyForCleanup", "sendToClientSdk"} {
		before, after := before.Get(name), after.Get(name)
		text, isText := after.Text()
		switch {
		case jsontree.Equal(before, after), before.Absent() && after.Absent():
		case after.Absent():
			d.say("", "%s removed", name)
		case isText && name != "name":
			d.say("", "%s: set to %s", name, document.Words(text))
		case isText:
			d.say("", "%s: set to %s", name, quoted(text))
		default:
			d.say("", "%s: set to %s", name, document.Words(string(after.Compact())))
		}
	}
	if !jsontree.Equal(before.Get("description"), after.Get("description")) {
		d.say("", "description changed")
	}
	if was, is := tierOf(before), tierOf(after); was != is {
		d.say("", "access: moved from %s to %s", document.Words(was), document.Words(is))
	}
	d.list("tags", before, after, func(was, is []*jsontree.Node) (parts []string) {
		if added := missing(is, was); len(added) > 0 {
			parts = append(parts, "added "+tagWords(added))
		}
		if removed := missing(was, is); len(removed) > 0 {
			parts = append(parts, "removed "+tagWords(removed))
		}
		return parts
	})
	d.list("variants", before, after, func(was, is []*jsontree.Node) (parts []string) { // counted only: what they hold may be secret, and is long
		for _, part := range counted(was, is) {
			parts = append(parts, plural(part.count, part.what, part.what))
		}
		return parts
	})
	if otherFieldsDiffer(before, after) {
		d.say("", otherFields)
	}
}

// list says what became of a member that is a list; without words it was reordered.
func (d *differ) list(name string, before, after *jsontree.Node, words func(was, is []*jsontree.Node) []string) {
	was, is := before.Get(name).Elements(), after.Get(name).Elements()
	if jsontree.Equal(before.Get(name), after.Get(name)) || len(was)+len(is) == 0 {
		return
	}
	parts := words(was, is)
	if len(parts) == 0 {
		parts = []string{"reordered"}
	}
	d.say("", "%s: %s", name, strings.Join(parts, ", "))
}

func tagWords(tags []*jsontree.Node) string {
	const shown = 6
	var words []string
	for i, tag := range tags {
		if i == shown {
			words = append(words, plural(len(tags)-shown, "more", "more"))
			break
		}
		text, _ := tag.Text()
		words = append(words, document.Words(text))
	}
	return strings.Join(words, ", ")
}

// otherFieldsDiffer reports whether the documents differ in what no message is
// about: in members this code does not know, wherever they stand.
func otherFieldsDiffer(before, after *jsontree.Node) bool {
	if !jsontree.Equal(unsaid(before), unsaid(after)) {
		return true
	}
	was, is := entriesOf(before), entriesOf(after)
	if reordered(was, is) {
		return true
	}
	for id := range was {
		if now, both := is[id]; both && !slices.EqualFunc(was[id].nodes, now.nodes, func(a, b *jsontree.Node) bool {
			return jsontree.Equal(a.Without("rules"), b.Without("rules"))
		}) {
			return true
		}
	}
	return false
}

// unsaid is what of a document's metadata has no message of its own.
func unsaid(tree *jsontree.Node) *jsontree.Node {
	return metadataOf(tree).Without("key", "type", "valueType", "name", "description",
		"schemaKey", "readyForCleanup", "sendToClientSdk", "access", "tags", "variants")
}
