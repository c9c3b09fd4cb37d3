package workspace

import (
	"crypto/sha256"
	"fmt"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
)

// Decoded is a file decoded.
type Decoded struct {
	// Part is a workspace of this file alone.
	Part *Workspace
	// Item is the document, nil when the file is none or no JSON object.
	Item *Item
	// Tree is the file as JSON; for a text that is none, a string that only
	// an equal text has.
	Tree     *jsontree.Node
	Problems []Problem
}

// Decode decodes a file of the layout.
func Decode(path string, text []byte) *Decoded {
	var item *Item
	part, problems := ReadEach(map[string][]byte{path: text}, func(i *Item) { item = i })
	d := &Decoded{Part: part, Problems: problems}
	switch {
	case item != nil:
		d.Tree = item.Tree
		if item.Tree.Kind == jsontree.Object {
			d.Item = item
		}
	case len(part.Schemas) == 1 && part.Schemas[0].Tree != nil:
		d.Tree = part.Schemas[0].Tree
	case part.Declaration.Tree != nil:
		d.Tree = part.Declaration.Tree
	default:
		d.Tree = jsontree.NewString(fmt.Sprintf("%x", sha256.Sum256(text)))
	}
	return d
}

// DecodeUnread is Decode of a file that is there and has no text; its tree is a string that
// only the same file has.
func DecodeUnread(path, id string, why *Unread) *Decoded {
	var r reader
	folder, key, _ := SplitPath(path)
	p := &part{path: path, key: key}
	p.broken(folder, Problem{Severity: Fatal, File: path, Message: why.Why, Code: problem.UnreadableFile}, &r.problems)
	r.put(p)
	r.end()
	return &Decoded{Part: &r.ws, Problems: r.problems.sorted(), Tree: jsontree.NewString(id)}
}

// Why says what is wrong with a file that holds no document, as the end of a sentence.
func (d *Decoded) Why() string {
	if len(d.Problems) == 0 {
		return ""
	}
	return ": " + InWords(d.Problems)
}

// InWords is the first of problems of one file.
func InWords(problems []Problem) string {
	p := problems[0]
	if p.Line > 0 {
		return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
	}
	return p.Message
}
