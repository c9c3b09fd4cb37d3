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
	d.tags(before.Get("tags"), after.Get("tags"))
	d.variants(before.Get("variants"), after.Get("variants"))
	if otherFieldsDiffer(before, after) {
		d.say("", otherFields)
	}
}

func (d *differ) tags(before, after *jsontree.Node) {
	if jsontree.Equal(before, after) || len(before.Elements())+len(after.Elements()) == 0 {
		return
	}
	var parts []string
	for _, change := range []struct {
		word string
		tags []*jsontree.Node
	}{
		{"added ", missing(after.Elements(), before.Elements())},
		{"removed ", missing(before.Elements(), after.Elements())},
	} {
		if len(change.tags) > 0 {
			parts = append(parts, change.word+tagWords(change.tags))
		}
	}
	if len(parts) == 0 {
		parts = []string{"reordered"}
	}
	d.say("", "tags: %s", strings.Join(parts, ", "))
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

// variants counts them only: what they hold may be secret, and is long.
func (d *differ) variants(before, after *jsontree.Node) {
	was, is := before.Elements(), after.Elements()
	if jsontree.Equal(before, after) || len(was)+len(is) == 0 {
		return
	}
	var parts []string
	for _, part := range counted(was, is) {
		parts = append(parts, plural(part.count, part.what, part.what))
	}
	if len(parts) == 0 {
		parts = []string{"reordered"}
	}
	d.say("", "variants: %s", strings.Join(parts, ", "))
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
		if now, both := is[id]; both && !slices.EqualFunc(was[id].nodes, now.nodes, sameButRules) {
			return true
		}
	}
	return false
}

func sameButRules(a, b *jsontree.Node) bool {
	return jsontree.Equal(a.Without("rules"), b.Without("rules"))
}

// unsaid is what of a document's metadata has no message of its own.
func unsaid(tree *jsontree.Node) *jsontree.Node {
	return metadataOf(tree).Without("key", "type", "valueType", "name", "description",
		"schemaKey", "readyForCleanup", "sendToClientSdk", "access", "tags", "variants")
}
