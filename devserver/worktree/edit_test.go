package worktree

import "testing"

func TestRewritten(t *testing.T) {
	const stored = "{\n  \"a\": 2\n}\n"
	for _, tt := range []struct{ name, old, content, want string }{
		{"a byte order mark", "\xef\xbb\xbf{\r\n\t\"a\": 1\r\n}", stored, "\xef\xbb\xbf{\r\n\t\"a\": 2\r\n}"},
		{"one line", `{"a":1}`, stored, `{"a":2}`},
		{"no JSON", `{"a":`, stored, stored},
		{"what stood there once", "{\"a\": 1}", "{ \"a\" : 3 }", "{ \"a\" : 3 }"},
	} {
		if got := rewritten([]byte(tt.old), []byte(tt.content)); string(got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if rewritten([]byte("{}"), nil) != nil {
		t.Error("what is deleted has a content")
	}
}
