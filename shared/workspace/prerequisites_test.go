package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/problem"
)

// asking is a bool flag, on by default, that asks for others.
func asking(key string, flags ...string) string {
	var criteria []string
	for _, on := range flags {
		criteria = append(criteria, fmt.Sprintf(`{"operator": "FLAG_IS_ONE_OF", "propertyName": %q, "valueToMatch": {"type": "string_list", "value": ["true"]}}`, on))
	}
	return flag(key, strings.Join(append(criteria, `{"operator": "ALWAYS_TRUE"}`), ", "))
}

// allowing are documents by path, in a workspace that allows prerequisites.
func allowing(documents map[string]string) map[string][]byte {
	all := map[string]string{"svc.json": `{"environments": ["production", "staging", {"name": "old", "archived": true}], "prerequisites": true}`}
	for path, text := range documents {
		all[path] = text
	}
	return files(all)
}

func found(problems []Problem) []string {
	var all []string
	for _, p := range problems {
		if p.Severity > Warning {
			all = append(all, fmt.Sprintf("%s:%d %s %s", p.File, p.Line, p.Code, p.Pointer))
		}
	}
	slices.Sort(all)
	return all
}

// TestPrerequisitesAreVerified by svc verify and by writes alike.
func TestPrerequisitesAreVerified(t *testing.T) {
	const at = "/default/rules/0/criteria/0"
	criterion := func(operator, name, operand string) string {
		return flag("f", fmt.Sprintf(`{"operator": %q, "propertyName": %q, "valueToMatch": %s}`, operator, name, operand))
	}
	typed := func(key, valueType, value string) string {
		return fmt.Sprintf(`{"key": %q, "type": "feature_flag", "valueType": %q, "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": %q, "value": %s}}]}}`, key, valueType, valueType, value)
	}
	others := map[string]string{
		"feature-flags/on.json": asking("on"), "feature-flags/n.json": typed("n", "int", "7"), "feature-flags/d.json": typed("d", "double", "0.5"),
		"feature-flags/s.json": typed("s", "string", `"a"`), "feature-flags/j.json": typed("j", "json", `{}`), "feature-flags/l.json": typed("l", "string_list", `["a"]`),
		"configs/c.json": strings.Replace(typed("c", "string", `"a"`), "feature_flag", "config", 1),
	}
	list := func(values string) string { return `{"type": "string_list", "value": [` + values + `]}` }
	for _, tt := range []struct{ name, file, text, want string }{
		{"a bool", "", criterion("FLAG_IS_ONE_OF", "on", list(`"true"`)), ""},
		{"one text", "", criterion("FLAG_IS_NOT_ONE_OF", "on", `{"type": "string", "value": "false"}`), ""},
		{"a bool itself", "", criterion("FLAG_IS_NOT_ONE_OF", "on", `{"type": "bool", "value": true}`), ""},
		{"a number", "", criterion("FLAG_IS_ONE_OF", "n", list(`"7", "8"`)), ""},
		{"a fraction", "", criterion("FLAG_IS_ONE_OF", "d", list(`"0.25"`)), ""},
		{"a text", "", criterion("FLAG_IS_ONE_OF", "s", list(`"anything"`)), ""},
		{"no such flag", "", criterion("FLAG_IS_ONE_OF", "gone", list(`"true"`)), "UNKNOWN_FLAG " + at + "/propertyName"},
		{"a config", "", criterion("FLAG_IS_ONE_OF", "c", list(`"a"`)), "UNKNOWN_FLAG " + at + "/propertyName"},
		{"itself", "", criterion("FLAG_IS_ONE_OF", "f", list(`"true"`)), "PREREQUISITE_CIRCLE " + at + "/propertyName"},
		{"no bool", "", criterion("FLAG_IS_ONE_OF", "on", list(`"true", "yes"`)), "PREREQUISITE_VALUE " + at + "/valueToMatch"},
		{"no number", "", criterion("FLAG_IS_ONE_OF", "n", list(`"7.5"`)), "PREREQUISITE_VALUE " + at + "/valueToMatch"},
		{"no list of texts", "", criterion("FLAG_IS_ONE_OF", "s", `{"type": "json", "value": {"a": 1}}`), "PREREQUISITE_VALUE " + at + "/valueToMatch"},
		{"JSON", "", criterion("FLAG_IS_ONE_OF", "j", list(`"{}"`)), "PREREQUISITE_VALUE " + at + "/valueToMatch"},
		{"lists", "", criterion("FLAG_IS_ONE_OF", "l", list(`"a"`)), "PREREQUISITE_VALUE " + at + "/valueToMatch"},
		{"no operand", "", flag("f", `{"operator": "FLAG_IS_ONE_OF", "propertyName": "on"}`), "PREREQUISITE_VALUE " + at + "/valueToMatch"},
		{"a segment", "segments/g.json", strings.Replace(criterion("FLAG_IS_ONE_OF", "on", list(`"true"`)), `"f",
  "type": "feature_flag"`, `"g",
  "type": "segment"`, 1), "PREREQUISITES_OFF " + at + "/operator"},
		{"an archived environment", "", strings.Replace(asking("f"), `"default"`, `"environments": [{"id": "old", "rules": [{"criteria": [{"operator": "FLAG_IS_ONE_OF", "propertyName": "gone", "valueToMatch": {"type": "string", "value": "true"}}], "value": {"type": "bool", "value": true}}]}],
  "default"`, 1), "UNKNOWN_FLAG /environments/0/rules/0/criteria/0/propertyName"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := "feature-flags/f.json"
			if tt.file != "" {
				file = tt.file
			}
			ws, problems := ReadAndVerify(allowing(others))
			if len(found(problems)) > 0 {
				t.Fatal(problems)
			}
			item := Decode(file, []byte(tt.text)).Item
			written := ""
			for _, issue := range NewVerification(ws).Of(*item) {
				written += string(issue.Code) + " " + issue.Pointer
			}
			all := map[string]string{file: tt.text}
			for path, text := range others {
				all[path] = text
			}
			_, problems = ReadAndVerify(allowing(all))
			verified := strings.Join(found(problems), "\n")
			if written != tt.want || tt.want == "" && verified != "" || !strings.HasSuffix(verified, tt.want) || strings.Contains(verified, "\n") || tt.want != "" && !strings.HasPrefix(verified, file+":") {
				t.Errorf("a write is refused for %q, and verify finds %s", written, verified)
			}
			all["svc.json"] = `{"environments": ["production", "staging", {"name": "old", "archived": true}]}`
			_, problems = ReadAndVerify(files(all))
			if off := strings.Join(found(problems), "\n"); !strings.Contains(off, "PREREQUISITES_OFF") {
				t.Errorf("where they are not allowed, verify finds %q", off)
			}
			for _, p := range problems {
				if p.Code == problem.Prerequisite && p.Severity == Warning {
					return
				}
			}
			t.Error("nobody is warned")
		})
	}
	_, problems := ReadAndVerify(files(map[string]string{"svc.json": "{\n\"environments\": [], \"prerequisites\": \"yes\"}"}))
	if got := strings.Join(found(problems), "\n"); got != "svc.json:2 INVALID_WORKSPACE_FILE /prerequisites" {
		t.Error(got)
	}
}

// chain is flags that each ask for the next.
func chain(n int) map[string]string {
	all := map[string]string{}
	for i := range n + 1 {
		text := asking(name(i))
		if i < n {
			text = asking(name(i), name(i+1))
		}
		all["feature-flags/"+name(i)+".json"] = text
	}
	return all
}

// TestPrerequisitesAreTenDeep, wherever in the chain the document stands that makes it longer.
func TestPrerequisitesAreTenDeep(t *testing.T) {
	ten, eleven := chain(MaxPrerequisites), chain(MaxPrerequisites+1)
	ws, problems := ReadAndVerify(allowing(ten))
	if len(found(problems)) > 0 {
		t.Fatal(problems)
	}
	for path, text := range ten {
		if issues := NewVerification(ws).Of(*Decode(path, []byte(text)).Item); len(issues) > 0 {
			t.Errorf("%s: %v", path, issues)
		}
	}
	_, problems = ReadAndVerify(allowing(eleven))
	if got := found(problems); len(got) != 1 || got[0] != "feature-flags/s0000.json:6 PREREQUISITE_DEPTH /default/rules/0/criteria/0/propertyName" {
		t.Error(got)
	}
	for i := range MaxPrerequisites + 1 { // which closes the chain
		broken := map[string]string{}
		for path, text := range eleven {
			broken[path] = text
		}
		path := "feature-flags/" + name(i) + ".json"
		broken[path] = asking(name(i))
		ws, problems := ReadAndVerify(allowing(broken))
		if len(found(problems)) > 0 {
			t.Fatal(problems)
		}
		issues := NewVerification(ws).Of(*Decode(path, []byte(eleven[path])).Item)
		if len(issues) != 1 || issues[0].Code != problem.PrerequisiteDepth || issues[0].Pointer == "" || !strings.Contains(issues[0].Message, "s0000 -> s0001 -> s0002") || !strings.Contains(issues[0].Message, "s0011") {
			t.Errorf("%s: %v", path, issues)
		}
	}
	config := strings.Replace(asking("c", name(0)), "feature_flag", "config", 1)
	if issues := NewVerification(ws).Of(*Decode("configs/c.json", []byte(config)).Item); len(issues) != 1 || issues[0].Code != problem.PrerequisiteDepth {
		t.Errorf("a config that asks for ten: %v", issues)
	}
}

// TestAVeryLongChain is told in a moment, and its circle in full.
func TestAVeryLongChain(t *testing.T) {
	const n = 3000
	long := chain(n)
	_, problems := ReadAndVerify(allowing(long))
	if len(problems) == 0 {
		t.Error("nothing is found")
	}
	long["feature-flags/"+name(n)+".json"] = asking(name(n), name(0))
	ws, problems := ReadAndVerify(allowing(long))
	if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Code == problem.PrerequisiteCircle }) {
		t.Error("no circle is found")
	}
	item, _ := ws.Item(document.Flag, name(7))
	if issues := NewVerification(ws).Of(*item.Read()); len(issues) == 0 || !strings.HasPrefix(issues[0].Message, "the flags ask for each other in a circle: s0007 -> s0008 -> ") {
		t.Errorf("%.300v", issues)
	}
	if problems := Circles(ws); len(problems) != 1 || problems[0].Severity != Fatal {
		t.Errorf("it is served: %v", len(problems))
	}
}

// TestWhatStopsWithAFlag: once everybody gets false of it, who asks for it may serve false
// in the place of something else, and nothing besides.
func TestWhatStopsWithAFlag(t *testing.T) {
	serve := func(value string, criteria ...string) string {
		return fmt.Sprintf(`{"criteria": [%s], "value": {"type": "bool", "value": %s}}`, strings.Join(criteria, ","), value)
	}
	const (
		on    = `{"operator": "FLAG_IS_ONE_OF", "propertyName": "base", "valueToMatch": {"type": "string_list", "value": ["true"]}}`
		off   = `{"operator": "FLAG_IS_ONE_OF", "propertyName": "base", "valueToMatch": {"type": "bool", "value": false}}`
		notOn = `{"operator": "FLAG_IS_NOT_ONE_OF", "propertyName": "base", "valueToMatch": {"type": "string", "value": "true"}}`
		dark  = `{"operator": "FLAG_IS_ONE_OF", "propertyName": "base", "valueToMatch": {"type": "string_list", "value": ["false"], "confidential": true}}`
		pro   = `{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["pro"]}}`
		all   = `{"operator": "ALWAYS_TRUE"}`
		split = `{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "weighted_values", "value": {"weightedValues": [{"value": {"type": "bool", "value": true}, "weight": 1}, {"value": {"type": "bool", "value": false}, "weight": 99}]}}}`
	)
	doc := func(key, environments string, rules ...string) string {
		return fmt.Sprintf(`{"key": %q, "type": "feature_flag", "valueType": "bool", "default": {"rules": [%s]}, "environments": [%s]}`, key, strings.Join(rules, ","), environments)
	}
	asksF := strings.ReplaceAll(on, "base", "f")
	for name, test := range map[string]struct {
		f, more string
		want    bool
	}{
		"nobody asks":                        {doc("f", "", serve("true", all)), "", true},
		"on with it":                         {doc("f", "", serve("true", on, pro), serve("true", on), serve("false", all)), "", true},
		"on without it":                      {doc("f", "", serve("true", notOn), serve("false", all)), "", false},
		"on where it is off":                 {doc("f", "", serve("true", off, pro), serve("false", all)), "", false},
		"off where it is off":                {doc("f", "", serve("false", off), serve("true", all)), "", true},
		"off with it, else on":               {doc("f", "", serve("false", on), serve("true", all)), "", false},
		"off with it, else on for some":      {doc("f", "", serve("false", on), split), "", false},
		"on before it":                       {doc("f", "", serve("true", pro), serve("true", on), serve("false", all)), "", true},
		"on below it for some":               {doc("f", "", serve("true", on), serve("true", pro), serve("false", all)), "", false},
		"nothing below it":                   {doc("f", "", serve("true", on)), "", false},
		"of which nobody may tell":           {doc("f", "", serve("true", dark), serve("false", all)), "", false},
		"of which nobody may tell, and off":  {doc("f", "", serve("false", dark), serve("false", all)), "", true},
		"it is paused":                       {doc("f", "", serve("false", all), serve("true", notOn), serve("true", all)), "", true},
		"elsewhere":                          {doc("f", `{"id": "staging", "rules": [`+serve("true", notOn)+`]}`, serve("false", all)), "", true},
		"in its own rules":                   {doc("f", `{"id": "production", "rules": [`+serve("true", notOn)+`]}`, serve("false", all)), "", false},
		"in the default rules below its own": {doc("f", `{"id": "production", "rules": [`+serve("true", pro)+`]}`, serve("true", notOn), serve("false", all)), "", false},
		"another goes off with it":           {doc("f", "", serve("true", on), serve("false", all)), doc("g", "", serve("true", asksF), serve("false", all)), true},
		"another goes on when that goes off": {doc("f", "", serve("true", on), serve("false", all)), doc("g", "", serve("false", asksF), serve("true", all)), false},
		"it asks for itself":                 {doc("f", "", serve("true", asksF, on), serve("false", all)), doc("g", "", serve("true", asksF), serve("false", all)), true},
		"a config":                           {strings.Replace(doc("f", "", serve("true", on), serve("false", all)), "feature_flag", "config", 1), "", true},
		"another value":                      {strings.NewReplacer(`"value": true}}`, `"value": "a"}}`, `"type": "bool", "value": false`, `"type": "string", "value": "b"`).Replace(doc("f", "", serve("true", on), serve("false", all))), "", false},
	} {
		documents := map[string]string{"feature-flags/base.json": flag("base", all), "feature-flags/f.json": test.f}
		if test.more != "" {
			documents["feature-flags/g.json"] = test.more
		}
		ws, _ := Read(allowing(documents))
		if got := ws.StopsOthers("production", "base"); got != test.want {
			t.Errorf("%s: only stops is %v", name, got)
		}
	}
}
