package workspace

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
)

// mistaken is a document with so many rules that are none.
func mistaken(key string, rules int) []byte {
	return fmt.Appendf(nil, `{"key":%q,"type":"config","valueType":"int","default":{"rules":[%s]}}`, key, strings.TrimSuffix(strings.Repeat("1,", rules), ","))
}

// TestProblemsAreBounded: of each severity the first are told, and how many more
// there are; what is held meanwhile does not grow with them.
func TestProblemsAreBounded(t *testing.T) {
	const documents, rules = 12, 20_000
	files := map[string][]byte{}
	for i := range documents {
		key := fmt.Sprint("c", i)
		files["configs/"+key+".json"] = mistaken(key, rules)
	}
	misspelt := `"descripton":1`
	for i := range MaxProblems + 7 {
		key := fmt.Sprint("f", i)
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{"key":%q,"type":"feature_flag","valueType":"bool",%s,"default":{"rules":[]}}`, key, misspelt)
	}
	for name, read := range map[string]func() []Problem{
		"read":   func() []Problem { _, found := Read(files); return found },
		"served": func() []Problem { _, found := ReadServable(files, nil); return found },
		"verified": func() []Problem {
			_, found := ReadAndVerify(files)
			return found
		},
	} {
		found := read()
		listed, more := map[Severity]int{}, map[Severity]int{}
		for i, p := range found {
			if p.More == 0 {
				listed[p.Severity]++
			} else if more[p.Severity] += p.More; p.File != "" || i < len(found)-3 || !strings.Contains(p.String(), fmt.Sprintf("and %d more ", p.More)) {
				t.Errorf("%s: %d: %v", name, i, p)
			}
		}
		if listed[Fatal] != MaxProblems || listed[Fatal]+more[Fatal] != documents*rules {
			t.Errorf("%s: %d and %d more of %d", name, listed[Fatal], more[Fatal], documents*rules)
		}
		if name == "verified" && (listed[Warning] != MaxProblems || more[Warning] != 7) {
			t.Errorf("%s: %d and %d more warnings", name, listed[Warning], more[Warning])
		}
		if listed[Error]+more[Error] != 0 {
			t.Errorf("%s: what was said is said again: %d", name, listed[Error]+more[Error])
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapSys > 120<<20 {
			t.Errorf("%s: %d MB of heap", name, m.HeapSys>>20)
		}
	}
}

// TestNoMoreProblemsAreSought than somebody wants: documents after those are not
// looked at. Who wants all is told each, those that are bounded too.
func TestNoMoreProblemsAreSought(t *testing.T) {
	files := map[string][]byte{}
	for i := range 20 {
		files[fmt.Sprintf("configs/c%d.json", i)] = mistaken(fmt.Sprint("c", i), 2*MaxProblems)
	}
	seek := func(most int) (told int, allocations float64) {
		allocations = testing.AllocsPerRun(1, func() {
			told = 0
			VerifyEach(files, func(p Problem) bool {
				if told++; p.More > 0 || p.Line != 1 {
					t.Fatalf("%+v", p)
				}
				return told < most
			})
		})
		return told, allocations
	}
	told, some := seek(MaxProblems + 1)
	each, all := seek(math.MaxInt)
	t.Logf("%.0f allocations for %d problems, %.0f for all", some, told, all)
	if each != 20*2*MaxProblems {
		t.Errorf("%d problems are told of all", each)
	}
	if told != MaxProblems+1 || some > all/8 {
		t.Errorf("%d problems are told, with %.0f allocations; all take %.0f", told, some, all)
	}
}
