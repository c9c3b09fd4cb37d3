package jsontree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
)

func mustParse(t *testing.T, text string) *Node {
	t.Helper()
	n, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return n
}

func TestEncodeKeepsWhatWasWritten(t *testing.T) {
	for _, text := range []string{
		`{"b":1.0,"a":9007199254740993,"c":1e5,"d":-0}`,
		`{"text":"\u00e9é\/\\ \"q\"","empty":"","nested":{"list":[],"object":{}}}`,
		`[1,[2,[3]],{"x":null}]`,
		`"alone"`, `true`, `null`, `{}`, `[]`,
	} {
		var want bytes.Buffer
		must.Do(t, json.Indent(&want, []byte(text), "", "  "))
		got := string(mustParse(t, text).Encode())
		if got != want.String()+"\n" {
			t.Errorf("Encode(%s) =\n%s\nwant\n%s", text, got, want.String())
		}
		if compact := string(mustParse(t, got).Compact()); compact != text {
			t.Errorf("Compact = %s, want %s", compact, text)
		}
	}
}

func TestParseRefusals(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for _, tt := range []struct {
		name, text   string
		line, column int
		message      string
	}{
		{"empty", "", 1, 1, "empty"},
		{"white space only", " \n ", 1, 1, "empty"},
		{"truncated", "{\n  \"a\": 1", 2, 9, "middle"},
		{"missing comma", "{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, "not valid JSON"},
		{"trailing comma", "{\"a\": 1,\n}", 1, 8, "not valid JSON"},
		{"comment", "{// no\n}", 1, 2, "not valid JSON"},
		{"second value", "{}\n{}", 2, 1, "one value"},
		{"duplicate name", "{\n  \"a\": 1,\n  \"a\": 2\n}", 3, 3, `"a" stands twice`},
		{"escaped duplicate", `{"a":1,"\u0061":2}`, 1, 8, `"a" stands twice`},
		{"not UTF-8", "{\"a\": \"\xff\"}", 1, 8, "UTF-8"},
		{"too deep", deep, 1, MaxDepth + 1, "nested deeper"},
		{"bare word", "nul", 1, 4, "middle"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			e, ok := err.(*SyntaxError)
			if !ok {
				t.Fatalf("got %v, want a SyntaxError", err)
			}
			if e.Line != tt.line || e.Column != tt.column || !strings.Contains(e.Message, tt.message) {
				t.Errorf("got %d:%d %q, want %d:%d …%s…", e.Line, e.Column, e.Message, tt.line, tt.column, tt.message)
			}
		})
	}
}

// A value may be confidential, which need not be said before it.
func TestNothingInAValueIsTold(t *testing.T) {
	const rule = "/default/rules/0"
	for _, tt := range []struct{ content, pointer, message string }{
		{`"value":{"type":"json","value":{"SECRET":1,"SECRET":2},"confidential":true}`, "/value/value", "a name stands twice"},
		{`"confidential":true,"value":{"SECRET":1,"SECRET":2}`, "/value", "a name stands twice"},
		{`"value":{"value":{"weightedValues":[{"value":{"value":[{"SECRET":{"a":1,"a":2}}]}}]}}`, "/value/value/weightedValues/0/value/value", "a name stands twice"},
		{`"criteria":[{"valueToMatch":{"value":{"SECRET":1,"SECRET":2}}}]`, "/criteria/0/valueToMatch/value", "a name stands twice"},
		{`"value":{"value":{"SECRET\nSECRET":1,"SECRET\nSECRET":2}}`, "/value/value", "a name stands twice"},
		{`"value":{"value":"SECRET\SECRET"}`, "/value/value", "not valid JSON"},
		{`"value":{"value":"SECRET\uDC00"}`, "/value/value", "not valid JSON"},
		{`"value":{"value":["1",1SECRET]}`, "/value/value", "not valid JSON"},
		{`"value":{"value":trSECRET}`, "/value/value", "not valid JSON"},
		{`"value":{"value":SECRET}`, "/value/value", "not valid JSON"},
		{`"value":{"value":{"SECRET":"` + "\xff" + `"}}`, "/value/value", "not valid UTF-8"},
		{`"value":{"value":{"SECRET":` + strings.Repeat("[", MaxDepth), "/value/value", "nested deeper"},
		{`"value":{"value":{"SECRET":`, "/value/value", "not valid JSON"},
		{`"value":{"type":"json","type":"json"`, "/value/type", `"type" stands twice`},
		{`"values":{"a":1,"a":2}`, "/values/a", `"a" stands twice`},
	} {
		_, err := Parse([]byte(`{"default":{"rules":[{` + tt.content + `}]}}`))
		e := err.(*SyntaxError)
		if e.Pointer != rule+tt.pointer || !strings.Contains(e.Message, tt.message) || strings.Contains(e.Message, "SECRET") || strings.ContainsAny(e.Message, "'") {
			t.Errorf("%s: %s: %s", tt.content, e.Pointer, e.Message)
		}
	}
}

func TestOffsetsAndPointers(t *testing.T) {
	text := "{\r\n  \"a/b\": [ 10 , { \"~c\" : true } ]\r\n}"
	n := mustParse(t, text)
	for pointer, want := range map[string]string{
		"":                  "{",
		"/a~1b":             "[",
		"/a~1b/0":           "10",
		"/a~1b/1":           "{ \"~c",
		"/a~1b/1/~0c":       "true",
		Pointer("a/b", "0"): "10",
	} {
		if got := n.At(pointer); got == nil || !strings.HasPrefix(text[got.Offset:], want) {
			t.Errorf("At(%q) = %+v, want the value that begins %q", pointer, got, want)
		}
	}
	if n.At("/a~1b/7") != nil || n.At("/x/y") != nil {
		t.Error("At found what is not there")
	}
	if got := n.Nearest("/a~1b/1/missing/deeper"); got != n.At("/a~1b/1") {
		t.Errorf("Nearest = %+v", got)
	}
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[1,2]}`, `{"b":[1.0,2e0],"a":1}`, true},
		{`[1,2]`, `[2,1]`, false},
		{`"é"`, `"\u00e9"`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`1`, `"1"`, false},
		{`{"a":null}`, `{}`, false},
		{`-0.0`, `0`, true},
		{`100`, `1e2`, true},
		{`1e999999999`, `1e999999998`, false},
		{`0.1`, `0.10`, true},
		{`1.5e-3`, `0.0015`, true},
		{`true`, `false`, false},
	} {
		a, b := mustParse(t, tt.a), mustParse(t, tt.b)
		if Equal(a, b) != tt.want || Equal(b, a) != tt.want {
			t.Errorf("Equal(%s, %s) != %v", tt.a, tt.b, tt.want)
		}
	}
}

func TestEditsKeepTheRest(t *testing.T) {
	n := mustParse(t, `{"z":1.0,"keep":"\u0041","x":[1]}`)
	c := n.Clone()
	c.Set("z", NewBool(true))
	c.Set("new", NewArray(NewString("ü\n"), NewInt(-3)))
	c.SetFirst("first", NewObject(Field("k", NewString("v"))))
	c.Delete("x")
	if got, want := string(c.Compact()), `{"first":{"k":"v"},"z":true,"keep":"\u0041","new":["ü\n",-3]}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := string(n.Compact()); got != `{"z":1.0,"keep":"\u0041","x":[1]}` {
		t.Errorf("the original changed: %s", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2,{"b":null}]}`, `"\ud83d\ude00"`, `1e400`, "\xef\xbb\xbf{}", `{"a":1,"a":2}`, `[[[`, " \r\n{}\t"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Parse(text)
		if err != nil {
			if e := err.(*SyntaxError); e.Line < 1 || e.Column < 1 || e.Message == "" {
				t.Fatalf("an error that does not say where: %+v", e)
			}
			return
		}
		var want bytes.Buffer
		if err := json.Indent(&want, bytes.TrimSpace(text), "", "  "); err != nil {
			t.Fatalf("encoding/json refuses what Parse took: %v", err)
		}
		encoded := n.Encode()
		if string(encoded) != want.String()+"\n" {
			t.Fatalf("Encode = %q, want %q", encoded, want.String()+"\n")
		}
		if size := n.EncodedSize(); size != len(encoded) {
			t.Fatalf("%d bytes, counted are %d: %s", len(encoded), size, encoded)
		}
		again, err := Parse(encoded)
		if err != nil || !Equal(n, again) {
			t.Fatalf("the encoding is not the same tree: %v", err)
		}
	})
}

func TestRewriteKeepsWhatDoesNotChange(t *testing.T) {
	for _, tt := range []struct{ name, text, tree, want string }{
		{"nothing", "{ \"a\" : 1.0 }\r\n", `{"a":1}`, "{ \"a\" : 1.0 }\r\n"},
		{"the order of members", `{"a":1, "b":2}`, `{"b":2,"a":1}`, `{"a":1, "b":2}`},
		{"tabs and CRLF", "{\r\n\t\"a\": 1,\r\n\t\"b\": [\r\n\t\ttrue\r\n\t]\r\n}\r\n", `{"a":1,"b":[true,{"c":[1]}]}`,
			"{\r\n\t\"a\": 1,\r\n\t\"b\": [\r\n\t\ttrue,\r\n\t\t{\r\n\t\t\t\"c\": [\r\n\t\t\t\t1\r\n\t\t\t]\r\n\t\t}\r\n\t]\r\n}\r\n"},
		{"a number's spelling", "{\n  \"a\": 1.0,\n  \"b\": 1e2,\n  \"c\": 12345678901234567890\n}", `{"a":1,"b":100,"c":12345678901234567890,"d":null}`,
			"{\n  \"a\": 1.0,\n  \"b\": 1e2,\n  \"c\": 12345678901234567890,\n  \"d\": null\n}"},
		{"escapes", `{"\u0061":"\u0062","c":1}`, `{"a":"b","c":2}`, `{"\u0061":"\u0062","c":2}`},
		{"one line", `{"a": [1, 2], "b": {"c": 1}}`, `{"a": [1, 2, 3], "b": {"c": {"d": [1, 2]}}}`, `{"a": [1, 2, 3], "b": {"c": {"d": [1, 2]}}}`},
		{"without white space", `{"a":[1],"b":{}}`, `{"a":[1,2],"b":{"c":[1,2]}}`, `{"a":[1,2],"b":{"c":[1,2]}}`},
		{"one line within many", "{\n    \"rules\": [\n        { \"criteria\": [], \"value\": { \"type\": \"bool\", \"value\": true } }\n    ],\n    \"x\": {}\n}\n",
			`{"rules":[{"criteria":[],"value":{"type":"bool","value":false}},{"value":{"type":"bool"}}],"x":{}}`,
			"{\n    \"rules\": [\n        { \"criteria\": [], \"value\": { \"type\": \"bool\", \"value\": false } },\n        {\n            \"value\": {\n                \"type\": \"bool\"\n            }\n        }\n    ],\n    \"x\": {}\n}\n"},
		{"the first is taken away", `{"a": 1, "b": 2}`, `{"b": 2}`, `{"b": 2}`},
		{"the last is taken away", "[\n 1 ,\n 2\n]", `[1]`, "[\n 1\n]"},
		{"one is put in front", "[\n  1,\n  2\n]", `[0,1,2]`, "[\n  0,\n  1,\n  2\n]"},
		{"all are taken away", "{\n  \"a\": [\n    1\n  ]\n}", `{"a":[]}`, "{\n  \"a\": []\n}"},
		{"an empty one is filled", "{\n   \"a\": []\n}", `{"a":[1]}`, "{\n   \"a\": [\n      1\n   ]\n}"},
		{"an empty one with a line break is filled", "{\n   \"a\": [ \n   ], \"b\": {\n\n   }\n}", `{"a":[1,[2]],"b":{"c":1}}`,
			"{\n   \"a\": [ \n      1,\n      [\n         2\n      ]\n   ], \"b\": {\n\n      \"c\": 1\n   }\n}"},
		{"an empty one with a line break within a line", "{\"a\":[\r\n\t],\"b\":1}", `{"a":[1,{"c":2}],"b":1}`, "{\"a\":[\r\n\t  1,\r\n\t  {\r\n\t    \"c\": 2\r\n\t  }\r\n\t],\"b\":1}"},
		{"an empty one with white space in a line", `{"a": [ ], "b": { }}`, `{"a":[1,2],"b":{"c":[3]}}`, `{"a": [ 1, 2 ], "b": { "c": [3] }}`},
		{"an empty whole", " [ \n] ", `[1]`, " [ \n  1\n] "},
		{"blank lines", "{\n\n  \"a\": 1,\n\n  \"b\": 2\n\n}", `{"a":1,"b":3,"c":4}`, "{\n\n  \"a\": 1,\n\n  \"b\": 3,\n  \"c\": 4\n\n}"},
		{"what lies around", " \n{\"a\":1} \n\n", `{"a":2}`, " \n{\"a\":2} \n\n"},
		{"a colon with white space", `{"a" : 1 , "b" : 2}`, `{"a":1,"b":3,"c":4}`, `{"a" : 1 , "b" : 3, "c": 4}`},
	} {
		tree := must.Get(Parse([]byte(tt.tree)))(t)
		if got, err := Rewrite([]byte(tt.text), tree); err != nil || string(got) != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, err, tt.want)
		}
	}
	if _, err := Rewrite([]byte(`{`), NewObject()); err == nil {
		t.Error("what is no JSON is rewritten")
	}
}

// TestRewriteSaysWhatTheTreeSays over random texts, and changes one line for one value.
func TestRewriteSaysWhatTheTreeSays(t *testing.T) {
	var value func(depth int) *Node
	value = func(depth int) *Node {
		switch n := rand.IntN(6); {
		case n == 0 && depth > 0:
			all := NewObject()
			for i := range rand.IntN(5) {
				all.Set(fmt.Sprint("m", rand.IntN(5), i%2), value(depth-1))
			}
			return all
		case n <= 2 && depth > 0:
			all := NewArray()
			for range rand.IntN(5) {
				all.Items = append(all.Items, value(depth-1))
			}
			return all
		case n == 3:
			return NewString(strings.Repeat("\"{,\n", rand.IntN(3)))
		case n == 4:
			return NewBool(true)
		}
		return NewInt(int64(rand.IntN(4)))
	}
	manners := []func(*Node) string{
		func(n *Node) string { return string(n.Encode()) },
		func(n *Node) string { return string(n.Compact()) },
		func(n *Node) string {
			return strings.ReplaceAll(strings.ReplaceAll(string(n.Encode()), "  ", "\t"), "\n", "\r\n")
		},
		func(n *Node) string { return strings.ReplaceAll(string(n.Compact()), `":`, `" : `) },
	}
	for range 20_000 {
		a, b := value(4), value(4)
		text := manners[rand.IntN(4)](a)
		got, err := Rewrite([]byte(text), b)
		if err != nil {
			t.Fatalf("%s into %s: %v", text, b.Compact(), err)
		}
		if same, err := Rewrite(got, b); err != nil || string(same) != string(got) {
			t.Fatalf("%s is rewritten as %s", got, same)
		}
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add("{\n \"a\": [1, {\"b\": 2}]\r\n}", `{"a":[{"b":3}],"c":{}}`)
	f.Add(` [ "\"" , {} ]`, `[[],"\\"]`)
	f.Fuzz(func(t *testing.T, text, to string) {
		tree, err := Parse([]byte(to))
		if err != nil {
			return
		}
		if _, err := Parse([]byte(text)); err != nil {
			return
		}
		if _, err := Rewrite([]byte(text), tree); err != nil {
			t.Fatalf("%q into %q: %v", text, to, err)
		}
	})
}

// TestWhatIsPutIntoAnEmptyOneLeavesItsWhiteSpace, and whatever lies around it.
func TestWhatIsPutIntoAnEmptyOneLeavesItsWhiteSpace(t *testing.T) {
	pick := func(all ...string) string { return all[rand.IntN(len(all))] }
	for range 20_000 {
		around := NewArray(NewInt(1), NewString("here"), NewArray(NewBool(true)))
		if rand.IntN(2) == 0 {
			of := NewObject()
			of.Set("a", around)
			of.Set("here", NewString("here"))
			of.Delete(pick("here", "a"))
			around = of
		}
		text := pick(string(around.Encode()), string(around.Compact()), strings.ReplaceAll(string(around.Encode()), "\n", "\r\n"))
		at := strings.LastIndex(text, `"here"`)
		before, after := text[:at], text[at+len(`"here"`):]
		inner, into, brackets := "", `[1,{"a":[2,[]]}]`, "[]"
		for range rand.IntN(4) {
			inner += pick(" ", "\t", "\n", "\r\n")
		}
		if rand.IntN(2) == 0 {
			into, brackets = `{"x":1,"y":{"z":[]}}`, "{}"
		}
		old := before + brackets[:1] + inner + brackets[1:] + after
		tree := must.Get(Parse([]byte(before + into + after)))(t)
		made, err := Rewrite([]byte(old), tree)
		mid, begins := strings.CutPrefix(string(made), before+brackets[:1])
		mid, ends := strings.CutSuffix(mid, brackets[1:]+after)
		if err != nil || !begins || !ends {
			t.Fatalf("%q (%v) of %q", made, err, old)
		}
		head, tail := inner, inner
		if i := strings.LastIndex(inner, "\n"); i >= 0 {
			i = len(strings.TrimSuffix(inner[:i], "\r"))
			head, tail = inner[:i], inner[i:]
		} else if strings.Contains(before, "\n") {
			continue // it has lines as any other of the text
		}
		if !strings.HasPrefix(mid, head) || !strings.HasSuffix(mid, tail) {
			t.Fatalf("%q of %q: white space is gone", made, old)
		}
	}
}
