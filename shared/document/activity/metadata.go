package activity

import (
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// metadata says what became of everything that is no rule.
func (d *differ) metadata(before, after *jsontree.Node) {
	for _, name := range []string{"key", "type", "valueType", "name", "owner", "schemaKey", "readyForCleanup", "sendToClientSdk"} {
		before, after := before.Get(name), after.Get(name)
		text, isText := after.Text()
		switch {
		case jsontree.Equal(before, after), before.Absent() && after.Absent():
		case after.Absent():
			d.say("", "%s removed", name)
		case isText && name != "name" && name != "owner":
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
	d.list("variants", before, after, func(was, is []*jsontree.Node) (parts []string) {
		if slices.ContainsFunc(slices.Concat(was, is), isMasked) { // which are the same is not to be told
			for _, part := range counted(was, is) {
				parts = append(parts, plural(part.count, part.what, part.what))
			}
			return parts
		}
		removed, added, changed := variantWords(missing(was, is)), variantWords(missing(is, was)), []string(nil)
		removed = slices.DeleteFunc(removed, func(one string) bool {
			i := slices.Index(added, one)
			if i >= 0 {
				changed, added = append(changed, one), slices.Delete(added, i, i+1)
			}
			return i >= 0
		})
		for _, part := range []struct {
			what     string
			variants []string
		}{{"added ", added}, {"removed ", removed}, {"changed ", changed}} {
			if len(part.variants) > 0 {
				parts = append(parts, part.what+firstWords(part.variants))
			}
		}
		return parts
	})
	d.others(before, after)
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

func isMasked(variant *jsontree.Node) bool {
	for n := range variant.All() {
		if document.Masked(n) {
			return true
		}
	}
	return false
}

// variantWords are variants by their names, or what they serve. They show no secret.
func variantWords(variants []*jsontree.Node) []string {
	var texts []string
	for _, variant := range variants {
		name, _ := variant.Get("name").Text()
		if name == "" {
			name = valueWords(variant.Get("value"))
		}
		texts = append(texts, name)
	}
	return texts
}

func tagWords(tags []*jsontree.Node) string {
	var texts []string
	for _, tag := range tags {
		text, _ := tag.Text()
		texts = append(texts, text)
	}
	return firstWords(texts)
}

func firstWords(texts []string) string {
	const shown = 6
	var words []string
	for i, text := range texts {
		if i == shown {
			words = append(words, plural(len(texts)-shown, "more", "more"))
			break
		}
		words = append(words, document.Words(text))
	}
	return strings.Join(words, ", ")
}

// others names the members that no other message is about: those that this code does not
// know, wherever they stand. What they hold may be secret, and is long.
func (d *differ) others(before, after *jsontree.Node) {
	if names := differing(unsaid(before), unsaid(after)); len(names) > 0 {
		d.say("", "%s: %s", otherFields, firstWords(names))
	}
	was, is := entriesOf(before), entriesOf(after)
	if reordered(was, is) {
		d.say("", "environments reordered")
	}
	for _, id := range mergedIDs(was, nil) {
		now, both := is[id]
		if !both {
			continue
		}
		old := was[id]
		if len(old.nodes) != len(now.nodes) {
			d.say(id, otherFields)
			continue
		}
		var names []string
		for i := range old.nodes {
			names = append(names, differing(old.nodes[i].Without("rules"), now.nodes[i].Without("rules"))...)
		}
		if len(names) > 0 {
			d.say(id, "%s: %s", otherFields, firstWords(names))
		}
	}
}

// differing lists the members in which two objects differ, in their order.
func differing(before, after *jsontree.Node) (names []string) {
	for _, m := range before.Members {
		if !jsontree.Equal(m.Value, after.Get(m.Name)) {
			names = append(names, m.Name)
		}
	}
	for _, m := range after.Members {
		if before.Get(m.Name) == nil {
			names = append(names, m.Name)
		}
	}
	return names
}

// unsaid is what of a document's metadata has no message of its own.
func unsaid(tree *jsontree.Node) *jsontree.Node {
	return metadataOf(tree).Without("key", "type", "valueType", "name", "description", "owner",
		"schemaKey", "readyForCleanup", "sendToClientSdk", "access", "tags", "variants")
}
