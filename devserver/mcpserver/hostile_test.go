package mcpserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/mcpserver"
	"svc.example/svc/devserver/remote"
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
	must(t, mcpserver.Serve(ctx, o))
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
	client, err := remote.New(api.URL+"/v1", "key")
	must(t, err)
	in, toServer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.Serve(ctx, mcpserver.Options{API: client, In: in, Out: io.Discard, Grace: time.Nanosecond})
	}()
	if _, err := io.WriteString(toServer, initialize+"\n"+initialized+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_changes"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-asked
	_ = toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// FuzzGarbage: whatever is sent, what comes back are messages, and it ends.
func FuzzGarbage(f *testing.F) {
	f.Add([]byte(initialize + "\n" + initialized + "\n" + ping))
	f.Add([]byte("\n{\n}\n[\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify","arguments":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		err := mcpserver.Serve(ctx, mcpserver.Options{Directory: &mcpserver.Directory{Path: t.TempDir()}, In: bytes.NewReader(text), Out: &out, Grace: time.Millisecond})
		must(t, err)
		for scanner := bufio.NewScanner(&out); scanner.Scan(); {
			if !json.Valid(scanner.Bytes()) {
				t.Fatalf("%q is answered with %q", text, scanner.Bytes())
			}
		}
	})
}
