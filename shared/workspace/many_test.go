package workspace

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/jsontree"
)

// A document of a megabyte that is nothing but mistakes takes little more than to
// be read: the places of all of them are looked for at once.
func TestADocumentOfNothingButMistakes(t *testing.T) {
	rules := make([]string, 4000)
	for i := range rules {
		rules[i] = fmt.Sprintf(`{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.a",
"valueToMatch":{"type":"string","value":"(?i)[a-\uffff](%d"}}],"value":{"type":"bool","value":true}}`, i)
	}
	text := `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[` + strings.Join(rules, ",\n") + `]}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, problems := ReadServable(map[string][]byte{"feature-flags/f.json": []byte(text)}, func(*Item) {})
	runtime.ReadMemStats(&after)
	if len(problems) != jsontree.MaxIssues+1 || problems[1].Line != 4 {
		t.Errorf("%d problems, %v", len(problems), problems[1])
	}
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 160 { // 30; with the race detector 80
		t.Errorf("%d MB were made", made)
	}
}
