package pull_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/pull"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/testing/must"
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
	must.Do(f, os.Remove(filepath.Join(f.dir, path)))
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
	must.Do(t, err)
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

// TestAPullOverwritesNothingOfTheLastMoment: what was written since it was planned, by
// an editor or another svc, is as little overwritten as what was there before.
func TestAPullOverwritesNothingOfTheLastMoment(t *testing.T) {
	for name, change := range map[string]func(f *fake){
		"an edited file":   func(f *fake) { f.write("feature-flags/a.json", flag("a", `"name":"mine",`)) },
		"a new file":       func(f *fake) { f.write("feature-flags/new.json", flag("new", `"name":"mine",`)) },
		"a file to go":     func(f *fake) { f.write("feature-flags/gone.json", flag("gone", `"name":"mine",`)) },
		"a deleted file":   func(f *fake) { _ = os.Remove(filepath.Join(f.dir, "feature-flags/a.json")) },
		"a pull meanwhile": func(f *fake) { f.pull() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.set("a", flag("a", ""))
			f.set("gone", flag("gone", ""))
			f.pull()
			f.set("a", flag("a", `"name":"theirs",`))
			f.set("new", flag("new", `"name":"theirs",`))
			f.remove("gone")
			p := f.plan(pull.Options{})
			change(f)
			before := f.everything()
			if err := p.Apply(ctx); err == nil || !strings.Contains(err.Error(), "nothing written") || !strings.Contains(err.Error(), "svc pull again") {
				t.Error(err)
			}
			if got := f.everything(); got != before {
				t.Errorf("there is\n%s\nand was\n%s", got, before)
			}
		})
	}
}

func (f *fake) everything() string {
	var all strings.Builder
	for _, path := range []string{"feature-flags/a.json", "feature-flags/new.json", "feature-flags/gone.json", pull.StateName} {
		all.WriteString(path + ": " + f.file(path) + "\n")
	}
	return all.String()
}

func TestAPullWaitsForItsTurn(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("a", ""))
	f.pull()
	f.set("a", flag("a", `"name":"theirs",`))
	p := f.plan(pull.Options{})
	lock := must.Get(datadir.Lock(ctx, f.dir))(t)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	before := f.everything()
	if err := p.Apply(short); !errors.Is(err, datadir.ErrHeld) || f.everything() != before {
		t.Error("it is written out of turn:", err)
	}
	lock.Close()
	if err := p.Apply(ctx); err != nil || !strings.Contains(f.file("feature-flags/a.json"), "theirs") {
		t.Error(err)
	}
}

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
