package workspace

import (
	"fmt"
	"strings"
	"testing"
)

// TestProblemsCostLittle: a megabyte of a mistake has some 20,000 problems. What is
// counted are allocations for each of them, that of reading it included.
func TestProblemsCostLittle(t *testing.T) {
	for name, test := range map[string]struct {
		rule string
		most float64
	}{
		"no rule at all":        {`1`, 13},
		"a number that is none": {`{"criteria":[],"value":{"type":"int","value":"x"}}`, 40},
		"a misspelt name":       {`{"critera":[],"value":{"type":"int","value":1}}`, 60},
		"another type":          {`{"criteria":[],"value":{"type":"string","value":"x"}}`, 38},
	} {
		const rules = 18_000
		files := map[string][]byte{"configs/c.json": fmt.Appendf(nil, `{"key":"c","type":"config","valueType":"int","default":{"rules":[%s]}}`,
			strings.TrimSuffix(strings.Repeat(test.rule+",", rules), ","))}
		made := testing.AllocsPerRun(1, func() {
			if _, found := ReadAndVerify(files); len(found) < 100 {
				t.Errorf("%s: %d problems", name, len(found))
			}
		}) / rules
		t.Logf("%s: %.1f allocations for each", name, made)
		if made > test.most {
			t.Errorf("%s: %.1f allocations for each, more than %.0f", name, made, test.most)
		}
	}
}
