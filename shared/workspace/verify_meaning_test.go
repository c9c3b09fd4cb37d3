package workspace

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func TestRulesThatCannotDoWhatTheySay(t *testing.T) {
	const always = `{"operator":"ALWAYS_TRUE"}`
	criterion := func(operator, property, operand string) string {
		return fmt.Sprintf(`{"operator":%q,"propertyName":%q,"valueToMatch":%s}`, operator, property, operand)
	}
	list := func(texts string) string { return `{"type":"string_list","value":[` + texts + `]}` }
	text := func(text string) string { return fmt.Sprintf(`{"type":"string","value":%q}`, text) }
	number := func(n string) string { return `{"type":"int","value":` + n + `}` }
	window := func(start, end string) string {
		return `{"type":"int_range","value":{"start":` + start + `,"end":` + end + `}}`
	}
	present, absent := `{"operator":"IS_PRESENT","propertyName":"user.a"}`, `{"operator":"IS_NOT_PRESENT","propertyName":"user.a"}`
	for _, tt := range []struct {
		name  string
		rules []string // the criteria of each
		want  string   // code and pointer, "" for none
	}{
		{"seconds", []string{criterion("PROP_AFTER", "svc.current-time", number("1735689600"))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"seconds as text", []string{criterion("PROP_BEFORE", "user.joined", number(`"1735689600"`))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"seconds of now", []string{criterion("PROP_GREATER_THAN", "svc.current-time", number("1735689600"))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"a window of seconds", []string{criterion("IN_INT_RANGE", "svc.current-time", window("1735689600", "1735689700"))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"milliseconds", []string{criterion("PROP_AFTER", "svc.current-time", number("1735689600000"))}, ""},
		{"since 1970", []string{criterion("PROP_AFTER", "user.joined", number("0"))}, ""},
		{"RFC 3339", []string{criterion("PROP_AFTER", "svc.current-time", text("2026-01-01T00:00:00Z"))}, ""},
		{"a number of seconds", []string{criterion("PROP_GREATER_THAN", "user.seconds", number("1735689600"))}, ""},
		{"an older name of the time", []string{criterion("PROP_AFTER", "prefab.current-time", number("1735689600000"))}, "OLDER_TIME_NAME /default/rules/0/criteria/0/propertyName"},
		{"an expression of JavaScript", []string{criterion("PROP_MATCHES", "user.a", text("/^a$/i"))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"the same, negated", []string{criterion("PROP_DOES_NOT_MATCH", "user.a", text("/a/"))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"a path", []string{criterion("PROP_MATCHES", "user.path", text("^/api/v1"))}, ""},
		{"an expression among texts", []string{criterion("PROP_STARTS_WITH_ONE_OF", "user.a", list(`"^a"`))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"another", []string{criterion("PROP_DOES_NOT_CONTAIN_ONE_OF", "user.a", list(`"a","b.*"`))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"the empty text", []string{criterion("PROP_ENDS_WITH_ONE_OF", "user.a", list(`""`))}, "DOUBTFUL_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"is the empty text", []string{criterion("PROP_IS_ONE_OF", "user.a", list(`"","^"`))}, ""},
		{"an empty list", []string{criterion("PROP_IS_NOT_ONE_OF", "user.a", list(""))}, "UNUSABLE_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"an empty range", []string{criterion("IN_INT_RANGE", "user.a", window("5", "5"))}, "UNUSABLE_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"no version", []string{criterion("PROP_SEMVER_EQUAL", "user.a", text("v1"))}, "UNUSABLE_OPERAND /default/rules/0/criteria/0/valueToMatch"},
		{"behind a catch-all", []string{always, present}, "UNREACHABLE_RULE /default/rules/1"},
		{"a second catch-all", []string{present, always, always}, "UNREACHABLE_RULE /default/rules/2"},
		{"the same again", []string{present + "," + criterion("PROP_IS_ONE_OF", "user.b", list(`"x"`)), criterion("PROP_IS_ONE_OF", "user.b", list(`"x"`)) + "," + present}, "UNREACHABLE_RULE /default/rules/1"},
		{"another operand", []string{criterion("PROP_IS_ONE_OF", "user.b", list(`"x"`)), criterion("PROP_IS_ONE_OF", "user.b", list(`"y"`)), always}, ""},
		{"a secret operand again", []string{criterion("PROP_IS_ONE_OF", "user.b", `{"type":"string_list","value":["x"],"confidential":true}`), criterion("PROP_IS_ONE_OF", "user.b", list(`"x"`))}, ""},
		{"there and not there", []string{present + "," + absent}, "CONTRADICTION /default/rules/0/criteria/1"},
		{"in a list and not", []string{criterion("PROP_IS_ONE_OF", "user.b", list(`"x"`)) + "," + present + "," + criterion("PROP_IS_NOT_ONE_OF", "user.b", list(`"x"`))}, "CONTRADICTION /default/rules/0/criteria/2"},
		{"in two lists", []string{criterion("PROP_IS_ONE_OF", "user.b", list(`"x"`)) + "," + criterion("PROP_IS_ONE_OF", "user.b", list(`"y"`))}, ""}, // a property may be a list
		{"above and below", []string{criterion("PROP_GREATER_THAN", "user.n", number("5")) + "," + criterion("PROP_LESS_THAN", "user.n", number("5"))}, "CONTRADICTION /default/rules/0/criteria/1"},
		{"exactly", []string{criterion("PROP_GREATER_THAN_OR_EQUAL", "user.n", number("5")) + "," + criterion("PROP_LESS_THAN_OR_EQUAL", "user.n", number("5"))}, ""},
		{"a time that ends before it begins", []string{criterion("PROP_AFTER", "svc.current-time", text("2026-02-01T00:00:00Z")) + "," + criterion("PROP_BEFORE", "svc.current-time", text("2026-01-01T00:00:00Z"))}, "CONTRADICTION /default/rules/0/criteria/1"},
		{"a time", []string{criterion("PROP_AFTER", "svc.current-time", text("2026-01-01T00:00:00Z")) + "," + criterion("PROP_BEFORE", "svc.current-time", text("2026-02-01T00:00:00Z"))}, ""},
		{"outside of a range", []string{criterion("IN_INT_RANGE", "user.n", window("1", "5")) + "," + criterion("PROP_GREATER_THAN_OR_EQUAL", "user.n", number("5"))}, "CONTRADICTION /default/rules/0/criteria/1"},
		{"two properties", []string{criterion("PROP_GREATER_THAN", "user.n", number("5")) + "," + criterion("PROP_LESS_THAN", "user.m", number("5"))}, ""},
		{"in a segment and not", []string{criterion("IN_SEG", "", text("s")) + "," + criterion("NOT_IN_SEG", "", text("s"))}, "CONTRADICTION /default/rules/0/criteria/1"},
	} {
		var rules []string
		for _, criteria := range tt.rules {
			rules = append(rules, `{"criteria":[`+criteria+`],"value":{"type":"bool","value":true}}`)
		}
		tree, err := jsontree.Parse([]byte(`{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[` + strings.Join(rules, ",") + `]}}`))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []string
		for _, issue := range Warnings(&Item{View: document.View(tree), Tree: tree}) {
			got = append(got, string(issue.Code)+" "+issue.Pointer)
		}
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestValuesThatClientsReadAsOthers(t *testing.T) {
	for _, tt := range []struct {
		key, valueType, value, more string
		told                        bool
	}{
		{"f", "int", `9007199254740993`, "", true}, {"f", "int", `"-9007199254740993"`, "", true}, {"f", "int", `9007199254740991`, "", false},
		{"f", "double", `9007199254740993`, "", false}, {"f", "json", `{"ids":[1234567890123456789]}`, "", true}, {"f", "json", `{"ids":["1234567890123456789"]}`, "", false},
		{"f", "json", `null`, "", true}, {"f", "json", `{"a":null}`, "", false}, {"__proto__", "int", `1`, "", true},
		{"f", "int", `9007199254740993`, `"type":"config",`, false}, {"f", "int", `9007199254740993`, `"type":"config","sendToClientSdk":true,`, true},
	} {
		more := tt.more
		if more == "" {
			more = `"type":"feature_flag",`
		}
		tree := must.Get(jsontree.Parse([]byte(fmt.Sprintf(`{"key":%q,%s"valueType":%q,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":%q,"value":%s}}]}}`, tt.key, more, tt.valueType, tt.valueType, tt.value))))(t)
		if issues := Warnings(&Item{View: document.View(tree), Tree: tree}); (len(issues) > 0) != tt.told {
			t.Errorf("%+v: %v", tt, issues)
		}
	}
}
