package pull_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/devserver/pull"
	"svc.example/svc/shared/workspace"
)

// sent is a change set as the fake got it.
type sent struct {
	Message    string
	Operations []struct {
		Op, Type, Key     string
		ExpectedCommitSHA string
		Body, Document    map[string]any
	}
	key string
}

func (s sent) String() string {
	var said []string
	for _, o := range s.Operations {
		key := o.Key
		if key == "" {
			key = fmt.Sprint(o.Body["key"])
		}
		said = append(said, strings.TrimRight(strings.Join([]string{o.Op, o.Type, key, o.ExpectedCommitSHA}, " "), " "))
	}
	return strings.Join(said, ", ")
}

// takes has the fake carry out every change set, and returns where the last is.
func (f *fake) takes() *sent {
	last := &sent{}
	f.changes = func(w http.ResponseWriter, r *http.Request, body []byte) {
		*last = sent{key: r.Header.Get("Idempotency-Key")}
		if err := json.Unmarshal(body, last); err != nil {
			f.Errorf("%s: %v", body, err)
		}
		var results []string
		for i := range last.Operations {
			results = append(results, fmt.Sprintf(`{"index":%d,"changed":true,"messages":[{"message":"changed %d"}]}`, i, i))
		}
		fmt.Fprintf(w, `{"changed":true,"commitSha":"new","results":[%s]}`, strings.Join(results, ","))
	}
	return last
}

func (f *fake) push(o pull.PushOptions) (*pull.Push, *pull.Pushed, error) {
	f.reads = nil
	p, err := pull.NewPush(ctx, f.api, f.dir, o)
	if err != nil || p.Nothing() {
		return p, nil, err
	}
	pushed, err := p.Send(ctx)
	return p, pushed, err
}

// sound is a flag that svc verify has nothing against.
func sound(key, name string) string { return flag(key, `"name":"`+name+`",`) }

// pulled is a fake whose flags a, b and c were pulled.
func pulled(t *testing.T) *fake {
	f := newFake(t)
	for _, key := range []string{"a", "b", "c"} {
		f.set(key, sound(key, "old"))
	}
	f.pull()
	return f
}

func (f *fake) drop(path string) {
	must(f, os.Remove(filepath.Join(f.dir, path)))
}

// TestPush sends what was changed, in an order in which everything is there that is
// named, and knows it afterwards.
func TestPush(t *testing.T) {
	f := pulled(t)
	last := f.takes()
	if p, _, err := f.push(pull.PushOptions{}); err != nil || !p.Nothing() {
		t.Fatalf("nothing was changed: %+v %v", p, err)
	}
	f.write("feature-flags/a.json", sound("a", "new"))
	f.write("feature-flags/d.json", sound("d", "mine"))
	f.drop("feature-flags/b.json")
	f.write("configs/limits.json", `{"key":"limits","type":"config","valueType":"json","schemaKey":"s","default":{"rules":[]}}`)
	f.write("configs/wait.json", `{"key":"wait","type":"config","valueType":"duration","default":{"rules":[]}}`)
	f.write("segments/beta.json", `{"key":"beta","type":"segment","valueType":"bool","default":{"rules":[]}}`)
	f.write("log-levels/log-level.shop.json", `{"key":"log-level.shop","type":"log_level","valueType":"log_level","default":{"rules":[]}}`)
	f.write("schemas/s.json", `{"type":"object"}`)
	p, pushed, err := f.push(pull.PushOptions{Message: "why"})
	must(t, err)
	want := "put schema s, put schema s 3, create segment beta, put segment beta, create config limits, put config limits, create config wait, put config wait, " +
		"put feature_flag a 1, create feature_flag d, put feature_flag d, patch log_level log-level.shop, put log_level log-level.shop 3"
	if last.String() != want || last.Message != "why" || len(last.key) != 32 {
		t.Errorf("%s with %q sent\n%s, want\n%s", last.key, last.Message, last, want)
	}
	if strings.Join(p.LeftAlone, " ") != "feature-flags/b.json" || len(pushed.Items) != 7 || strings.Join(pushed.Items[0].Messages, ", ") != "changed 0, changed 1" || strings.Join(pushed.Items[1].Messages, ", ") != `segment "beta" created` || strings.Join(pushed.Items[4].Messages, ", ") != "changed 8" {
		t.Errorf("%+v %+v", p.LeftAlone, pushed.Items)
	}
	if p, _, err = f.push(pull.PushOptions{}); err != nil || !p.Nothing() {
		t.Errorf("again: %+v %v", p.Changed, err)
	}
	if _, _, err = f.push(pull.PushOptions{Delete: true}); err != nil || last.String() != "delete feature_flag b 1" {
		t.Errorf("deleted: %s %v", last, err)
	}
	f.write("feature-flags/a.json", sound("a", "newer"))
	if _, _, err = f.push(pull.PushOptions{Delete: true}); err != nil || last.String() != "put feature_flag a new" {
		t.Errorf("the second time: %s %v", last, err)
	}
}

// TestADryRunIsForgotten, and files that are not named stay to be pushed.
func TestADryRunIsForgotten(t *testing.T) {
	f := pulled(t)
	last := f.takes()
	f.write("feature-flags/a.json", sound("a", "new"))
	f.write("feature-flags/b.json", sound("b", "new"))
	f.write("svc.json", `{"environments":["production"]}`)
	for range 2 {
		p, _, err := f.push(pull.PushOptions{DryRun: true})
		if err != nil || last.String() != "put feature_flag a 1, put feature_flag b 1" || last.key != "" || !p.Declaration {
			t.Errorf("%s %v", last, err)
		}
	}
	if _, _, err := f.push(pull.PushOptions{Only: []string{"feature-flags/b.json"}}); err != nil || last.String() != "put feature_flag b 1" {
		t.Errorf("%s %v", last, err)
	}
	if _, _, err := f.push(pull.PushOptions{}); err != nil || last.String() != "put feature_flag a 1" {
		t.Errorf("%s %v", last, err)
	}
	for path, says := range map[string]string{"svc.json": "svc.json is not pushed", "feature-flags/x.json": "is no document of the directory"} {
		if _, _, err := f.push(pull.PushOptions{Only: []string{path}}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestWhatIsNotPushed: nothing is sent, and the reason names what to do.
func TestWhatIsNotPushed(t *testing.T) {
	many := func(f *fake, n int, size int) {
		for i := range n {
			key := fmt.Sprint("many-", i)
			f.write("feature-flags/"+key+".json", flag(key, `"description":"`+strings.Repeat("x", size)+`",`))
		}
	}
	for name, tt := range map[string]struct {
		change func(f *fake)
		says   string
	}{
		"another workspace": {func(f *fake) { f.workspace = "other" }, "pulled from the workspace ws, and the key is one of the workspace other"},
		"no pull":           {func(f *fake) { f.drop(pull.StateName) }, "svc pull first"},
		"what git obeys":    {func(f *fake) { f.write("HEAD", "ref: refs/heads/main") }, "svc verify refuses"},
		"a broken file":     {func(f *fake) { f.write("feature-flags/a.json", "{") }, "svc verify refuses"},
		"too many":          {func(f *fake) { many(f, 1001, 0) }, "the push has 2002 operations and"},
		"too large":         {func(f *fake) { many(f, 6, 900_000) }, "and a change set may have 2000 and 5242880; name files to push fewer at a time"},
	} {
		f := pulled(t)
		tt.change(f)
		if _, _, err := f.push(pull.PushOptions{}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestARefusalIsToldByFile: the paths of the change set mean nothing to somebody who has files.
func TestARefusalIsToldByFile(t *testing.T) {
	f := pulled(t)
	f.write("feature-flags/a.json", "{\n\"key\":\"a\",\"type\":\"feature_flag\",\"valueType\":\"bool\",\n\"name\":\"new\",\"default\":{\"rules\":[]}}")
	f.write("feature-flags/n.json", sound("n", "new"))
	f.changes = func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.WriteHeader(409)
		fmt.Fprint(w, `{"error":"CONFLICT","message":"nothing was written","details":{"changes":[{"sha":"abc","date":"2026-01-02","authorName":"Ada svc_uk_secret"}],"issues":[
			{"path":"/operations/0/document/name","message":"bad"},{"path":"/operations/1","message":"it exists"},{"path":"/operations/2","message":"it exists"},{"path":"/operations/9/x","message":"far"}]}}`)
	}
	before := f.file(pull.StateName)
	_, _, err := f.push(pull.PushOptions{})
	var refused *pull.Refused
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	want := []workspace.Problem{
		{Severity: workspace.Error, File: "feature-flags/a.json", Line: 3, Column: 8, Pointer: "/name", Message: "bad"},
		{Severity: workspace.Error, File: "feature-flags/n.json", Message: "it exists"},
		{Severity: workspace.Error, File: "the change set", Pointer: "/operations/9/x", Message: "far"},
	}
	if fmt.Sprint(refused.Problems) != fmt.Sprint(want) || fmt.Sprint(refused.Since) != "[{2026-01-02 Ada svc_uk_[redacted] abc}]" {
		t.Errorf("%v %v", refused.Problems, refused.Since)
	}
	if f.file(pull.StateName) != before {
		t.Error("a refused push is remembered")
	}
}

// TestALostAnswerIsSentAgain, of a new schema too: what somebody makes in between is
// refused by the token.
func TestALostAnswerIsSentAgain(t *testing.T) {
	f := pulled(t)
	f.write("schemas/s.json", `{}`)
	times := 0
	last := f.takes()
	take := f.changes
	f.changes = func(w http.ResponseWriter, r *http.Request, body []byte) {
		if times++; times == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		take(w, r, body)
	}
	if _, _, err := f.push(pull.PushOptions{}); err != nil || times != 2 || last.String() != "put schema s, put schema s 3" {
		t.Errorf("sent %d times: %v, %s", times, err, last)
	}
}
