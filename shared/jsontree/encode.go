package jsontree

import "github.com/go-json-experiment/json/jsontext"

// Encode writes the tree indented by two spaces, with a final newline: the
// form in which documents are stored.
func (n *Node) Encode() []byte {
	return append(n.indented(), '\n')
}

// EncodedSize is how many bytes Encode writes, without writing them: of what
// nests deeply they are hundreds of times as many as in the text that came.
func (n *Node) EncodedSize() int { return n.indentedSize(0) + len("\n") }

func (n *Node) indentedSize(depth int) int {
	line := len("\n") + 2*(depth+1)
	size, elements := 0, len(n.Members)+len(n.Items)
	for _, m := range n.Members {
		size += line + len(m.text) + len(": ") + m.Value.indentedSize(depth+1)
	}
	for _, item := range n.Items {
		size += line + item.indentedSize(depth+1)
	}
	switch {
	case elements > 0:
		return size + elements - 1 + len("[]\n") + 2*depth // commas, brackets, the line of the last one
	case n.Kind == Object || n.Kind == Array:
		return len("[]")
	}
	return len(n.text)
}

// Compact writes the tree without white space.
func (n *Node) Compact() []byte {
	return n.AppendCompact(nil)
}

// AppendCompact is Compact onto the end of dst.
func (n *Node) AppendCompact(dst []byte) []byte {
	switch n.Kind {
	case Object:
		dst = append(dst, '{')
		for i, m := range n.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, m.text...), ':')
			dst = m.Value.AppendCompact(dst)
		}
		return append(dst, '}')
	case Array:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendCompact(dst)
		}
		return append(dst, ']')
	}
	return append(dst, n.text...)
}

// indented takes every tree that Parse makes, also after an edit; one that is no JSON is
// written without white space.
func (n *Node) indented() []byte {
	text := n.Compact()
	if lines, err := jsontext.AppendFormat(nil, text, jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true)); err == nil {
		return lines
	}
	return text
}

// MarshalJSON lets a tree stand inside a value that encoding/json writes.
func (n *Node) MarshalJSON() ([]byte, error) {
	return n.Compact(), nil
}
