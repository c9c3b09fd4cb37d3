package workspace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"svc.example/svc/shared/document"
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
	if rewritten, err := jsontree.Rewrite(text, edited); err == nil {
		text = rewritten
	}
	return text, fixes
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
