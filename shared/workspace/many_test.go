package workspace

import (
	"fmt"
	"runtime"
	"slices"
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
	_, problems := ReadServable(map[string][]byte{"feature-flags/f.json": []byte(text)}, nil)
	runtime.ReadMemStats(&after)
	if len(problems) != jsontree.MaxIssues+1 || problems[1].Line != 4 {
		t.Errorf("%d problems, %v", len(problems), problems[1])
	}
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 160 { // 30; with the race detector 80
		t.Errorf("%d MB were made", made)
	}
}

// TestTheExpressionsOfAWorkspaceAreBounded together, each that differs counted
// once: the problem is that of the document which has no room.
func TestTheExpressionsOfAWorkspaceAreBounded(t *testing.T) {
	files := map[string][]byte{}
	put := func(key string, of int) {
		var rules []string
		for i := range 49 {
			rules = append(rules, fmt.Sprintf(`{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.a","valueToMatch":{"type":"string","value":"%d-%d|x{1000}"}}],"value":{"type":"bool","value":true}}`, of, i))
		}
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{"key":%q,"type":"feature_flag","valueType":"bool","default":{"rules":[%s]}}`, key, strings.Join(rules, ","))
	}
	check := func(want ...string) {
		t.Helper()
		_, served := ReadServable(files, nil)
		_, verified := ReadAndVerify(files)
		for _, found := range [][]Problem{FatalOnly(served), verified} {
			var at []string
			for _, p := range found {
				if strings.Contains(p.Message, "250000 instructions together") && strings.Contains(p.Message, "shorten") {
					at = append(at, p.File)
				}
			}
			if !slices.Equal(at, want) {
				t.Errorf("the problems are at %v, want %v", at, want)
			}
		}
	}
	for i := range 5 {
		put(fmt.Sprint("f", i), i)
	}
	put("same", 0)
	check()
	put("more", 7)
	check("feature-flags/more.json")
}
