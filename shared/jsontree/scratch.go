package jsontree

// Scratch reads one text after another into the same memory, for a caller that is done
// with each tree before the next: reading thousands of documents leaves no garbage that
// is many times as large as they are. It is for one goroutine at a time. A nil
// Scratch reads every text into memory of its own.
type Scratch struct{ p *parser }

// NewScratch makes a Scratch.
func NewScratch() *Scratch {
	p := newParser()
	p.nodes.least, p.objects.least, p.lists.least = maxScratch, maxScratch, maxScratch
	return &Scratch{p}
}

// ParseWithin is the function of that name, but the tree is good until the next
// text is read: nothing of it may be kept but strings.
func (s *Scratch) ParseWithin(text []byte, values int) (*Node, error) {
	if s == nil {
		return ParseWithin(text, values)
	}
	// Emptied, so that a node kept by mistake holds nothing rather than what
	// belongs to another document.
	s.p.nodes.piece = emptied(s.p.nodes.piece)
	s.p.objects.piece = emptied(s.p.objects.piece)
	s.p.lists.piece = emptied(s.p.lists.piece)
	return s.p.parse(text, values)
}
