package evaluation

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"svc.example/svc/shared/jsontree"
)

// A prerequisite is what another flag has to serve. It is found when all documents are
// there, whatever their order: of a flag that is not there, or whose prerequisites
// lead into a circle, nothing holds.
type prerequisite struct {
	*condition
	item  int    // -1 for none
	first int    // its first answer
	holds []bool // by its answers
}

func (p *prerequisite) test(f *Frame) bool {
	if p.item < 0 {
		return false
	}
	n := f.snapshot.Evaluate(p.item, f)
	return n != None && p.holds[n-p.first]
}

// values are what the answers of a flag are told apart by, in their order.
type values struct {
	identities []string
	key        string // tells lists of them apart
}

// identity is what a text is compared by. A long one is there as its hash.
func identity(text string) string { return string(appendIdentity(nil, text)) }

func appendIdentity(b []byte, text string) []byte {
	if len(text) > longOperand {
		sum := sha256.Sum256([]byte(text))
		return append(append(b, '#'), sum[:]...)
	}
	return append(append(b, '='), text...)
}

func identities(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = identity(text)
	}
	return all
}

// valuesOf are those of a flag's answers: "" for one that holds nothing, since it must
// not be told or is no scalar. Equal ones are one, since most flags have the same few, and
// are found before any is made.
func (u *Units) valuesOf(answers []Answer) *values {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := u.key[:0]
	for i := range answers {
		at := len(key)
		key = append(key, 0) // how long it is: no more than 255 bytes
		switch content := answers[i].Value.Served(); {
		case content == nil || content.Kind == jsontree.Array || content.Kind == jsontree.Object || answers[i].Value.Secret():
		case content.Kind == jsontree.Bool:
			if is, _ := content.Bool(); is {
				key = append(key, "=true"...)
			} else {
				key = append(key, "=false"...)
			}
		default:
			written := content.AppendCompact(key)
			if text := written[len(key):]; content.Kind == jsontree.String && len(text) <= longOperand && bytes.IndexByte(text, '\\') < 0 {
				text[0] = '=' // in the place of its quotes
				key = written[:len(written)-1]
			} else if p := operandOf(content); p.scalar() {
				key = appendIdentity(key, p.Text)
			}
		}
		key[at] = byte(len(key) - at - 1)
	}
	u.key = key
	if known, ok := u.values[string(key)]; ok {
		return known
	}
	made := &values{key: string(key)}
	for rest := made.key; rest != ""; {
		n := 1 + int(rest[0])
		made.identities, rest = append(made.identities, rest[1:n]), rest[n:]
	}
	u.values[made.key] = made
	return made
}

// keepValues is Keep for values.
func (u *Units) keepValues(c *compiler) {
	const worth = 1000
	if len(u.values) < worth {
		return
	}
	kept := map[string]*values{}
	for _, unit := range c.items {
		if unit.values != nil {
			kept[unit.values.key] = unit.values
		}
	}
	if len(u.values) > 2*len(kept)+worth {
		u.values = kept
	}
}

// prerequisite makes the test of a criterion on another flag.
func (c *compiler) prerequisite(criterion *condition) test {
	p := &prerequisite{condition: criterion, item: -1}
	c.prerequisites = append(c.prerequisites, p)
	c.hold(testBytes + textBytes*len(criterion.among))
	return p.test
}

// meetPrerequisites finds the flags that were asked for.
func (c *compiler) meetPrerequisites() {
	if len(c.prerequisites) == 0 {
		return
	}
	straight := c.straight()
	for _, p := range c.prerequisites {
		at, found := c.out.Find(p.flag)
		if !found || c.items[at].values == nil || !straight[at] {
			continue
		}
		values, item := c.items[at].values.identities, c.out.items[at]
		p.item, p.holds = at, make([]bool, len(values))
		for i, each := range values {
			p.holds[i] = each != "" && slices.Contains(p.among, each) == p.wanted
		}
		c.hold(len(values))
		for i := range c.items[at].rules {
			serves := c.out.serves[int(item.first)+i]
			if i == 0 {
				p.first = int(serves.answer)
			}
			if split := c.out.splitOf(serves); split != nil {
				split.once = true // whoever asks gets what the flag serves
			}
		}
	}
}

// straight reports for each item whether its prerequisites lead into no circle: one
// that has none does, and then each of which all prerequisites do.
func (c *compiler) straight() []bool {
	straight := make([]bool, len(c.items))
	left := make([]int, len(c.items)) // prerequisites that are not known to
	over := map[int][]int{}           // items, by those that they ask for
	var known []int
	for i, unit := range c.items {
		for _, flag := range unit.flags() {
			if at, found := c.out.Find(flag); found && c.items[at].values != nil { // nobody gets an answer of another item
				over[at] = append(over[at], i)
				left[i]++
			}
		}
		if left[i] == 0 {
			known = append(known, i)
		}
	}
	for ; len(known) > 0; known = known[1:] {
		straight[known[0]] = true
		for _, i := range over[known[0]] {
			if left[i]--; left[i] == 0 {
				known = append(known, i)
			}
		}
	}
	return straight
}

// flags are those that a unit asks for.
func (u *Unit) flags() []string {
	var keys []string
	for i := range u.rules {
		for _, criterion := range u.rules[i].criteria {
			if criterion.among != nil {
				keys = append(keys, criterion.flag)
			}
		}
	}
	return keys
}
