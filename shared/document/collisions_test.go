package document

import (
	"fmt"
	"strings"
	"testing"
)

// nestings are so many different arrays of arrays that hold nothing else, of n
// pairs of brackets each. The library's index takes them for the same.
func nestings(most, n int) []string {
	var found []string
	var walk func(text string, open, left int)
	walk = func(text string, open, left int) {
		switch {
		case len(found) == most:
		case left == 0 && open == 0:
			found = append(found, strings.ReplaceAll("["+text+"]", "][", "],["))
		default:
			if left > 0 {
				walk(text+"[", open+1, left-1)
			}
			if open > 0 {
				walk(text+"]", open-1, left)
			}
		}
	}
	walk("", 0, n)
	return found
}

func TestItemsThatCollideCount(t *testing.T) {
	distinct := func(n int, item string) string { // item has one %d
		return "[" + join(n, func(i int) string { return fmt.Sprintf(item, i) }) + "]"
	}
	for _, tt := range []struct {
		name, value string
		refused     bool
	}{
		{"nested arrays", "[" + strings.Join(nestings(6_500, 11), ",") + "]", true},
		{"a few nested arrays", "[" + strings.Join(nestings(100, 8), ",") + "]", false},
		{"texts that are split in two ways", distinct(20_000, `["a\u0004b%d","c"]`), false},
		{"the same again and again", "[" + join(6_000, func(int) string { return "[[],[[]]]" }) + "]", false},
		{"numbers", distinct(5_000, "%d"), false},
		{"numbers and their opposites", "[" + join(2_000, func(i int) string { return fmt.Sprintf("%d,-%d", i+1, i+1) }) + "]", false},
		{"objects", distinct(10_000, `{"id":%d,"name":"x"}`), false},
		{"lists", distinct(10_000, `["x",%d]`), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value := parse(t, tt.value)
			found := mustCompile(t, `{"uniqueItems": true}`).Check(value)
			if refused := len(found) == 1 && strings.Contains(found[0].Message, "takes more than"); refused != tt.refused {
				t.Errorf("refused: %v, %q", refused, lines(found))
			}
		})
	}
}

// TestASchemaOfItemsThatCollide is refused before the library compares them all:
// with 40,000 of them that took a minute.
func TestASchemaOfItemsThatCollide(t *testing.T) {
	many := "[" + strings.Join(nestings(2_000, 11), ",") + "]"
	for _, text := range []string{
		`{"$schema": "http://json-schema.org/draft-07/schema#", "enum": ` + many + `}`,
		`{"required": ` + many + `}`,
		`{"properties": {"a": {"type": ` + many + `}}}`,
		`{"allOf": [{"dependentRequired": {"a": ` + many + `}}]}`,
	} {
		if _, issues := CompileSchema(parse(t, text)); len(issues) != 1 || !strings.Contains(issues[0].Message, "too many nested lists") {
			t.Errorf("%.60s: %d issues", text, len(issues))
		}
	}
	if _, issues := CompileSchema(parse(t, `{"enum": [`+strings.Join(nestings(100, 8), ",")+`]}`)); len(issues) > 0 {
		t.Errorf("%q", lines(issues))
	}
}
