package jsontree

import (
	"strconv"
	"strings"
)

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Pointer writes a JSON Pointer (RFC 6901) from its unescaped parts.
func Pointer(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteByte('/')
		escaper.WriteString(&b, part)
	}
	return b.String()
}

// Nearest follows a JSON Pointer as far as the tree goes and returns the last
// node reached: where to look for a member that is missing.
func (n *Node) Nearest(pointer string) *Node {
	for pointer != "" {
		part, rest := nextPart(pointer)
		child := n.child(part)
		if child == nil {
			return n
		}
		n, pointer = child, rest
	}
	return n
}

// At returns the node a JSON Pointer names, or nil.
func (n *Node) At(pointer string) *Node {
	for pointer != "" && n != nil {
		var part string
		part, pointer = nextPart(pointer)
		n = n.child(part)
	}
	return n
}

func nextPart(pointer string) (part, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	part, _, found := strings.Cut(pointer, "/")
	if found {
		rest = pointer[len(part):]
	}
	return unescaper.Replace(part), rest
}

func (n *Node) child(part string) *Node {
	if n.Kind != Array {
		return n.Get(part)
	}
	i, err := strconv.Atoi(part)
	if err != nil || i < 0 || i >= len(n.Items) {
		return nil
	}
	return n.Items[i]
}
