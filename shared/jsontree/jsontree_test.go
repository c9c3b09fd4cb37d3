package jsontree

import (
	"bytes"
	"encoding/json"
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
		got := n.At(pointer)
		if got == nil || !strings.HasPrefix(text[got.Offset:], want) {
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
