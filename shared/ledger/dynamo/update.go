package dynamo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// update collects an update expression and its condition. Names go through
// placeholders, since many are reserved words.
type update struct {
	names   map[string]string
	values  item
	sets    []string
	demands []string
}

func newUpdate() update { return update{names: map[string]string{}, values: item{}} }

func (u *update) name(name string) string {
	u.names["#"+name] = name
	return "#" + name
}

func (u *update) set(name string, value attribute) {
	u.values[":"+name] = value
	u.sets = append(u.sets, fmt.Sprintf("%s = :%s", u.name(name), name))
}

func (u *update) require(name string, value attribute) {
	u.values[":was"+name] = value
	u.demands = append(u.demands, fmt.Sprintf("%s = :was%s", u.name(name), name))
}

// requireNumber is require for a number that rows have lacked: none is 0.
func (u *update) requireNumber(name string, n int64) {
	u.require(name, number(n))
	if n == 0 {
		last := &u.demands[len(u.demands)-1]
		*last = fmt.Sprintf("(attribute_not_exists(#%s) OR %s)", name, *last)
	}
}

// requireFormat keeps from changing a workspace whose format has become a
// newer one since its head was read.
func (u *update) requireFormat() {
	u.values[":oldest"], u.values[":known"] = number(1), number(Format)
	u.demands = append(u.demands, fmt.Sprintf("(attribute_not_exists(%[1]s) OR %[1]s BETWEEN :oldest AND :known)", u.name("format")))
}

func (u *update) expression() *string {
	s := "SET " + strings.Join(u.sets, ", ")
	return &s
}

func (u *update) condition() *string {
	s := strings.Join(u.demands, " AND ")
	return &s
}

func sorted(i item) []string { return slices.Sorted(maps.Keys(i)) }
