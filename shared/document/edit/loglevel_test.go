package edit

import (
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

func TestSetLevel(t *testing.T) {
	for _, tt := range []struct {
		name, before, target, level, want string // want "": nothing changes
	}{
		{"the fallback", "a=INFO *=WARN", "", "ERROR", "a=INFO *=ERROR"},
		{"the fallback as it is", "a=INFO *=WARN", "", "WARN", ""},
		{"no fallback yet", "a=INFO", "", "WARN", "a=INFO *=WARN"},
		{"a first target", "*=WARN", "a", "DEBUG", "a=DEBUG *=WARN"},
		{"a first target, others before the fallback", "? *=WARN", "a", "DEBUG", "? a=DEBUG *=WARN"},
		{"a first target, no fallback", "?", "a", "DEBUG", "? a=DEBUG"},
		{"overwritten where it is", "a=INFO b=INFO *=WARN", "a", "DEBUG", "a=DEBUG b=INFO *=WARN"},
		{"as it is", "a=INFO b=INFO *=WARN", "b", "INFO", ""},
		{"after the last target", "a=INFO ? *=WARN", "b", "DEBUG", "a=INFO b=DEBUG ? *=WARN"},
		{"before its prefix", "x=INFO com.acme=INFO com=WARN *=WARN", "com.acme.cart", "DEBUG", "x=INFO com.acme.cart=DEBUG com.acme=INFO com=WARN *=WARN"},
		{"after what it is a prefix of", "com.acme.cart=INFO *=WARN", "com.acme", "DEBUG", "com.acme.cart=INFO com.acme=DEBUG *=WARN"},
		{"the match is textual", "com.acme.cart=INFO *=WARN", "com.acme.cartoon", "DEBUG", "com.acme.cartoon=DEBUG com.acme.cart=INFO *=WARN"},
		{"before a rule that has its prefix among others", "x,com=INFO *=WARN", "com.a", "DEBUG", "com.a=DEBUG x,com=INFO *=WARN"},
		{"split: the others keep their level", "a,b,c=INFO *=WARN", "b", "DEBUG", "b=DEBUG a,c=INFO *=WARN"},
		{"split: what extends it stays before it", "a,a.b,a.b.c=INFO *=WARN", "a.b", "DEBUG", "a.b.c=INFO a.b=DEBUG a=INFO *=WARN"},
		{"no split for the level it has", "a,b=INFO *=WARN", "b", "INFO", ""},
		{"what is said again goes away", "a=INFO b=INFO a=ERROR b,a=WARN *=WARN", "a", "DEBUG", "a=DEBUG b=INFO b=WARN *=WARN"},
		{"moved before what shadows it", "com=INFO x=INFO com.a,y=DEBUG *=WARN", "com.a", "ERROR", "com.a=ERROR com=INFO x=INFO y=DEBUG *=WARN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := documents.LevelDocument(tt.before, "")
			want := documents.LevelDocument(tt.want, "")
			if tt.want == "" {
				want = before
			}
			e := must.Get(SetLevel(documents.Tree(t, before), "default", tt.target, tt.level))(t)
			if got := string(e.Tree.Compact()); got != want || e.Changed != (tt.want != "") {
				t.Errorf("changed %v\ngot  %s\nwant %s", e.Changed, got, want)
			}
			again, err := SetLevel(e.Tree, "default", tt.target, tt.level)
			if err != nil || again.Changed {
				t.Errorf("the second time: %s, %v", again.Tree.Compact(), err)
			}
		})
	}
}

func TestSetLevelInAnEnvironment(t *testing.T) {
	tree := documents.Tree(t, documents.LevelDocument("a=INFO *=WARN", `{"id":"staging","rules":[`+documents.LevelRules("b=INFO")+`]}`))
	for _, tt := range []struct{ scope, target, want string }{
		{"production", "b", "a=INFO b=DEBUG *=WARN"}, // seeded
		{"production", "", "a=INFO *=DEBUG"},
		{"staging", "", "b=INFO *=DEBUG"},
		{"staging", "b", "b=DEBUG"},
	} {
		e, err := SetLevel(tree, tt.scope, tt.target, "DEBUG")
		if err != nil || rulesText(e.Rules) != documents.LevelRules(tt.want) {
			t.Errorf("%+v: %s, %v", tt, rulesText(e.Rules), err)
		}
	}
}

func TestRefusedLevels(t *testing.T) {
	for _, level := range []string{"", "info", "VERBOSE"} {
		if _, err := SetLevel(documents.Tree(t, documents.LevelDocument("*=WARN", "")), "default", "a", level); err == nil || !strings.Contains(err.Error(), "TRACE, DEBUG") {
			t.Errorf("%q: %v", level, err)
		}
	}
	if _, err := SetLevel(documents.Tree(t, `{"default":[]}`), "default", "a", "INFO"); err == nil {
		t.Error("a document without a place for rules was edited")
	}
}

// A request that creates a document and names a target finds what it wants
// when it comes again.
func TestCreatedThenTargeted(t *testing.T) {
	tree := must.Get(NewLogLevel("shop", "DEBUG", ""))(t)
	for i := range 2 {
		e, err := SetLevel(tree, "production", "com.acme", "DEBUG")
		if err != nil || e.Changed != (i == 0) {
			t.Fatalf("%d: %+v, %v", i, e, err)
		}
		tree = e.Tree
	}
	if issues := document.Validate(tree); len(issues) > 0 {
		t.Error(issues)
	}
}

func TestLogLevelKey(t *testing.T) {
	for service, want := range map[string]string{
		"cart": "log-level.cart", "log-level.cart": "log-level.cart", "LOG-Level.Cart": "log-level.Cart",
		"log-level": "log-level.log-level", "log-level.": "log-level.", "log-level.log-level.x": "log-level.log-level.x", "": "log-level.",
	} {
		if got := document.LogLevelKey(service); got != want {
			t.Errorf("%q: %q, want %q", service, got, want)
		}
	}
}
