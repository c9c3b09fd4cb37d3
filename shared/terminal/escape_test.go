package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/testing/must"
)

var hostile = []struct{ name, text, escaped string }{
	{"plain", "checkout.redesign", "checkout.redesign"},
	{"other languages", "Größe 東京 فارسی", "Größe 東京 فارسی"},
	{"emoji with a joiner", "👩‍💻", "👩‍💻"},
	{"line feed", "a\nb", `a\nb`},
	{"tab", "a\tb", `a\tb`},
	{"carriage return", "a\rb", `a\u000db`},
	{"clear the screen", "\x1b[2J", `\u001b[2J`},
	{"window title", "\x1b]0;x\x07", `\u001b]0;x\u0007`},
	{"delete", "a\x7fb", `a\u007fb`},
	{"NUL", "a\x00b", `a\u0000b`},
	{"C1 control sequence introducer", "\u009b31m", `\u009b31m`},
	{"C1 as a bare byte", "\x9b31m", `\x9b31m`},
	{"bidirectional override", "abc\u202egnp.exe", `abc\u202egnp.exe`},
	{"bidirectional isolate", "\u2066x\u2069", `\u2066x\u2069`},
	{"right-to-left mark", "a\u200fb", `a\u200fb`},
	{"line separator", "a\u2028b", `a\u2028b`},
	{"zero-width space", "a\u200bb", `a\u200bb`},
	{"byte order mark", "\ufeffa", `\ufeffa`},
	{"tag character", "a\U000e0041", `a\udb40\udc41`},
	{"Hangul filler", "a\u3164", `a\u3164`},
	{"Hangul initial filler", "a\u115f", `a\u115f`},
	{"combining grapheme joiner", "a\u034fb", `a\u034fb`},
	{"variation selector", "a\ufe01", `a\ufe01`},
	{"variation selector of a high plane", "a\U000e0100", `a\udb40\udd00`},
	{"unassigned and ignorable", "a\U000e0fff", `a\udb43\udfff`},
	{"invalid UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
	{"half of a surrogate pair", "\xed\xa0\x80", `\xed\xa0\x80`},
	{"the replacement character itself", "a\ufffdb", "a\ufffdb"},
}

// TestEscape: a Writer leaves line feed and tab, and makes a character whole that is cut in two.
func TestEscape(t *testing.T) {
	for _, c := range hostile {
		if got := Escape(c.text); got != c.escaped {
			t.Errorf("%s: %q is written %s, want %s", c.name, c.text, got, c.escaped)
		}
		var out bytes.Buffer
		w := NewWriter(&out)
		n, err := io.Copy(w, iotest.OneByteReader(strings.NewReader(c.text)))
		if err = errors.Join(err, w.Flush()); err != nil || n != int64(len(c.text)) {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
		if want := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(c.escaped); out.String() != want {
			t.Errorf("%s: %q is written %q, want %q", c.name, c.text, out.String(), want)
		}
	}
}

func TestCommandsOfRunnersAreBrokenUp(t *testing.T) {
	for _, c := range []struct{ text, outside, inActions string }{
		{"a ##[set-output name=x]y", `a ##\u005bset-output name=x]y`, `a ##\u005bset-output name=x]y`},
		{"###[x]", `###\u005bx]`, `###\u005bx]`},
		{"##vso[task.complete]", `##vso\u005btask.complete]`, `##vso\u005btask.complete]`},
		{"::error::x", "::error::x", `:\u003aerror:\u003ax`},
		{"a:::::b", "a:::::b", `a:\u003a:\u003a:b`},
		{"### Flags [a] #[b] a:b", "### Flags [a] #[b] a:b", "### Flags [a] #[b] a:b"},
	} {
		for writer, want := range map[*Writer]string{NewWriter(nil): c.outside, NewWriterInActions(nil): c.inActions} {
			var out bytes.Buffer
			writer.to = &out
			if _, err := io.Copy(writer, iotest.OneByteReader(strings.NewReader(c.text))); err != nil || out.String() != want {
				t.Errorf("%q is written %q, want %q: %v", c.text, out.String(), want, err)
			}
		}
	}
}

func TestJSONStaysJSONThatMeansTheSame(t *testing.T) {
	for _, c := range hostile {
		var out, plain bytes.Buffer
		for _, w := range []io.Writer{NewWriter(&out), &plain} {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "\t")
			must.Do(t, enc.Encode(map[string]string{"text": c.text}))
		}
		var got, want map[string]string
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Errorf("%s: %s is no JSON: %v", c.name, out.String(), err)
		}
		must.Do(t, json.Unmarshal(plain.Bytes(), &want))
		if got["text"] != want["text"] {
			t.Errorf("%s: %q is read back as %q", c.name, want["text"], got["text"])
		}
	}
}

func FuzzWriter(f *testing.F) {
	for _, c := range hostile {
		f.Add([]byte(c.text), 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var out bytes.Buffer
		w := NewWriter(&out)
		cut = min(max(cut, 0), len(text))
		for _, part := range [][]byte{text[:cut], text[cut:]} {
			must.Get(w.Write(part))(t)
		}
		must.Do(t, w.Flush())
		if !utf8.Valid(out.Bytes()) {
			t.Errorf("%q is written as invalid UTF-8: %q", text, out.Bytes())
		}
		for _, r := range out.String() {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q is written with %U", text, r)
			}
		}
		if utf8.Valid(text) && Escape(string(text)) != strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(out.String()) {
			t.Errorf("Escape and Writer differ on %q", text)
		}
	})
}
