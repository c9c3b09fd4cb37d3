package activity

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

func said(messages []Message) string {
	var lines []string
	for _, m := range messages {
		lines = append(lines, m.Message)
	}
	return strings.Join(lines, "\n")
}

// TestDiff says what has changed: testdata has a document before and after, "-" where there is
// none, and the messages.
func TestDiff(t *testing.T) {
	for _, block := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/differences.txt"))(t))), "\n\n") {
		told := strings.SplitN(block+"\n", "\n", 4)
		t.Run(told[0], func(t *testing.T) {
			version := func(text string) *jsontree.Node {
				if text == "-" {
					return nil
				}
				return documents.Tree(t, text)
			}
			if got, want := said(Diff(version(told[1]), version(told[2]))), strings.TrimSuffix(told[3], "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestMessagesNameTheirScope(t *testing.T) {
	got := Diff(documents.Tree(t, documents.Flag("bool", documents.ServesFalse, "")), documents.Tree(t, documents.Flag("bool", documents.ServesTrue, `,"tags":["a"],"environments":[{"id":"eu","rules":[`+documents.ServesFalse+`]}]`)))
	want := []Message{{"default", "default: enabled set to true"}, {"eu", "eu: enabled set to false"}, {"", "tags: added a"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// hostile text breaks lines, moves cursors and turns the writing around.
const hostile = "a\nSvc-Principal: x\r\t\x1b[31m\u202eevil\u2028\u0085"

func TestMessagesAreBoundedLines(t *testing.T) {
	long := strings.Repeat(hostile, 500)
	var environments, arms []string
	for i := range 300 {
		environments = append(environments, fmt.Sprintf(`{"id":"e%d","rules":[%s]}`, i, documents.ServesTrue))
		arms = append(arms, string(jsontree.NewObject(jsontree.Field("value", jsontree.NewObject(jsontree.Field("type", jsontree.NewString("string")), jsontree.Field("value", jsontree.NewString(long)))), jsontree.Field("weight", jsontree.NewInt(1))).Compact()))
	}
	quoted := string(jsontree.NewString(long).Compact())
	after := documents.Tree(t, `{"key":`+quoted+`,"type":`+quoted+`,"name":`+quoted+`,"tags":[`+quoted+`],"access":`+quoted+`,"schemaKey":{"a":`+quoted+`},`+
		`"default":{"rules":[`+documents.Rollout(strings.Join(arms, ","), "user.key")+`]},"environments":[{"id":`+quoted+`,"rules":[]},`+strings.Join(environments, ",")+`]}`)
	for _, before := range []*jsontree.Node{nil, documents.Tree(t, `{}`)} {
		messages := Diff(before, after)
		if len(messages) != MaxMessages || !strings.HasPrefix(messages[MaxMessages-1].Message, "and ") {
			t.Errorf("%d messages", len(messages))
		}
		for _, m := range append(messages, Message{"", Subject(messages)}) {
			if n := utf8.RuneCountInString(m.Message); n > maxMessage {
				t.Errorf("%d characters", n)
			}
			if i := strings.IndexFunc(m.Message, func(r rune) bool { return !unicode.IsGraphic(r) }); i >= 0 {
				t.Errorf("%q", m.Message)
			}
		}
	}
}

func TestSubject(t *testing.T) {
	for _, tt := range []struct {
		messages []string
		want     string
	}{
		{[]string{"production: enabled set to false"}, "production: enabled set to false"},
		{[]string{"production: enabled set to false", "b", "c"}, "production: enabled set to false"},
		{nil, "no change"},
		{[]string{strings.Repeat("m", 200)}, strings.Repeat("m", 71) + "…"},
	} {
		var messages []Message
		for _, text := range tt.messages {
			messages = append(messages, Message{"", text})
		}
		if got := Subject(messages); got != tt.want || utf8.RuneCountInString(got) > 72 {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestTouchedScopes(t *testing.T) {
	entry := func(id, rules, more string) string { return `{"id":"` + id + `","rules":[` + rules + `]` + more + `}` }
	flag := func(rules, environments, more string) string {
		return documents.Flag("bool", rules, `,"environments":[`+environments+`]`+more)
	}
	for _, tt := range []struct {
		name, before, after string
		want                string
	}{
		{"the same", flag(documents.ServesTrue, "", `,"$schema":"a","n":1.0`), flag(documents.ServesTrue, "", `,"n":1,"$schema":"b"`), ""},
		{"default", flag(documents.ServesTrue, "", ""), flag(documents.ServesFalse, "", ""), "default"},
		{"environments", flag(documents.ServesTrue, entry("b", documents.ServesTrue, "")+","+entry("c", "", ""), ""), flag(documents.ServesTrue, entry("b", documents.ServesFalse, "")+","+entry("a", documents.ServesTrue, "")+","+entry("c", "", ""), ""), "a b"},
		{"a first entry", documents.Flag("bool", documents.ServesTrue, ""), flag(documents.ServesTrue, entry("a", "", ""), ""), "a"},
		{"an entry removed", flag(documents.ServesTrue, entry("a", "", ""), ""), documents.Flag("bool", documents.ServesTrue, ""), "a"},
		{"an empty list of entries", flag(documents.ServesTrue, "", ""), documents.Flag("bool", documents.ServesTrue, ""), "default"},
		{"an unknown field of an entry", flag(documents.ServesTrue, entry("a", "", ""), ""), flag(documents.ServesTrue, entry("a", "", `,"x":1`), ""), "a"},
		{"an unknown field of default", `{"default":{"rules":[]}}`, `{"default":{"rules":[],"x":1}}`, "default"},
		{"entries in another order", flag(documents.ServesTrue, entry("a", "", "")+","+entry("b", "", ""), ""), flag(documents.ServesTrue, entry("b", "", "")+","+entry("a", "", ""), ""), "default"},
		{"another order and an environment", flag(documents.ServesTrue, entry("a", "", "")+","+entry("b", "", ""), ""), flag(documents.ServesTrue, entry("b", documents.ServesTrue, "")+","+entry("a", "", ""), ""), "b"},
		{"metadata and an environment", flag(documents.ServesTrue, entry("a", "", ""), ""), flag(documents.ServesTrue, entry("a", documents.ServesTrue, ""), `,"tags":["x"]`), "default a"},
		{"the same id twice", flag(documents.ServesTrue, entry("a", "", ""), ""), flag(documents.ServesTrue, entry("a", "", "")+","+entry("a", documents.ServesTrue, ""), ""), "a"},
		{"no entry at all", flag(documents.ServesTrue, "", ""), flag(documents.ServesTrue, "7", ""), "default"},
		{"an entry with the reserved name", flag(documents.ServesTrue, "", ""), flag(documents.ServesTrue, entry("default", "", "")+","+entry("a", "", ""), ""), "default a"},
		{"the tier", flag(documents.ServesTrue, "", ``), flag(documents.ServesTrue, "", `,"access":"support"`), "default"},
		{"the tier spelled out", flag(documents.ServesTrue, "", ``), flag(documents.ServesTrue, "", `,"access":"standard"`), "default"},
		{"no tier", flag(documents.ServesTrue, "", `,"access":"standard"`), flag(documents.ServesTrue, "", `,"access":7`), "default"},
		{"no object", flag(documents.ServesTrue, "", ``), `[]`, "default"},
	} {
		if got := strings.Join(TouchedScopes(documents.Tree(t, tt.before), documents.Tree(t, tt.after)), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if scopes := TouchedScopes(nil, documents.Tree(t, flag(documents.ServesTrue, entry("a", "", ""), ""))); !slices.Equal(scopes, []string{"default", "a"}) {
		t.Errorf("created: %v", scopes)
	}
}
