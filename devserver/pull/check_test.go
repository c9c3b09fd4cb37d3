package pull_test

import (
	"os"
	"strings"
	"testing"

	"svc.example/svc/devserver/pull"
)

// TestAnAnswerWithoutTheList: it says nothing of the workspace, and must not be
// taken for one that holds nothing.
func TestAnAnswerWithoutTheList(t *testing.T) {
	for path, member := range map[string]string{
		"/whoami": "workspaceId", "/export": "documents", "/environments": "environments",
	} {
		answers := []string{`{}`, `null`, `[]`, `""`, ``, `{"` + member + `":null}`, `{"` + member + `":{}}`, `{"` + strings.ToUpper(member) + `":[]}`, `{"` + member + `":[],"nextCursor":"more"}`}
		if path == "/export" {
			answers = append(answers, `{"documents":[],"commitSha":"1"}`, `{"documents":[],"commitSha":"1","total":1}`, `{"documents":[],"commitSha":"1","total":0,"nextCursor":"1"}`,
				`{"documents":[{"type":"x","key":"a","commitSha":"1","document":{}}],"commitSha":"1","total":1}`)
		}
		for _, answer := range answers {
			f := newFake(t)
			f.set("a", flag("a", ""))
			f.others = []string{beta}
			f.pull()
			f.set("a", flag("a", ""))
			f.answers = map[string]string{path: answer}
			p, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{Force: true})
			if err == nil || !strings.HasPrefix(err.Error(), "nothing written: GET "+path+": ") || !strings.Contains(err.Error(), "this is not an answer of the API") {
				t.Errorf("%s %s: %v, %+v", path, answer, err, p)
			}
		}
	}
	f := newFake(t)
	f.set("a", flag("a", ""))
	f.pull()
	f.remove("a")
	if p := f.pull(); len(p.Remove) != 1 {
		t.Errorf("an empty list removes what was deleted: %+v", p)
	}
}

// TestWhatCannotBeServedIsNotPulled: a directory that svc serve refuses would
// stand in the way of everything else in it.
func TestWhatCannotBeServedIsNotPulled(t *testing.T) {
	for document, says := range map[string]string{
		`null`: "feature-flags/bad.json", `[]`: "feature-flags/bad.json", `"x"`: "feature-flags/bad.json", `{}`: "feature-flags/bad.json",
		strings.Replace(flag("bad", ""), "feature_flag", "config", 1):        "the type is config, which belongs in the folder configs",
		flag("bad", `"description":"`+strings.Repeat("x", 1<<20)+`",`):       "a file may have at most 1048576",
		`{"key":"bad","type":"feature_flag","valueType":"bool","default":7}`: "feature-flags/bad.json",
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000):              "this is not an answer of the API",
	} {
		f := newFake(t)
		f.set("good", flag("good", ""))
		f.set("bad", document)
		p, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{Force: true})
		if err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 1000 {
			t.Errorf("%.80s: %v, %+v", document, err, p)
		}
		if _, err := os.Stat(f.dir); err == nil {
			t.Errorf("%.80s: something was written", document)
		}
	}
	f := newFake(t)
	f.set("a", flag("a", ""))
	f.others = []string{`{"type":"config","key":"A","commitSha":"1","document":{"key":"A","type":"config","valueType":"string","default":{"rules":[]}}}`}
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), `is taken by`) || !strings.Contains(err.Error(), "nothing written: svc serve would refuse") {
		t.Error(err)
	}
	f = newFake(t)
	f.set("a", flag("a", ""))
	f.write("configs/A.json", `{"key":"A","type":"config","valueType":"string","default":{"rules":[]}}`)
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), `is taken by`) {
		t.Error("beside a file that is only here:", err)
	}
}

// TestWhatVerifyObjectsToIsTold: the workspace has it, and serves it.
func TestWhatVerifyObjectsToIsTold(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("other", ""))
	f.write("feature-flags/mine.json", "{")
	for range 2 {
		p := f.pull()
		if len(p.Problems) != 2 || p.Problems[0].File != "feature-flags/a.json" || !strings.Contains(p.Problems[0].Message, `the key is "other"`) || p.Problems[1].File != "feature-flags/mine.json" {
			t.Errorf("%+v", p.Problems)
		}
	}
}
