package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/jsontree"
)

func said(messages []Message) string {
	var lines []string
	for _, m := range messages {
		lines = append(lines, m.Message)
	}
	return strings.Join(lines, "\n")
}

func TestDiff(t *testing.T) {
	flag := func(rules, rest string) string { return flagWith("bool", rules, rest) }
	production := func(rules string) string { return `,"environments":[{"id":"production","rules":[` + rules + `]}]` }
	text := func(value, more string) string {
		return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"` + value + `"` + more + `}}`
	}
	config := func(rules, rest string) string {
		return strings.Replace(flagWith("string", rules, rest), "feature_flag", "config", 1)
	}
	const secret = `,"confidential":true`
	for _, tt := range []struct{ name, before, after, want string }{
		{"the same", flag(servesFalse, `,"$schema":"a"`), flag(servesFalse, `,"$schema":"b"`), ""},
		{"toggled", flag(servesFalse, production(servesTrue)), flag(servesFalse, production(servesFalse)), "production: enabled set to false"},
		{"pinned", flag(servesFalse, ""), flag(servesFalse, production(servesFalse)), "production: enabled set to false"},
		{"seeded", flag(targetsPro+","+servesFalse, ""), flag(targetsPro+","+servesFalse, production(targetsPro+","+servesTrue)), "production: enabled set to true"},
		{"unpinned", flag(servesFalse, production(servesTrue)), flag(servesFalse, ""), "production: own rules removed; the default rules hold"},
		{"rollout", flag(servesFalse, ""), flag(quarter, ""), "default: rollout 25% true, 75% false"},
		{"weights that do not make 100 %", flag(servesFalse, ""), flag(strings.NewReplacer("25000", "1", "75000", "2").Replace(quarter), ""), "default: rollout 33.333% true, 66.667% false"},
		{"an arm without weight", flag(servesFalse, ""), flag(strings.NewReplacer("25000", "100000", "75000", "0").Replace(quarter), ""), "default: rollout 100% true"},
		{"an entry without a fallback", flag(servesFalse, ""), flag(servesFalse, production(targetsPro)), "production: 1 targeting rule added"},
		{"an entry that says what it inherits", flag(targetsPro, ""), flag(targetsPro, production(targetsPro)), "production: own rules added"},
		{"toggled and reordered", flag(servesFalse, `,"environments":[{"id":"a","rules":[]},{"id":"b","rules":[]}]`), flag(servesTrue, `,"environments":[{"id":"b","rules":[]},{"id":"a","rules":[]}]`), "default: enabled set to true\nother fields changed"},
		{"many tags", flag(servesFalse, ""), flag(servesFalse, `,"tags":["a","b","c","d","e","f","g","h"]`), "tags: added a, b, c, d, e, f, 2 more"},
		{"variants in another order", flag(servesFalse, `,"variants":[1,2]`), flag(servesFalse, `,"variants":[2,1]`), "variants: reordered"},
		{"another property", flag(quarter, ""), flag(strings.Replace(quarter, "team.key", "user.key", 1), ""), "default: rollout 25% true, 75% false (details changed)"},
		{"targeting removed", flag(targetsPro+","+targetsBeta+","+servesFalse, ""), flag(servesTrue, ""), "default: enabled set to true\ndefault: 2 targeting rules removed"},
		{"targeting added", flag(servesFalse, ""), flag(targetsPro+","+servesFalse, ""), "default: 1 targeting rule added"},
		{"targeting changed", flag(targetsBeta+","+servesFalse, ""), flag(targetsPro+","+servesFalse, ""), "default: 1 targeting rule changed"},
		{"targeting reordered", flag(targetsBeta+","+targetsPro+","+servesFalse, ""), flag(targetsPro+","+targetsBeta+","+servesFalse, ""), "default: targeting rules reordered"},
		{"no fallback", flag(targetsPro+","+servesFalse, ""), flag(targetsPro, ""), "default: fallback removed"},
		{"config value", config(text("red", ""), ""), config(text("blue", ""), ""), `default: serve "blue" to everyone`},
		{"config value below targeting", config(targetsPro+","+text("red", ""), ""), config(targetsPro+","+text("blue", ""), ""), `default: serve "blue" to everyone else`},
		{"a secret", config(text("red", secret), ""), config(text("blue", secret), ""), `default: serve [redacted] to everyone`},
		{"a misspelt secret", config(text("red", ""), ""), config(text("blue", `,"confidential":"yes"`), ""), `default: serve [redacted] to everyone`},
		{"ciphertext", config(text("red", ""), ""), config(text("blue", `,"decryptWith":"k"`), ""), `default: serve [redacted] to everyone`},
		{"a secret bool", flag(servesTrue, ""), flag(strings.Replace(servesFalse, `false`, `false,"confidential":true`, 1), ""), `default: serve [redacted] to everyone`},
		{"a provided value", config(text("red", ""), ""), config(`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"provided","value":{"source":"ENV_VAR","lookup":"blue"}}}`, ""), `default: serve [redacted] to everyone`},
		{"a secret arm", flag(servesFalse, ""), flag(strings.Replace(quarter, `"value":true`, `"value":true,"confidential":true`, 1), ""), "default: rollout 25% [redacted], 75% false"},
		{"tags", flag(servesFalse, `,"tags":["a","b"]`), flag(servesFalse, `,"tags":["b","checkout","c"]`), "tags: added checkout, c, removed a"},
		{"tags in another order", flag(servesFalse, `,"tags":["a","b"]`), flag(servesFalse, `,"tags":["b","a"]`), "tags: reordered"},
		{"metadata", flag(servesFalse, `,"name":"A","description":"x","sendToClientSdk":false,"schemaKey":"k"`),
			flag(servesFalse, `,"name":"B","description":"y","access":"protected-env","readyForCleanup":true,"sendToClientSdk":true`),
			"name: set to \"B\"\nschemaKey removed\nreadyForCleanup: set to true\nsendToClientSdk: set to true\ndescription changed\naccess: moved from standard to protected-env"},
		{"variants", flag(servesFalse, `,"variants":[1,2]`), flag(servesFalse, `,"variants":[2,3,4]`), "variants: 1 added, 1 changed"},
		{"unknown fields", flag(servesFalse, `,"owner":"a"`), flag(servesFalse, `,"owner":"b"`), "other fields changed"},
		{"unknown fields of a scope", flag(servesFalse, `,"environments":[{"id":"e","rules":[],"x":1}]`), flag(servesFalse, `,"environments":[{"id":"e","rules":[],"x":2}]`), "other fields changed"},
		{"null for nothing", flag(servesFalse, `,"tags":null`), flag(servesFalse, ``), "other fields changed"},
		{"no default rules before", `{"key":"f","type":"feature_flag"}`, `{"key":"f","type":"feature_flag","default":{"rules":[` + servesFalse + `]}}`, "default: enabled set to false"},
		{"created", "", flag(targetsPro+","+servesFalse, ""), "flag \"f\" created\ndefault: enabled set to false\ndefault: 1 targeting rule added"},
		{"deleted", config(servesFalse, ""), "", `config "f" deleted`},
		{"log levels", levelDocument("a,b=INFO ? *=WARN", ""), levelDocument("a=DEBUG c=INFO *=ERROR", ""),
			"default: level set to ERROR\ndefault: a set to DEBUG\ndefault: c set to INFO\ndefault: b removed\ndefault: 1 targeting rule removed"},
		{"a log level split", levelDocument("a,b=INFO *=WARN", ""), levelDocument("a=INFO b=INFO *=WARN", ""), "default: rules changed"},
		{"no object any more", flag(servesFalse, ""), `[1]`, "content replaced; it is not a JSON object on both sides"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after *jsontree.Node
			if tt.before != "" {
				before = docTree(t, tt.before)
			}
			if tt.after != "" {
				after = docTree(t, tt.after)
			}
			if got := said(Diff(before, after)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestMessagesNameTheirScope(t *testing.T) {
	got := Diff(docTree(t, flagWith("bool", servesFalse, "")), docTree(t, flagWith("bool", servesTrue, `,"tags":["a"],"environments":[{"id":"eu","rules":[`+servesFalse+`]}]`)))
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
		environments = append(environments, fmt.Sprintf(`{"id":"e%d","rules":[%s]}`, i, servesTrue))
		arms = append(arms, string(jsontree.NewObject(jsontree.Field("value", valueObject(StringValue, jsontree.NewString(long))), jsontree.Field("weight", jsontree.NewInt(1))).Compact()))
	}
	quoted := string(jsontree.NewString(long).Compact())
	after := docTree(t, `{"key":`+quoted+`,"type":`+quoted+`,"name":`+quoted+`,"tags":[`+quoted+`],"access":`+quoted+`,"schemaKey":{"a":`+quoted+`},`+
		`"default":{"rules":[`+splitting(strings.Join(arms, ","), "user.key")+`]},"environments":[{"id":`+quoted+`,"rules":[]},`+strings.Join(environments, ",")+`]}`)
	for _, before := range []*jsontree.Node{nil, docTree(t, `{}`)} {
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
		return flagWith("bool", rules, `,"environments":[`+environments+`]`+more)
	}
	for _, tt := range []struct {
		name, before, after string
		want                string // scopes, "metadata" and "tier", as they apply
	}{
		{"the same", flag(servesTrue, "", `,"$schema":"a","n":1.0`), flag(servesTrue, "", `,"n":1,"$schema":"b"`), ""},
		{"default", flag(servesTrue, "", ""), flag(servesFalse, "", ""), "default"},
		{"environments", flag(servesTrue, entry("b", servesTrue, "")+","+entry("c", "", ""), ""), flag(servesTrue, entry("b", servesFalse, "")+","+entry("a", servesTrue, "")+","+entry("c", "", ""), ""), "a b"},
		{"a first entry", flagWith("bool", servesTrue, ""), flag(servesTrue, entry("a", "", ""), ""), "a"},
		{"an entry removed", flag(servesTrue, entry("a", "", ""), ""), flagWith("bool", servesTrue, ""), "a"},
		{"an empty list of entries", flag(servesTrue, "", ""), flagWith("bool", servesTrue, ""), "default metadata"},
		{"an unknown field of an entry", flag(servesTrue, entry("a", "", ""), ""), flag(servesTrue, entry("a", "", `,"x":1`), ""), "a"},
		{"an unknown field of default", `{"default":{"rules":[]}}`, `{"default":{"rules":[],"x":1}}`, "default metadata"},
		{"entries in another order", flag(servesTrue, entry("a", "", "")+","+entry("b", "", ""), ""), flag(servesTrue, entry("b", "", "")+","+entry("a", "", ""), ""), "default metadata"},
		{"another order and an environment", flag(servesTrue, entry("a", "", "")+","+entry("b", "", ""), ""), flag(servesTrue, entry("b", servesTrue, "")+","+entry("a", "", ""), ""), "b"},
		{"metadata and an environment", flag(servesTrue, entry("a", "", ""), ""), flag(servesTrue, entry("a", servesTrue, ""), `,"tags":["x"]`), "default a metadata"},
		{"the same id twice", flag(servesTrue, entry("a", "", ""), ""), flag(servesTrue, entry("a", "", "")+","+entry("a", servesTrue, ""), ""), "a"},
		{"no entry at all", flag(servesTrue, "", ""), flag(servesTrue, "7", ""), "default metadata"},
		{"an entry with the reserved name", flag(servesTrue, "", ""), flag(servesTrue, entry("default", "", "")+","+entry("a", "", ""), ""), "default a metadata"},
		{"the tier", flag(servesTrue, "", ``), flag(servesTrue, "", `,"access":"support"`), "default metadata tier"},
		{"the tier spelled out", flag(servesTrue, "", ``), flag(servesTrue, "", `,"access":"standard"`), "default metadata"},
		{"no tier", flag(servesTrue, "", `,"access":"standard"`), flag(servesTrue, "", `,"access":7`), "default metadata tier"},
		{"no object", flag(servesTrue, "", ``), `[]`, "default metadata"},
	} {
		scopes, metadata, tier := TouchedScopes(docTree(t, tt.before), docTree(t, tt.after))
		if metadata {
			scopes = append(scopes, "metadata")
		}
		if tier {
			scopes = append(scopes, "tier")
		}
		if got := strings.Join(scopes, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if scopes, metadata, _ := TouchedScopes(nil, docTree(t, flag(servesTrue, entry("a", "", ""), ""))); !slices.Equal(scopes, []string{"default", "a"}) || !metadata {
		t.Errorf("created: %v", scopes)
	}
}
