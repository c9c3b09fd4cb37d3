package workspace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// Fix repairs what has exactly one right answer in the text of a file, and returns what
// it did, each with its rule. Every other byte stays as it is. The text comes back as it
// was where there is nothing to repair.
func Fix(path string, text []byte) (fixed []byte, fixes []document.Issue) {
	found := text
	if recoded, ok := fromUTF16(text); ok {
		text, fixes = recoded, append(fixes, document.Issue{Code: problem.UTF16, Message: "rewritten in UTF-8"})
	}
	if rest := bytes.TrimLeft(text, string(byteOrderMark)); len(rest) < len(text) {
		text, fixes = rest, append(fixes, document.Issue{Code: problem.ByteOrderMark, Message: "byte order mark taken away"})
	}
	folder, key, _ := SplitPath(path)
	held, isDocument := folder.Type()
	tree, wrong := parse(path, text, nil)
	if path == File && wrong == nil && tree.Kind == jsontree.Object {
		var renamed []document.Issue
		if list := tree.Get("environments"); list != nil {
			renamed = lowerNames(list.Items, "name", problem.InvalidEnvironmentName)
		}
		return rewritten(text, tree, renamed, fixes)
	}
	if !isDocument || wrong != nil || tree.Kind != jsontree.Object {
		return text, fixes
	}
	if !likeDocument(tree, held) { // another program's file
		return found, nil
	}
	edited := tree.Without()
	var missing []jsontree.Member
	add := func(name, value string) {
		if tree.Get(name) == nil {
			missing = append(missing, jsontree.Field(name, jsontree.NewString(value)))
			fixes = append(fixes, document.Issue{Code: problem.MissingField, Pointer: "/" + name, Message: fmt.Sprintf("%q: %q added", name, value)})
		}
	}
	if document.KeyProblem(key) == "" {
		add("key", key)
		if n := tree.Get("key"); n != nil {
			if was, isText := n.Text(); isText && was != key {
				edited.Set("key", jsontree.NewString(key))
				fixes = append(fixes, document.Issue{Code: problem.KeyMismatch, Pointer: "/key",
					Message: fmt.Sprintf("the key %s becomes %q", terminal.Quote(was), key)})
			}
		}
	}
	add("type", string(held))
	switch held {
	case document.Segment:
		add("valueType", string(document.BoolValue))
	case document.LogLevel:
		add("valueType", string(document.LogLevelValue))
	}
	edited.Members = append(missing, edited.Members...)
	if served, _ := edited.Get("sendToClientSdk").Bool(); served && held == document.Flag {
		edited.Delete("sendToClientSdk")
		fixes = append(fixes, document.Issue{Code: problem.InvalidField, Pointer: "/sendToClientSdk", Message: `"sendToClientSdk" taken away: a flag is always served`})
	}
	fixes = append(fixes, renameTimes(edited.Get("default"), "/default")...)
	if list := edited.Get("environments"); list != nil {
		fixes = append(fixes, lowerNames(list.Items, "id", problem.UnknownEnvironment)...)
		for i, e := range list.Items {
			fixes = append(fixes, renameTimes(e, fmt.Sprintf("/environments/%d", i))...)
		}
	}
	return rewritten(text, edited, fixes, nil)
}

// rewritten is a text with what was done to its tree, after what was done before.
func rewritten(text []byte, tree *jsontree.Node, done, before []document.Issue) ([]byte, []document.Issue) {
	if len(done) == 0 {
		return text, before
	}
	made, err := jsontree.Rewrite(text, tree)
	if err != nil {
		return text, before
	}
	return made, append(before, done...)
}

// lowerNames writes the names of environments in small letters, where that makes them
// names, and no two become one. An entry is a name, or an object that has it in a member.
func lowerNames(entries []*jsontree.Node, member string, code problem.Code) (fixes []document.Issue) {
	named := func(entry *jsontree.Node) (name string) {
		if name, isText := entry.Text(); isText {
			return name
		}
		name, _ = entry.Get(member).Text()
		return name
	}
	count := map[string]int{}
	for _, entry := range entries {
		count[strings.ToLower(named(entry))]++
	}
	for i, entry := range entries {
		name := named(entry)
		lower := strings.ToLower(name)
		if lower == name || count[lower] > 1 || SlugProblem(lower) != "" {
			continue
		}
		pointer := fmt.Sprintf("/environments/%d", i)
		if entry.Kind == jsontree.Object {
			entry.Set(member, jsontree.NewString(lower))
			pointer += "/" + member
		} else {
			entries[i] = jsontree.NewString(lower)
		}
		fixes = append(fixes, document.Issue{Code: code, Pointer: pointer, Message: fmt.Sprintf("the environment %s becomes %q", terminal.Quote(name), lower)})
	}
	return fixes
}

// renameTimes writes the current time as svc calls it into the criteria of rules.
func renameTimes(scope *jsontree.Node, pointer string) (fixes []document.Issue) {
	for i, r := range scope.Get("rules").Elements() {
		for j, c := range r.Get("criteria").Elements() {
			if name, _ := c.Get("propertyName").Text(); evaluation.OlderCurrentTime(name) {
				c.Set("propertyName", jsontree.NewString(evaluation.CurrentTime))
				fixes = append(fixes, document.Issue{Code: problem.OlderTimeName, Pointer: fmt.Sprintf("%s/rules/%d/criteria/%d/propertyName", pointer, i, j),
					Message: fmt.Sprintf("%s becomes %s", name, evaluation.CurrentTime)})
			}
		}
	}
	return fixes
}

// likeDocument reports whether an object is a document apart from what Fix repairs.
func likeDocument(tree *jsontree.Node, held document.Type) bool {
	rules, named := tree.Get("default"), tree.Get("type")
	if named != nil {
		is, _ := named.Text()
		return is == string(held)
	}
	return rules != nil && rules.Kind == jsontree.Object
}

// fromUTF16 is a text of UTF-16 as UTF-8 with a byte order mark; not ok for another
// text, and for one of which something would be lost.
func fromUTF16(text []byte) (recoded []byte, ok bool) {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case len(text)%2 != 0:
		return nil, false
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		order = binary.BigEndian
	case !bytes.HasPrefix(text, []byte("\xff\xfe")):
		return nil, false
	}
	units := make([]uint16, len(text)/2)
	if _, err := binary.Decode(text, order, units); err != nil {
		return nil, false
	}
	runes := utf16.Decode(units)
	back, _ := binary.Append(nil, order, utf16.Encode(runes))
	return []byte(string(runes)), bytes.Equal(back, text)
}
