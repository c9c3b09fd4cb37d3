package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/must"
)

func write(t *testing.T, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, filepath.FromSlash(path))
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
}

func short(string) string { return "it" }

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "svc.json", "\xef\xbb\xbf{\"environments\":[\"production\"]}")
	write(t, dir, "notes.txt", "not of the layout")
	s, err := source.Read(t.Context(), dir, short)
	if err != nil || s.Git != nil || s.Name != filepath.Base(dir) || len(s.Files) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if want := "{\n  \"environments\": [\n    \"production\"\n  ]\n}\n"; string(s.Files["svc.json"]) != want {
		t.Errorf("it is not in the form of the API: %q", s.Files["svc.json"])
	}
}

func TestRefusals(t *testing.T) {
	broken := t.TempDir()
	write(t, broken, "feature-flags/one.json", "{")
	write(t, broken, "configs/two.json", "[1,]")
	var refusal *source.Refusal
	_, err := source.Read(t.Context(), broken, short)
	if !errors.As(err, &refusal) || len(refusal.Problems) != 2 || !strings.Contains(err.Error(), filepath.FromSlash("it/configs/two.json:1")) {
		t.Errorf("%v", err)
	}
	unverified := t.TempDir()
	write(t, unverified, "svc.json", `{"environments": ["production"]}`)
	write(t, unverified, "configs/a.json", `{"key":"a","type":"config","valueType":"string","default":{"rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"none"}}],"value":{"type":"string","value":"x"}}]},"environments":[{"id":"moon","rules":[]}]}`)
	s, err := source.Read(t.Context(), unverified, short)
	if err != nil || !errors.As(s.Verify, &refusal) || len(refusal.Problems) != 2 {
		t.Errorf("what svc verify tells of: %v, %v", err, s.Verify)
	}
	for _, p := range refusal.Problems {
		if p.Line != 1 || p.Column < 50 {
			t.Errorf("a place in the text as it would be stored, not in the file: %s", p)
		}
	}
	write(t, unverified, "configs/b.json", `{`)
	if _, err := source.Read(t.Context(), unverified, short); !errors.As(err, &refusal) || len(refusal.Problems) != 3 {
		t.Errorf("not all at once: %v", err)
	}
	obeyed := t.TempDir()
	for _, file := range []string{"svc.json", "config", "refs/x", ".svc-write.json"} {
		write(t, obeyed, file, `{"environments": []}`)
	}
	if _, err := source.Read(t.Context(), obeyed, short); !errors.As(err, &refusal) || len(refusal.Problems) != 3 {
		t.Errorf("what other programs obey: %v", err)
	}
	write(t, obeyed, "HEAD", "ref: refs/heads/main")
	write(t, obeyed, "objects/x", "")
	if _, err := source.Read(t.Context(), obeyed, short); err == nil || !strings.Contains(err.Error(), "for a repository") {
		t.Errorf("a repository of files: %v", err)
	}
	above := filepath.Join(t.TempDir(), "[x]")
	write(t, above, "our-config/svc.json", `{"environments": []}`)
	if _, err := source.Read(t.Context(), above, filepath.Base); err == nil || !strings.Contains(err.Error(), "did you mean our-config?") {
		t.Errorf("the one above: %v", err)
	}
	if _, err := source.Read(t.Context(), filepath.Join(above, "nowhere"), short); err == nil {
		t.Error("what is not there was read")
	}
}

// Older systems have environments such as Production.
func TestAnEnvironmentInCapitalLettersIsNoted(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "svc.json", `{"environments": ["Production", "test"]}`)
	s := must.Get(source.Read(t.Context(), dir, filepath.ToSlash))(t)
	if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, `the environment "Production" is taken as one of the type production`) || strings.Contains(notes, `"test"`) {
		t.Errorf("%q", s.Notes)
	}
}

func TestAnUnguardedWorkspaceFileIsNoted(t *testing.T) {
	for text, noted := range map[string]bool{
		`{"environments": ["production"]}`:                                  true,
		`{"environments": ["production"], "secretReferences": "protected"}`: false,
	} {
		dir := t.TempDir()
		write(t, dir, "svc.json", text)
		s := must.Get(source.Read(t.Context(), dir, filepath.ToSlash))(t)
		if got := strings.Contains(strings.Join(s.Notes, "\n"), "secretReferences"); got != noted {
			t.Errorf("%s: %q", text, s.Notes)
		}
	}
}
