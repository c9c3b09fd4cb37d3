package jsontree

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Canonical writes a tree so that trees that Equal finds the same are written
// the same.
func (n *Node) Canonical() string {
	var b strings.Builder
	writeCanonical(&b, n)
	return b.String()
}

func writeCanonical(b *strings.Builder, n *Node) {
	switch {
	case n == nil:
		b.WriteByte('?')
	case n.Kind == Object:
		members := make(map[string]*Node, len(n.Members))
		for _, m := range n.Members {
			members[m.Name] = m.Value
		}
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(members)) {
			b.WriteString(strconv.Quote(name) + ":")
			writeCanonical(b, members[name])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case n.Kind == Array:
		b.WriteByte('[')
		for _, item := range n.Items {
			writeCanonical(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case n.Kind == String:
		text, _ := n.Text()
		b.WriteString(strconv.Quote(text))
	case n.Kind == Number:
		b.WriteString(NumberText(n.Literal()))
	default:
		b.Write(n.Compact())
	}
}
