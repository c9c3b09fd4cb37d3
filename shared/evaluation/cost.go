package evaluation

// What a context may cost. A client that asks for an evaluation chooses what the
// context holds, so the time that its comparisons take is bounded whatever it
// is: estimated in nanoseconds, from above, before any of them is made. A
// property that would take more than what is left counts as an object does:
// present, and equal to nothing. The estimate depends on the rules and the
// context alone, so every evaluation of one context agrees.
const (
	// budget is how long the comparisons of one context may take.
	budget = 100_000_000
	// A text of up to freeText bytes, and a list of up to freeItems of these, is
	// compared at any cost: that is then the rules', not the context's.
	freeText  = 64
	freeItems = 16
	// MaxMatched is the longest text that is held against regular expressions.
	// A longer one matches none.
	MaxMatched = 4096
	// MaxItems is how many elements a list may have, and maxNumber how many
	// characters a number: one with more counts as an object.
	MaxItems  = 10_000
	maxNumber = 1024
	// maxTime is the longest text that is read as a time.
	maxTime = 64
)

// What comparisons take, measured on bad cases and rounded up.
const (
	containsByte = 2   // a byte of a text that may contain an operand
	hashByte     = 1   // a byte of a text that a split hashes
	matchByte    = 100 // a byte of a text, and an instruction of a regular expression
	itemOperand  = 5   // an element of a list, and an operand
	itemTest     = 20  // an element of a list, and a test for equality with up to shortList texts
	searchStep   = 6   // an element of a list, and each bit of how many more texts there are
)

// price is what the tests of a slot take, all together.
type price struct {
	textByte    int64 // of a text
	matchedByte int64 // of a text that is not too long for regular expressions
	itemByte    int64 // of a list's elements
	item        int64 // for each element of a list
}

// of is what a property takes; 0 for one that is compared at any cost.
func (s *price) of(p *Property) int64 {
	if p.Kind == ListProperty {
		return s.ofList(p.List)
	}
	n := int64(len(p.Text))
	switch {
	case n <= freeText:
		return 0
	case n <= MaxMatched && p.Kind == TextProperty:
		return n * (s.textByte + s.matchedByte)
	}
	return n * s.textByte
}

func (s *price) ofList(list []string) int64 {
	bytes, longest := 0, 0
	for _, text := range list {
		bytes += len(text)
		longest = max(longest, len(text))
	}
	if len(list) <= freeItems && longest <= freeText {
		return 0
	}
	return int64(len(list))*s.item + int64(bytes)*s.itemByte
}
