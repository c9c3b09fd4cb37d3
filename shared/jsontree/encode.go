package jsontree

// Encode writes the tree indented by two spaces, with a final newline: the
// form in which documents are stored.
func (n *Node) Encode() []byte {
	return append(n.appendIndented(nil, 0), '\n')
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

func (n *Node) appendIndented(dst []byte, depth int) []byte {
	switch {
	case n.Kind == Object && len(n.Members) > 0:
		dst = append(dst, '{')
		for i, m := range n.Members {
			dst = appendSeparator(dst, i, depth+1)
			dst = append(append(dst, m.text...), ':', ' ')
			dst = m.Value.appendIndented(dst, depth+1)
		}
		return append(appendLine(dst, depth), '}')
	case n.Kind == Array && len(n.Items) > 0:
		dst = append(dst, '[')
		for i, item := range n.Items {
			dst = appendSeparator(dst, i, depth+1)
			dst = item.appendIndented(dst, depth+1)
		}
		return append(appendLine(dst, depth), ']')
	}
	return n.AppendCompact(dst)
}

func appendSeparator(dst []byte, i, depth int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return appendLine(dst, depth)
}

func appendLine(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, ' ', ' ')
	}
	return dst
}

// MarshalJSON lets a tree stand inside a value that encoding/json writes.
func (n *Node) MarshalJSON() ([]byte, error) {
	return n.Compact(), nil
}
