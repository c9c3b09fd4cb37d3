package activity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
)

func said(messages []Message) string {
	var lines []string
	for _, m := range messages {
		lines = append(lines, m.Message)
	}
	return strings.Join(lines, "\n")
}

func TestDiff(t *testing.T) {
	flag := func(rules, rest string) string { return documents.Flag("bool", rules, rest) }
	production := func(rules string) string { return `,"environments":[{"id":"production","rules":[` + rules + `]}]` }
	text := func(value, more string) string {
		return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"` + value + `"` + more + `}}`
	}
	config := func(rules, rest string) string {
		return strings.Replace(documents.Flag("string", rules, rest), "feature_flag", "config", 1)
	}
	const secret = `,"confidential":true`
	for _, tt := range []struct{ name, before, after, want string }{
		{"the same", flag(documents.ServesFalse, `,"$schema":"a"`), flag(documents.ServesFalse, `,"$schema":"b"`), ""},
		{"toggled", flag(documents.ServesFalse, production(documents.ServesTrue)), flag(documents.ServesFalse, production(documents.ServesFalse)), "production: enabled set to false"},
		{"pinned", flag(documents.ServesFalse, ""), flag(documents.ServesFalse, production(documents.ServesFalse)), "production: enabled set to false"},
		{"seeded with one rule more", flag(documents.ServesFalse, ""), flag(documents.ServesFalse, production(documents.TargetsPro+","+documents.ServesFalse)), "production: 1 targeting rule added: true if user.plan is one of [\"pro\"]"},
		{"seeded with one rule more and switched on", flag(documents.ServesFalse, ""), flag(documents.ServesFalse, production(documents.TargetsPro+","+documents.ServesTrue)), "production: enabled set to true\nproduction: 1 targeting rule added: true if user.plan is one of [\"pro\"]"},
		{"a secret condition", flag(documents.ServesFalse, ""), flag(strings.Replace(documents.TargetsPro, `"type":"string_list"`, `"confidential":true,"type":"string_list"`, 1)+","+documents.ServesFalse, ""), "default: 1 targeting rule added: true if user.plan is one of [redacted]"},
		{"a text of special characters", config(text("red", ""), ""), config(text(` \"q\"\nb\u202ec\\ `, ""), ""), `default: serve " \"q\"\nb\u202ec\\ " to everyone`},
		{"a long text of special characters", config(text("red", ""), ""), config(text(strings.Repeat("a", 58)+`\n\n`, ""), ""), `default: serve "` + strings.Repeat("a", 58) + `…" to everyone`},
		{"seeded", flag(documents.TargetsPro+","+documents.ServesFalse, ""), flag(documents.TargetsPro+","+documents.ServesFalse, production(documents.TargetsPro+","+documents.ServesTrue)), "production: enabled set to true"},
		{"unpinned", flag(documents.ServesFalse, production(documents.ServesTrue)), flag(documents.ServesFalse, ""), "production: own rules removed; the default rules hold"},
		{"rollout", flag(documents.ServesFalse, ""), flag(documents.Quarter, ""), "default: rollout 25% true, 75% false"},
		{"weights that do not make 100 %", flag(documents.ServesFalse, ""), flag(strings.NewReplacer("25000", "1", "75000", "2").Replace(documents.Quarter), ""), "default: rollout 33.333% true, 66.667% false"},
		{"an arm without weight", flag(documents.ServesFalse, ""), flag(strings.NewReplacer("25000", "100000", "75000", "0").Replace(documents.Quarter), ""), "default: rollout 100% true"},
		{"an entry without a fallback", flag(documents.ServesFalse, ""), flag(documents.ServesFalse, production(documents.TargetsPro)), "production: 1 targeting rule added: true if user.plan is one of [\"pro\"]"},
		{"an entry that says what it inherits", flag(documents.TargetsPro, ""), flag(documents.TargetsPro, production(documents.TargetsPro)), "production: own rules added"},
		{"toggled and reordered", flag(documents.ServesFalse, `,"environments":[{"id":"a","rules":[]},{"id":"b","rules":[]}]`), flag(documents.ServesTrue, `,"environments":[{"id":"b","rules":[]},{"id":"a","rules":[]}]`), "default: enabled set to true\nother fields changed"},
		{"many tags", flag(documents.ServesFalse, ""), flag(documents.ServesFalse, `,"tags":["a","b","c","d","e","f","g","h"]`), "tags: added a, b, c, d, e, f, 2 more"},
		{"variants in another order", flag(documents.ServesFalse, `,"variants":[1,2]`), flag(documents.ServesFalse, `,"variants":[2,1]`), "variants: reordered"},
		{"another property", flag(documents.Quarter, ""), flag(strings.Replace(documents.Quarter, "team.key", "user.key", 1), ""), "default: rollout 25% true, 75% false (details changed)"},
		{"targeting removed", flag(documents.TargetsPro+","+documents.TargetsBeta+","+documents.ServesFalse, ""), flag(documents.ServesTrue, ""), "default: enabled set to true\ndefault: 2 targeting rules removed"},
		{"targeting added", flag(documents.ServesFalse, ""), flag(documents.TargetsPro+","+documents.ServesFalse, ""), "default: 1 targeting rule added: true if user.plan is one of [\"pro\"]"},
		{"equal rules added", flag(documents.ServesFalse, ""), flag(documents.TargetsPro+","+documents.TargetsPro+","+documents.ServesFalse, ""), "default: 2 targeting rules added"},
		{"equal rules removed", flag(documents.TargetsPro+","+documents.TargetsPro+","+documents.TargetsPro+","+documents.ServesFalse, ""), flag(documents.TargetsPro+","+documents.ServesFalse, ""), "default: 2 targeting rules removed"},
		{"targeting changed", flag(documents.TargetsBeta+","+documents.ServesFalse, ""), flag(documents.TargetsPro+","+documents.ServesFalse, ""), "default: 1 targeting rule changed"},
		{"targeting reordered", flag(documents.TargetsBeta+","+documents.TargetsPro+","+documents.ServesFalse, ""), flag(documents.TargetsPro+","+documents.TargetsBeta+","+documents.ServesFalse, ""), "default: targeting rules reordered"},
		{"no fallback", flag(documents.TargetsPro+","+documents.ServesFalse, ""), flag(documents.TargetsPro, ""), "default: fallback removed"},
		{"config value", config(text("red", ""), ""), config(text("blue", ""), ""), `default: serve "blue" to everyone`},
		{"config value below targeting", config(documents.TargetsPro+","+text("red", ""), ""), config(documents.TargetsPro+","+text("blue", ""), ""), `default: serve "blue" to everyone else`},
		{"a secret", config(text("red", secret), ""), config(text("blue", secret), ""), `default: serve [redacted] to everyone`},
		{"a misspelt secret", config(text("red", ""), ""), config(text("blue", `,"confidential":"yes"`), ""), `default: serve [redacted] to everyone`},
		{"ciphertext", config(text("red", ""), ""), config(text("blue", `,"decryptWith":"k"`), ""), `default: serve [redacted] to everyone`},
		{"a secret made plain", config(text("red", secret), ""), config(text("red", ""), ""), `default: fallback no longer secret`},
		{"another text in place of a secret", config(text("red", secret), ""), config(text("blue", ""), ""), `default: fallback no longer secret`},
		{"a secret made a split of secrets", flag(strings.Replace(documents.ServesTrue, `true`, `true,"confidential":true`, 1), ""), flag(strings.NewReplacer(`"value":true`, `"value":true,"confidential":true`, `"value":false`, `"value":false,"confidential":true`).Replace(documents.Quarter), ""), `default: rollout 25% [redacted], 75% [redacted]`},
		{"a secret bool", flag(documents.ServesTrue, ""), flag(strings.Replace(documents.ServesFalse, `false`, `false,"confidential":true`, 1), ""), `default: serve [redacted] to everyone`},
		{"a provided value", config(text("red", ""), ""), config(`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"provided","value":{"source":"ENV_VAR","lookup":"blue"}}}`, ""), `default: serve [redacted] to everyone`},
		{"a secret arm", flag(documents.ServesFalse, ""), flag(strings.Replace(documents.Quarter, `"value":true`, `"value":true,"confidential":true`, 1), ""), "default: rollout 25% [redacted], 75% false"},
		{"tags", flag(documents.ServesFalse, `,"tags":["a","b"]`), flag(documents.ServesFalse, `,"tags":["b","checkout","c"]`), "tags: added checkout, c, removed a"},
		{"tags in another order", flag(documents.ServesFalse, `,"tags":["a","b"]`), flag(documents.ServesFalse, `,"tags":["b","a"]`), "tags: reordered"},
		{"metadata", flag(documents.ServesFalse, `,"name":"A","description":"x","sendToClientSdk":false,"schemaKey":"k"`),
			flag(documents.ServesFalse, `,"name":"B","description":"y","access":"protected-env","readyForCleanup":true,"sendToClientSdk":true`),
			"name: set to \"B\"\nschemaKey removed\nreadyForCleanup: set to true\nsendToClientSdk: set to true\ndescription changed\naccess: moved from standard to protected-env"},
		{"variants", flag(documents.ServesFalse, `,"variants":[1,2]`), flag(documents.ServesFalse, `,"variants":[2,3,4]`), "variants: 1 added, 1 changed"},
		{"unknown fields", flag(documents.ServesFalse, `,"owner":"a"`), flag(documents.ServesFalse, `,"owner":"b"`), "other fields changed"},
		{"unknown fields of a scope", flag(documents.ServesFalse, `,"environments":[{"id":"e","rules":[],"x":1}]`), flag(documents.ServesFalse, `,"environments":[{"id":"e","rules":[],"x":2}]`), "other fields changed"},
		{"null for nothing", flag(documents.ServesFalse, `,"tags":null`), flag(documents.ServesFalse, ``), "other fields changed"},
		{"no default rules before", `{"key":"f","type":"feature_flag"}`, `{"key":"f","type":"feature_flag","default":{"rules":[` + documents.ServesFalse + `]}}`, "default: enabled set to false"},
		{"created", "", flag(documents.TargetsPro+","+documents.ServesFalse, ""), "flag \"f\" created\ndefault: enabled set to false\ndefault: 1 targeting rule added: true if user.plan is one of [\"pro\"]"},
		{"deleted", config(documents.ServesFalse, ""), "", `config "f" deleted`},
		{"log levels", documents.LevelDocument("a,b=INFO ? *=WARN", ""), documents.LevelDocument("a=DEBUG c=INFO *=ERROR", ""),
			"default: level set to ERROR\ndefault: a set to DEBUG\ndefault: c set to INFO\ndefault: b removed\ndefault: 1 targeting rule removed"},
		{"a log level split", documents.LevelDocument("a,b=INFO *=WARN", ""), documents.LevelDocument("a=INFO b=INFO *=WARN", ""), "default: rules changed"},
		{"no object any more", flag(documents.ServesFalse, ""), `[1]`, "content replaced; it is not a JSON object on both sides"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after *jsontree.Node
			if tt.before != "" {
				before = documents.Tree(t, tt.before)
			}
			if tt.after != "" {
				after = documents.Tree(t, tt.after)
			}
			if got := said(Diff(before, after)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
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
