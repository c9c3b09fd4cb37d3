//go:build unix

package apply

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"svc.example/svc/shared/testing/must"
)

// TestTheNoteOfAnApplyStaysInTheDirectory, which somebody else may have made.
func TestTheNoteOfAnApplyStaysInTheDirectory(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for name, spoil := range map[string]func(git string) error{
		"as it is": func(git string) error { return os.Mkdir(git, 0o777) },
		"again": func(git string) error {
			return errors.Join(os.Mkdir(git, 0o777), os.WriteFile(filepath.Join(git, "svc-applied"), nil, 0o666))
		},
		"a link": func(git string) error {
			return errors.Join(os.Mkdir(git, 0o777), os.Symlink(filepath.Join(outside, "svc-applied"), filepath.Join(git, "svc-applied")))
		},
		"a pipe": func(git string) error {
			return errors.Join(os.Mkdir(git, 0o777), syscall.Mkfifo(filepath.Join(git, "svc-applied"), 0o666))
		},
		"elsewhere": func(git string) error { return os.Symlink(outside, git) },
	} {
		const mine = "mine\n"
		must.Do(t, errors.Join(os.MkdirAll(outside, 0o777), os.WriteFile(filepath.Join(outside, "svc-applied"), []byte(mine), 0o666)))
		p := &Plan{dir: t.TempDir()}
		must.Do(t, spoil(filepath.Join(p.dir, ".git")))
		if got, _ := p.applied(); got != "" {
			t.Errorf("%s: read %q", name, got)
		}
		p.noteApplied("commit")
		if got, err := os.ReadFile(filepath.Join(outside, "svc-applied")); err != nil || string(got) != mine {
			t.Errorf("%s: the file outside is now %q, %v", name, got, err)
		}
		if got, _ := p.applied(); (got == "commit") == (name == "elsewhere") {
			t.Errorf("%s: then read %q", name, got)
		}
	}
}
