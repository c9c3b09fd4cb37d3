package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

func TestCreateFlag(t *testing.T) {
	w := newWorld(t, nil)
	parent := w.last().SHA
	r := must.Get(w.enter("engineer_nonprotected", "engineer").Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "new-nav", Description: "D", Tags: []string{"web"}}))(t)
	want := `{"$schema":"https://svc.test/schemas/v1/stored-config.json","key":"new-nav","type":"feature_flag","valueType":"bool","description":"D",` +
		`"access":"standard","tags":["web"],"default":{"rules":[` + serves("bool", "false") + `]},"environments":[],` +
		`"variants":[{"value":{"type":"bool","value":false}},{"value":{"type":"bool","value":true}}]}`
	c := w.last()
	if got := wire(t, r); got != `{"key":"new-nav","valueType":"bool","commitSha":"`+c.SHA+`","document":`+want+`}` {
		t.Errorf("got %s", got)
	}
	if got := string(node(t, w.stored(path("new-nav"))).Compact()); got != want {
		t.Errorf("stored %s", got)
	}
	if !strings.HasSuffix(w.stored(path("new-nav")), "\n}\n") || !strings.Contains(w.stored(path("new-nav")), "\n  \"key\": \"new-nav\",\n") {
		t.Errorf("not indented by two spaces with a final newline: %s", w.stored(path("new-nav")))
	}
	if c.Parent != parent || c.Author.Name != "Grace" || c.Author.Email != "grace@example.com" || !c.Author.When.Equal(now) ||
		c.Committer.Name != "svc" || c.Committer.Email != "noreply@svc" || !c.Committer.When.Equal(now) {
		t.Errorf("commit %+v", c.Commit)
	}
	if !strings.HasPrefix(c.Message, `flag "new-nav" created`) || !strings.Contains(c.Message, "\n\nSvc-Principal: user/") {
		t.Errorf("message %q", c.Message)
	}
}

func TestCreationsThatAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	s := w.boss
	one := node(t, "1")
	flag := func(c change.Creation) error { _, err := s().Changes().Create(ctx, c); return err }
	config := func(c change.Creation) error { _, err := s().Changes().Create(ctx, c); return err }
	for _, test := range []struct {
		name string
		err  error
		at   string
	}{
		{"no key", flag(change.Creation{Type: document.Flag}), "/key"},
		{"an unknown type", flag(change.Creation{Type: document.Flag, Key: "a", ValueType: ptr("log_level"), Value: one}), "/type"},
		{"a value for a bool", flag(change.Creation{Type: document.Flag, Key: "a", Value: node(t, "false")}), "/value"},
		{"no value", flag(change.Creation{Type: document.Flag, Key: "a", ValueType: ptr("int")}), "/value"},
		{"all at once", flag(change.Creation{Type: document.Flag, Key: "a b", ValueType: ptr("int"), Value: node(t, "true")}), "/key /value"},
		{"with what was found before", flag(change.Creation{Type: document.Flag, Key: "a b", Request: change.Request{Malformed: issuesAt("/tag")}}), "/tag /key"},
		{"no config type", config(change.Creation{Type: document.Config, Key: "a", Value: one}), "/valueType"},
	} {
		f := wantRefusal(t, test.err, "400 BAD_REQUEST")
		if got := pointers(f, "issues"); got != test.at {
			t.Errorf("%s: at %s, want %s", test.name, got, test.at)
		}
	}
	if n := w.repo.Total(); n != 0 {
		t.Errorf("%d calls for requests that are wrong by themselves", n)
	}
}

// TestACreationThatCannotBeStored: the value fits into a request, and the
// document that would hold it twice is too large.
func TestACreationThatCannotBeStored(t *testing.T) {
	w := newWorld(t, nil)
	value := node(t, `"`+strings.Repeat("a", 700_000)+`"`)
	_, err := w.boss().Changes().Create(ctx, change.Creation{Type: document.Config, Key: "a", ValueType: ptr("string"), Value: value})
	if got := refusal(err); !strings.HasPrefix(got, "400 BAD_REQUEST VALIDATION_FAILED") || !strings.Contains(err.Error(), "at most 1048576 bytes can be stored") {
		t.Errorf("%s", got)
	}
}

func TestKeysArePooledIgnoringCase(t *testing.T) {
	w := newWorld(t, map[string]string{
		path("Checkout"):              boolFlag("Checkout", ""),
		"configs/limit.json":          configOf("limit", "int", "1", ""),
		"segments/beta.json":          segmentOf("beta"),
		"log-levels/log-level.a.json": `{"key":"log-level.a"}`,
		"log-levels/odd.json":         `{}`,
		path("broken"):                `no JSON`,
		"schemas/free.json":           `{}`,
	})
	for _, test := range []struct{ key, kind, held string }{
		{"checkout", "feature_flag", "Checkout"},
		{"Checkout", "feature_flag", "Checkout"},
		{"LIMIT", "config", "limit"},
		{"Beta", "segment", "beta"},
		{"Log-Level.A", "log_level", "log-level.a"},
		{"ODD", "log_level", "odd"},
		{"BROKEN", "feature_flag", "broken"},
	} {
		_, err := w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: test.key})
		f := wantRefusal(t, err, "409 CONFLICT ALREADY_EXISTS")
		if f.Details["collidingType"] != test.kind || f.Details["collidingKey"] != test.held {
			t.Errorf("%s: %v", test.key, f.Details)
		}
		_, err = w.boss().Changes().Create(ctx, change.Creation{Type: document.Config, Key: test.key, ValueType: ptr("bool"), Value: node(t, "true")})
		wantRefusal(t, err, "409 CONFLICT ALREADY_EXISTS")
	}
	n := w.repo.Head().Sequence
	for _, key := range []string{"free", "a", "log-level.b"} {
		must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: key}))(t)
	}
	if w.repo.Head().Sequence != n+3 {
		t.Error("not every creation is a commit")
	}
	_, err := w.boss().Changes().PatchLogLevel(ctx, "b", change.LogLevelPatch{Level: ptr("INFO")})
	f := wantRefusal(t, err, "409 CONFLICT ALREADY_EXISTS")
	if f.Details["collidingType"] != "feature_flag" || f.Details["collidingKey"] != "log-level.b" {
		t.Errorf("%v", f.Details)
	}
}

func TestTheFirstCommitOfAWorkspace(t *testing.T) {
	w := newWorld(t, nil)
	w.repo.Commits = nil
	must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"}))(t)
	w.repo.Commits = nil
	r := must.Get(w.boss().Changes().PatchLogLevel(ctx, "a", change.LogLevelPatch{Level: ptr("INFO")}))(t)
	if r.PreviousCommitSHA != "" || r.CommitSHA != w.last().SHA {
		t.Errorf("%+v", r)
	}
}

func TestWithoutPublicURLThereIsNoSchemaAddress(t *testing.T) {
	w := newWorld(t, nil)
	settings := w.settings()
	settings.PublicURL = ""
	w.service = control.New(settings)
	r := must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"}))(t)
	if r.Document.Get("$schema") != nil {
		t.Error(wire(t, r))
	}
	settings.PublicURL = "https://svc.test/base/"
	w.service = control.New(settings)
	r = must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "g"}))(t)
	if text, _ := r.Document.Get("$schema").Text(); text != "https://svc.test/base/schemas/v1/stored-config.json" {
		t.Error(text)
	}
}

// TestANameThatWindowsCannotHaveIsWarnedOf by the write that creates it, and by no other.
func TestANameThatWindowsCannotHaveIsWarnedOf(t *testing.T) {
	w := newWorld(t, nil)
	made := must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Config, Key: "con", ValueType: ptr("string"), Value: node(t, `"x"`)}))(t)
	if said := wire(t, made.Warnings); !strings.Contains(said, "cannot be checked out on Windows") {
		t.Errorf("no warning: %s", said)
	}
	set := must.Get(w.change("", created("nul"), w.putOf(workspace.SchemaType, "aux", `{"type":"string"}`), created("fine")))(t)
	if len(set.Warnings) != 2 {
		t.Errorf("%s", wire(t, set.Warnings))
	}
	patched := must.Get(w.boss().Changes().Patch(ctx, document.Config, "con", "default", change.ValuePatch{Value: node(t, `"y"`)}))(t)
	if len(patched.Warnings) != 0 {
		t.Errorf("%s", wire(t, patched.Warnings))
	}
}
