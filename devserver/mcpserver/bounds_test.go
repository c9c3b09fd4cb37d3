package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestLargeAnswers: none is longer than 16 KB (call looks), and what is left out is
// counted, or leads on.
func TestLargeAnswers(t *testing.T) {
	all := files()
	for i := range 600 {
		key := fmt.Sprintf("flag-%03d", i)
		all["feature-flags/"+key+".json"] = flag(key, `,"tags":["bulk"],"name":"`+strings.Repeat("<n>", i%40)+`"`)
	}
	text, long := strings.Repeat(`é\"<\\`, 10_000), strings.Repeat("x", 100_000)
	var members, rules []string
	for i := range 2000 {
		members = append(members, fmt.Sprintf(`"member %d":[%d,[[1,2],{"deep":{"deep":{"deep":[%d]}}}]]`, i, i, i))
		rules = append(rules, fmt.Sprintf(`{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.p%d","valueToMatch":{"type":"string_list","value":["a","b"]}}],"value":{"type":"bool","value":true}}`, i))
	}
	all["configs/text.json"] = `{"key":"text","type":"config","valueType":"string","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"` + text + `"}}]}}`
	all["configs/object.json"] = `{"key":"object","type":"config","valueType":"json","description":"` + long + `","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"json","value":{` + strings.Join(members, ",") + `}}}]}}`
	all["feature-flags/rules.json"] = `{"key":"rules","type":"feature_flag","valueType":"bool","default":{"rules":[` + strings.Join(rules, ",") + `]}}`
	w := newWorld(t, all)
	c := w.tools(w.key("assistant", "protected_engineer"))

	seen, after := map[string]bool{}, ""
	for page := 0; ; page++ {
		list := c.ok("list_items", map[string]any{"type": "feature_flag", "after": after})
		items := list["items"].([]any)
		for _, item := range items {
			seen[item.(map[string]any)["key"].(string)] = true
		}
		rest, _ := list["omitted"].(float64)
		if page == 0 && int(rest) != 606-len(items) || page > 30 {
			t.Fatalf("page %d: %d items, and %v are left out", page, len(items), rest)
		}
		if rest == 0 {
			break
		}
		after = list["after"].(string)
	}
	if len(seen) != 606 {
		t.Errorf("%d flags are listed", len(seen))
	}
	for _, key := range []string{"text", "object"} {
		item := c.ok("get_item", map[string]any{"type": "config", "key": key})
		if got := fmt.Sprint(item); !strings.Contains(got, "more bytes") && !strings.Contains(got, "more members") {
			t.Errorf("%s does not say what it leaves out: %.300s", key, got)
		}
		c.ok("explain_value", map[string]any{"key": key, "environment": "production"})
	}
	if part := c.ok("get_item", `{"type":"config","key":"object","pointer":"/default/rules/0/value/value/member 7"}`)["document"]; fmt.Sprint(part) != "[7 [[1 2] map[deep:map[deep:map[deep:[7]]]]]]" {
		t.Errorf("a part of it is %v", part)
	}
	why := c.ok("explain_value", `{"key":"rules","environment":"production"}`)["evaluation"].(map[string]any)
	told, omitted := len(why["explanation"].([]any)), why["explanationOmitted"]
	if why["explanationTruncated"] != nil || fmt.Sprint(2000-told) != fmt.Sprint(omitted) || told == 0 {
		t.Errorf("%d rules are told, and %v left out", told, omitted)
	}
	var operations []string
	for i := range 600 {
		operations = append(operations, fmt.Sprintf(`{"op":"patch","type":"feature_flag","key":"flag-%03d","environment":"production","body":{"enabled":true}}`, i))
	}
	would := c.ok("propose_change", `{"operations":[`+strings.Join(operations, ",")+`]}`)
	if got := len(would["results"].([]any)); fmt.Sprint(600-got) != fmt.Sprint(would["resultsOmitted"]) || would["proposal"] == nil {
		t.Errorf("%d results, and %v left out: %v", got, would["resultsOmitted"], would["proposal"])
	}
	c.ok("apply_proposal", map[string]any{"proposal": would["proposal"]})
	c.refused("get_item", map[string]any{"type": "config", "key": long})
	c.refused("get_item", map[string]any{"type": long, "key": "limit", long: 1})
	c.refused("find_contexts", map[string]any{"query": long})
	c.ok("verify", nil)
}

// TestArguments: what is wrong is said by name, with what would be right.
func TestArguments(t *testing.T) {
	w := newWorld(t, files())
	c := w.tools(w.key("assistant", "protected_engineer"))
	for _, tt := range []struct{ tool, arguments, path, says string }{
		{"list_items", `{"type":"flag"}`, "/type", "expected one of"},
		{"list_items", `{"environment":"prod","status":"live"}`, "/environment", "there is no environment"},
		{"list_items", `{"after":"nothing"}`, "/after", "take the"},
		{"get_item", `{}`, "/type", "type is missing"},
		{"get_item", `{"type":"config","key":7}`, "/key", "expected a string, not a number"},
		{"get_item", `{"type":"config","key":"limit","pointer":"default"}`, "/pointer", "expected a string that matches"},
		{"get_item", `{"type":"config","key":"limit","pointer":"/nowhere"}`, "/pointer", "has nothing at"},
		{"get_item", `{"type":"config","key":"limit","at":"xyz"}`, "/at", "at is a commit's SHA"},
		{"explain_value", `{"key":"pro","environment":"production","context":{"user":"u-1"}}`, "/context/user", "expected an object"},
		{"explain_value", `{"key":["pro"],"environment":"production"}`, "/key", "expected a string, not an array"},
		{"list_changes", `{"limit":1000}`, "/limit", "at most 100"},
		{"list_changes", `{"since":"yesterday"}`, "/since", "since"},
		{"list_changes", `{"cursor":"x"}`, "/cursor", "cursor"},
		{"list_changes", `{"type":"config"}`, "/type", "go together"},
		{"find_contexts", `{"query":null}`, "/query", "expected a string, not null"},
		{"propose_change", `{"operations":"all"}`, "/operations", "expected an array"},
		{"propose_change", `{"operations":[]}`, "/operations", "at least 1"},
		{"propose_change", `{"operations":[{"op":"rename"}]}`, "/operations/0/op", "expected one of"},
		{"propose_change", `{"operations":[{"op":"patch","typ":"config"}]}`, "/operations/0/typ", "does not allow"},
		{"propose_change", `{"operations":[{"op":"patch","type":"config","key":"limit","environment":"production","body":{"value":7,"expectedCommitSha":"x"}}]}`, "/operations/0/body/expectedCommitSha", "unknown"},
		{"propose_change", `{"operations":[{"op":"patch","type":"config","key":"limit","environment":"production","body":{"value":"seven"}}]}`, "/operations/0/body/value", "int"},
		{"propose_change", `{"operations":[{"op":"delete","type":"config","key":"limit","expectedCommitSha":"x"}]}`, "/operations/0/expectedCommitSha", "does not allow"},
		{"propose_change", `{"operations":[{"op":"delete","type":"config","key":"limit"}],"dryRun":false}`, "/dryRun", "unknown argument; known are operations, message, impact"},
		{"propose_revert", `{"commitSha":"HEAD"}`, "/commitSha", "matches"},
		{"propose_revert", `{"commitSha":"abcd","items":[{"type":"config"}]}`, "/items/0/key", "missing"},
		{"apply_proposal", `{"proposal":{"id":1}}`, "/proposal", "expected a string, not an object"},
		{"verify", `{"strict":true}`, "/strict", "takes none"},
		{"verify", `[]`, "", "expected an object, not an array"},
	} {
		body, refused := c.call(tt.tool, json.RawMessage(tt.arguments))
		issues := fmt.Sprint(body["details"])
		if !refused || body["error"] != "BAD_REQUEST" && body["error"] != "UNPROCESSABLE_CONTENT" || !strings.Contains(issues, "path:"+tt.path+"]") || !strings.Contains(issues, tt.says) {
			t.Errorf("%s %s: %v", tt.tool, tt.arguments, body)
		}
	}
}
