package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/impact"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// TestEveryOperatorHasWords, and no other.
func TestEveryOperatorHasWords(t *testing.T) {
	for _, operator := range evaluation.Operators() {
		if operatorWords[operator] == "" {
			t.Errorf("%s has none", operator)
		}
	}
	if len(operatorWords) != len(evaluation.Operators()) {
		t.Errorf("%d operators have words, and there are %d", len(operatorWords), len(evaluation.Operators()))
	}
}

// TestATreeStaysInItsLines, whatever documents and contexts hold.
func TestATreeStaysInItsLines(t *testing.T) {
	hostile := jsontree.NewString("\x1b[2J\n  ✓ " + strings.Repeat("x", 500))
	source, index := evaluation.EnvironmentRules, 0
	answer := &explanation.Evaluations{Environment: "prod\nuction", Evaluations: map[string]*explanation.Evaluation{"k\n": {
		Value: []byte("\"a\u202eb\""), ValueType: document.StringValue, RuleSource: &source, RuleIndex: &index, Truncated: true,
		Explanation: []evaluation.TriedRule{{RuleSource: source, Matched: true, Criteria: []evaluation.TriedCriterion{
			{Operator: "X\nY", PropertyName: "user.\x1b", Expected: jsontree.NewArray(hostile), Actual: hostile, Present: true},
			{Operator: "PROP_MATCHES", PropertyName: "user.p", Confidential: true},
			{Operator: evaluation.InSegment, Expected: jsontree.NewString("s"), Segment: []evaluation.TriedRule{}},
			{Operator: evaluation.InSegment, Expected: hostile}},
			Split: &evaluation.TriedSplit{Property: "user.\n", Arms: []evaluation.TriedArm{{Confidential: true, To: 50}, {Truncated: true, From: 50, To: 100, Chosen: true}}}}},
	}}}
	text := evaluationTree("k\n", answer)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 11 || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	for _, want := range []string{"matches what is confidential", "it has no rules", "as there is no user.", "0 to 50: confidential", "50 to 100: too long to be shown", "\n  and more than is told"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, line := range lines {
		if len([]rune(line)) > 520 {
			t.Errorf("a line of %d characters", len([]rune(line)))
		}
	}
}

// TestAContextAsPowerShellWritesIt, with a byte order mark or in UTF-16.
func TestAContextAsPowerShellWritesIt(t *testing.T) {
	dir := t.TempDir()
	in := Invocation{&cli.Caller{Getenv: func(string) string { return "" }, Workdir: dir}}
	for text, wrong := range map[string]string{
		"\ufeff{\"user\": {\"key\": \"u\"}}\r\n": "",
		"\xff\xfe{\x00}\x00":                     "it is written in UTF-16; save the file as UTF-8",
		"\xfe\xff\x00{\x00}":                     "it is written in UTF-16; save the file as UTF-8",
	} {
		path := filepath.Join(dir, "context.json")
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
		seen := 0
		_, one := in.context(evaluationFlags{contextFile: path})
		several := in.eachContext(t.Context(), path, func(*impact.Context) { seen++ })
		for flag, err := range map[string]error{"--context-file": one, "--contexts": several} {
			if (err == nil) != (wrong == "") || err != nil && !strings.HasSuffix(err.Error(), wrong) {
				t.Errorf("%s of %q: %v", flag, text, err)
			}
		}
		if (seen == 1) != (wrong == "") {
			t.Errorf("%q: %d contexts", text, seen)
		}
	}
}
