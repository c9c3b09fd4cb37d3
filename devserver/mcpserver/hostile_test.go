package mcpserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/mcpserver"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/testing/must"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":"the last","method":"ping"}`
)

// talk sends lines, hangs up, and returns what came back, by line.
func talk(t testing.TB, lines ...string) []map[string]any {
	t.Helper()
	answers, _ := hear(t, lines...)
	return answers
}

// hear is talk, with what came back as it is.
func hear(t testing.TB, lines ...string) (answers []map[string]any, raw string) {
	t.Helper()
	var out bytes.Buffer
	o := mcpserver.Options{Directory: &mcpserver.Directory{Path: t.TempDir()}, In: strings.NewReader(strings.Join(lines, "\n")), Out: &out, Grace: time.Nanosecond}
	if !strings.Contains(lines[len(lines)-1], "subscriptions") {
		o.Grace = time.Hour // all are answered, however long that takes
	}
	must.Do(t, mcpserver.Serve(ctx, o))
	raw = out.String()
	for scanner := bufio.NewScanner(&out); scanner.Scan(); {
		var one map[string]any
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil || one["jsonrpc"] != "2.0" {
			t.Fatalf("%s: %v", scanner.Bytes(), err)
		}
		answers = append(answers, one)
	}
	return answers, raw
}

// TestIDs come back as they were sent, byte by byte.
func TestIDs(t *testing.T) {
	for _, id := range []string{`7`, `-0`, `1.5`, `9007199254740993`, `1e3`, `"a"`, `""`, `"\u0061<"`, `"7"`} {
		for _, method := range []string{"ping", "tools/rename"} {
			if _, raw := hear(t, initialize, initialized, `{"jsonrpc":"2.0","id": `+id+` ,"method":"`+method+`"}`); !strings.Contains(raw, `{"jsonrpc":"2.0","id":`+id+`,`) {
				t.Errorf("%s %s: %s", method, id, raw)
			}
		}
	}
}

// TestGarbage is answered with an error, and what comes after it as ever.
func TestGarbage(t *testing.T) {
	for name, tt := range map[string]struct {
		line string
		code float64 // of the answer; 0 for none
	}{
		"a blank line":            {"  \t", 0},
		"no JSON":                 {"Hello?", -32700},
		"half a message":          {ping[:20], -32700},
		"no UTF-8":                {"\xff\xfe", -32700},
		"zeros":                   {"\x00\x00", -32700},
		"two messages in a line":  {ping + ping, -32700},
		"no message":              {`{"hello":1}`, -32600},
		"another version":         {strings.Replace(ping, "2.0", "1.0", 1), -32600},
		"a batch":                 {"[" + ping + "]", -32600},
		"a number":                {"7", -32600},
		"an id that is none":      {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		"too long":                {`{"jsonrpc":"2.0","id":2,"method":"` + strings.Repeat("x", 7<<20) + `"}`, -32600},
		"too deep":                {strings.Repeat("[", 1<<20), -32700},
		"deep arguments":          {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"verify","arguments":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, -32600},
		"an answer to nothing":    {`{"jsonrpc":"2.0","id":77,"result":{}}`, 0},
		"an unknown method":       {`{"jsonrpc":"2.0","id":2,"method":"tools/rename"}`, -32601},
		"an unknown tool":         {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rm"}}`, -32602},
		"no parameters":           {`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`, -32600},
		"parameters of a kind":    {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[1]}`, -32602},
		"an unknown notification": {`{"jsonrpc":"2.0","method":"notifications/rename","params":{"a":[]}}`, 0},
		"cancelling nothing":      {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, 0},
		"initialized again":       {initialized, 0},
	} {
		t.Run(name, func(t *testing.T) {
			answers := talk(t, initialize, initialized, tt.line, ping)
			var codes []float64
			var pinged bool
			for _, a := range answers {
				if failed, is := a["error"].(map[string]any); is {
					codes = append(codes, failed["code"].(float64))
				}
				pinged = pinged || a["id"] == "the last" && a["error"] == nil
			}
			if !pinged || len(codes) > 1 || (tt.code != 0) != (len(codes) == 1) || len(codes) == 1 && codes[0] != tt.code {
				t.Errorf("%v", answers)
			}
		})
	}
	talk(t, ping)
	talk(t, "")
	talk(t, initialize, initialized, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_items"}}`, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_items"}}`)
}

// TestAClientThatHangsUp while its call waits for the API: the server ends all the same.
func TestAClientThatHangsUp(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	}))
	defer api.Close()
	defer close(release)
	client := must.Get(remote.New(api.URL+"/v1", "key"))(t)
	in, toServer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.Serve(ctx, mcpserver.Options{API: client, In: in, Out: io.Discard, Grace: time.Nanosecond})
	}()
	must.Get(io.WriteString(toServer, initialize+"\n"+initialized+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_changes"}}`+"\n"))(t)
	<-asked
	_ = toServer.Close()
	must.Report(t, <-ended)
}

// FuzzGarbage: whatever is sent, what comes back are messages, and it ends.
func FuzzGarbage(f *testing.F) {
	f.Add([]byte(initialize + "\n" + initialized + "\n" + ping))
	f.Add([]byte("\n{\n}\n[\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify","arguments":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		err := mcpserver.Serve(ctx, mcpserver.Options{Directory: &mcpserver.Directory{Path: t.TempDir()}, In: bytes.NewReader(text), Out: &out, Grace: time.Millisecond})
		must.Do(t, err)
		for scanner := bufio.NewScanner(&out); scanner.Scan(); {
			if !json.Valid(scanner.Bytes()) {
				t.Fatalf("%q is answered with %q", text, scanner.Bytes())
			}
		}
	})
}

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
	for _, block := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/arguments.txt"))(t))), "\n\n") {
		call, refusal, _ := strings.Cut(block, "\n")
		tool, arguments, _ := strings.Cut(call, " ")
		path, says, _ := strings.Cut(refusal, ": ")
		body, refused := c.call(tool, json.RawMessage(arguments))
		issues := fmt.Sprint(body["details"])
		if !refused || body["error"] != "BAD_REQUEST" && body["error"] != "UNPROCESSABLE_CONTENT" || !strings.Contains(issues, "path:"+path+"]") || !strings.Contains(issues, says) {
			t.Errorf("%s: %v", block, body)
		}
	}
}
