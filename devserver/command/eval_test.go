package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestWhyAnItemIsStale judges by when it was changed and evaluated, on 2026-11-23.
func TestWhyAnItemIsStale(t *testing.T) {
	const always, sometimes = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}`, `{"criteria":[{"operator":"IS_PRESENT","propertyName":"user.key"}],"value":{"type":"bool","value":false}}`
	for _, c := range []struct {
		name, kind, rules, more, since, changed, evaluated string
		want                                               string
	}{
		{"in use", "feature_flag", sometimes, "", "2026-01-01", "2026-01-01", "2026-11-23", ""},
		{"not evaluated for long", "feature_flag", sometimes, "", "2026-01-01", "2026-01-01", "2026-10-23", "was not evaluated in the last 30 days"},
		{"evaluated on the first day that counts", "feature_flag", sometimes, "", "2026-01-01", "2026-01-01", "2026-10-24", ""},
		{"never evaluated", "config", always, "", "2026-01-01", "2026-01-01", "", "was not evaluated since 2026-01-01, when counting began"},
		{"counted for too short a time", "feature_flag", sometimes, "", "2026-10-25", "2026-01-01", "", ""},
		{"nothing counted", "feature_flag", sometimes, "", "", "2026-01-01", "", ""},
		{"changed lately", "feature_flag", sometimes, "", "2026-01-01", "2026-10-24", "", ""},
		{"changed lately, and marked", "feature_flag", always, `,"readyForCleanup":true`, "2026-01-01", "2026-10-24", "", "is marked as ready for cleanup"},
		{"all at once", "feature_flag", always, `,"readyForCleanup":true`, "2026-01-01", "2026-01-01", "2026-02-01",
			"is marked as ready for cleanup; serves true to everybody; was not evaluated in the last 30 days"},
		{"a config with one value", "config", always, "", "2026-01-01", "2026-01-01", "2026-11-23", ""},
		{"a segment", "segment", always, `,"readyForCleanup":true`, "2026-01-01", "2026-01-01", "", ""},
		{"a secret", "feature_flag", strings.Replace(always, `"value":true}`, `"value":true,"confidential":true}`, 1), "", "2026-01-01", "2026-01-01", "2026-11-23", "serves a secret to everybody"},
	} {
		tree := must.Get(document.Parse([]byte(`{"key":"k","type":"` + c.kind + `","valueType":"bool","default":{"rules":[` + c.rules + `]}` + c.more + `}`)))(t)
		v := staleView{environments: []string{"production"}, days: 30, today: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), since: c.since, uses: map[string]itemUse{}}
		use := itemUse{Key: "k"}
		if use.LastModified.Date = c.changed + "T10:00:00Z"; c.evaluated != "" {
			use.LastEvaluatedAt = c.evaluated + "T00:00:00Z"
		}
		v.uses["k"] = use
		var got []string
		for _, r := range v.judge(document.View(tree), "k").Reasons {
			got = append(got, r.Message)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, strings.Join(got, "; "), c.want)
		}
	}
}
