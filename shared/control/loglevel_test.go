package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/testing/must"
)

const levelPath = "log-levels/log-level.shop.json"

func TestPatchLogLevel(t *testing.T) {
	w := newWorld(t, nil)
	patch := func(p change.LogLevelPatch) *change.LevelResult {
		t.Helper()
		return must.Get(w.boss().Changes().PatchLogLevel(ctx, "shop", p))(t)
	}
	start := w.last().SHA
	r := patch(change.LogLevelPatch{Level: ptr("INFO")})
	want := `{"key":"log-level.shop","environment":"default","target":null,"level":"INFO","created":true,"changed":true,"commitSha":"` +
		w.last().SHA + `","previousCommitSha":"` + start + `"}`
	if got := wire(t, r); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	doc := node(t, w.stored(levelPath))
	if got := string(doc.Get("default").Compact()); got != `{"rules":[`+serves("log_level", `"INFO"`)+`]}` || len(doc.Get("environments").Items) != 0 {
		t.Errorf("a new document has a single unconditional default rule: %s", doc.Compact())
	}
	if r = patch(change.LogLevelPatch{Level: ptr("INFO")}); r.Changed || r.Created || r.PreviousCommitSHA != "" || r.CommitSHA != w.last().SHA {
		t.Errorf("again: %s", wire(t, r))
	}
	debug := change.LogLevelPatch{Level: ptr("DEBUG"), Target: ptr("com.acme"), Environment: ptr("staging")}
	r = patch(debug)
	want = `{"key":"log-level.shop","environment":"staging","target":"com.acme","level":"DEBUG","created":false,"changed":true,"commitSha":"` +
		w.last().SHA + `","previousCommitSha":"` + w.last().Parent + `"}`
	if got := wire(t, r); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if r = patch(debug); r.Changed {
		t.Error("repeated calls do not converge")
	}
	row := must.Get(w.boss().LogLevels(ctx))(t).LogLevels[0]
	if got := wire(t, row.Scopes); got != `[{"scope":"default","fallbackLevel":"INFO","targets":[],"otherRuleCount":0},`+
		`{"scope":"staging","fallbackLevel":"INFO","targets":[{"target":"com.acme","level":"DEBUG"}],"otherRuleCount":0}]` {
		t.Error(got)
	}
	// The prefix may be there already.
	if r := must.Get(w.boss().Changes().PatchLogLevel(ctx, "log-level.shop", debug))(t); r.Key != "log-level.shop" || r.Changed {
		t.Error(wire(t, r))
	}
}

// A first document holds less than was asked for: the answer says what was
// written, and what the next request is for.
func TestTheFirstLevelSaysWhatWasWritten(t *testing.T) {
	for _, c := range []struct {
		name  string
		patch change.LogLevelPatch
		told  string // the scope and a part of the message
	}{
		{"nothing more", change.LogLevelPatch{Level: ptr("WARN")}, ""},
		{"default by name", change.LogLevelPatch{Level: ptr("WARN"), Environment: ptr("default")}, ""},
		{"an environment", change.LogLevelPatch{Level: ptr("WARN"), Environment: ptr("production")}, "production: production is not written yet"},
		{"a target", change.LogLevelPatch{Level: ptr("WARN"), Target: ptr("com.acme")}, `default: the target "com.acme" in default is not written yet`},
		{"both", change.LogLevelPatch{Level: ptr("WARN"), Environment: ptr("production"), Target: ptr("com.acme")}, `production: the target "com.acme" in production is not written yet`},
	} {
		for _, dry := range []bool{true, false} {
			w := newWorld(t, nil)
			c.patch.DryRun = dry
			r := must.Get(w.boss().Changes().PatchLogLevel(ctx, "shop", c.patch))(t)
			if r.Environment != "default" || r.Target != nil || !r.Created {
				t.Errorf("%s: %s", c.name, wire(t, r))
			}
			told := r.Messages
			if dry { // what the feed would say comes first
				if len(told) < 2 || !strings.Contains(told[0].Message, "created") {
					t.Fatalf("%s: a dry run says %+v", c.name, told)
				}
				told = told[2:]
			}
			if c.told == "" && len(told) == 0 {
				continue
			}
			if len(told) != 1 || !strings.HasPrefix(told[0].Scope+": "+told[0].Message, c.told) || !strings.Contains(told[0].Message, "again") {
				t.Errorf("%s: %+v, want %s", c.name, told, c.told)
			}
			if dry {
				continue
			}
			if first := node(t, w.stored(levelPath)); string(first.Get("default").Compact()) != `{"rules":[`+serves("log_level", `"WARN"`)+`]}` || first.At("/environments/0") != nil {
				t.Errorf("more than a single unconditional default rule: %s", w.stored(levelPath))
			}
			for _, changes := range []bool{true, false} { // the next request adds what was named, and the one after it nothing
				if r := must.Get(w.boss().Changes().PatchLogLevel(ctx, "shop", c.patch))(t); r.Created || r.Changed != changes {
					t.Errorf("%s, again: %s", c.name, wire(t, r))
				}
			}
		}
	}
}

func TestLevelsThatAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	token := w.last().SHA
	for _, test := range []struct {
		name, service string
		patch         change.LogLevelPatch
		want, at      string
	}{
		{"no level", "shop", change.LogLevelPatch{}, "400 BAD_REQUEST", "/level"},
		{"an unknown level", "shop", change.LogLevelPatch{Level: ptr("LOUD")}, "400 BAD_REQUEST", "/level"},
		{"lower case", "shop", change.LogLevelPatch{Level: ptr("info")}, "400 BAD_REQUEST", "/level"},
		{"empty target", "shop", change.LogLevelPatch{Level: ptr("INFO"), Target: ptr("")}, "400 BAD_REQUEST", "/target"},
		{"empty environment", "shop", change.LogLevelPatch{Level: ptr("INFO"), Environment: ptr("")}, "400 BAD_REQUEST", "/environment"},
		{"empty token", "shop", change.LogLevelPatch{Level: ptr("INFO"), ExpectedCommitSHA: ptr("")}, "400 BAD_REQUEST", "/expectedCommitSha"},
		{"no service", "log-level.", change.LogLevelPatch{Level: ptr("INFO")}, "400 BAD_REQUEST", "/key"},
		{"a key that cannot be", "a b", change.LogLevelPatch{Level: ptr("INFO")}, "400 BAD_REQUEST", "/key"},
		{"a way out", "../../x", change.LogLevelPatch{Level: ptr("INFO")}, "400 BAD_REQUEST", "/key"},
		{"found before", "shop", change.LogLevelPatch{Request: change.Request{Malformed: issuesAt("/level")}}, "400 BAD_REQUEST", "/level"},
		{"a token and no document", "shop", change.LogLevelPatch{Level: ptr("INFO"), ExpectedCommitSHA: &token}, "404 NOT_FOUND", ""},
		{"an unknown environment", "shop", change.LogLevelPatch{Level: ptr("INFO"), Environment: ptr("x")}, "404 NOT_FOUND", ""},
	} {
		_, err := w.boss().Changes().PatchLogLevel(ctx, test.service, test.patch)
		f := wantRefusal(t, err, test.want)
		if got := pointers(f, "issues"); got != test.at {
			t.Errorf("%s: at %s", test.name, got)
		}
	}
	if w.last().SHA != token {
		t.Error("something was written")
	}
}
