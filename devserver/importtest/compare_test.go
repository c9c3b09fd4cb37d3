package importtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"svc.example/svc/devserver/importer"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
	"svc.example/svc/shared/workspace"
)

// How many random flags and contexts are compared of a system. With SVC_TEST_FULL=1 there are
// more.
var flagCount, contextCount = 100, 100

func init() {
	if os.Getenv("SVC_TEST_FULL") != "" {
		flagCount, contextCount = 300, 350
	}
}

func keys(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("k-%d", i))
	}
	return all
}

// theirs is what the other system's evaluator serves.
func theirs(t *testing.T, system string, definition any, contexts []object) (served []map[string]json.RawMessage) {
	t.Helper()
	testenv.File(t, "run `make tools`, or npm ci in devserver/importtest", filepath.Join("node_modules", ".package-lock.json"))
	node := exec.Command(testenv.Program(t, "on Debian, apt-get install nodejs", "node"), "evaluate.js")
	node.Stdin = bytes.NewReader(must.Get(json.Marshal(object{"system": system, "definition": definition, "contexts": contexts}))(t))
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	must.Do(t, json.Unmarshal(out, &served))
	return served
}

// inOurs is a flat context as svc has it: the targeting key is user.key, and the other
// properties are of the context of that name.
func inOurs(flat object, of string) *jsontree.Node {
	named := map[string]object{"": {}, "user": {}}
	for name, value := range flat {
		if name == "targetingKey" {
			named["user"]["key"] = value
		} else {
			named[of][name] = value
		}
	}
	text, _ := json.Marshal(named)
	tree, _ := jsontree.Parse(text)
	return tree
}

// compare imports a definition, evaluates it for each context by both, and reports each
// difference that the report of the import does not explain. Properties are of the context
// of that name.
func compare(t *testing.T, system string, definition object, contexts []object, of string, served []map[string]json.RawMessage) {
	t.Helper()
	text := must.Get(json.Marshal(definition))(t)
	result := must.Get(importer.Import(system, []importer.File{{Name: "export.json", Text: text}}, nil))(t)
	ws, problems := workspace.ReadAndVerify(result.Files)
	for _, p := range problems {
		if p.Severity == workspace.Error {
			t.Errorf("what is imported is refused: %v", p)
		}
	}
	state := must.Get(explanation.Compile(ws, "production", nil, 0))(t)
	differing, unexplained, compared := map[string]bool{}, 0, 0
	for i, c := range contexts {
		ours := must.Get(state.Evaluate(t.Context(), explanation.Question{Context: inOurs(c, of), All: true, Now: time.Now().UnixMilli(), Random: func() float64 { return 0.5 }}))(t)
		for _, item := range result.Items {
			if item.Outcome == importer.Refused {
				continue
			}
			compared++
			got, want := ours.Evaluations[item.Key].Value, served[i][item.Key]
			if jsontree.Equal(must.Get(jsontree.Parse(got))(t), must.Get(jsontree.Parse(want))(t)) {
				continue
			}
			differing[item.Key] = true
			if item.Outcome != importer.Imported {
				continue
			}
			if unexplained++; unexplained <= 10 {
				t.Errorf("%s counts as imported, and serves %s to %v where %s serves %s\n%s", item.Key, got, c, system, want, must.Get(jsontree.Parse(text))(t).At(item.Pointer).Compact())
			}
		}
	}
	t.Logf("%s: %d imported, %d approximated, %d refused; %d evaluations, %d flags differ as the report says, %d differences unexplained", system,
		result.Count(importer.Imported), result.Count(importer.Approximated), result.Count(importer.Refused), compared, len(differing), unexplained)
	if result.Count(importer.Imported) < len(result.Items)/4 {
		t.Errorf("most flags should be imported: %v", result.Items)
	}
}
