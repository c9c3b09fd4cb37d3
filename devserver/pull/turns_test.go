package pull_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/pull"
	"svc.example/svc/shared/datadir"
)

// TestAPullOverwritesNothingOfTheLastMoment: what was written since it was planned, by
// an editor or another svc, is as little overwritten as what was there before.
func TestAPullOverwritesNothingOfTheLastMoment(t *testing.T) {
	for name, change := range map[string]func(f *fake){
		"an edited file":   func(f *fake) { f.write("feature-flags/a.json", flag("a", `"name":"mine",`)) },
		"a new file":       func(f *fake) { f.write("feature-flags/new.json", flag("new", `"name":"mine",`)) },
		"a file to go":     func(f *fake) { f.write("feature-flags/gone.json", flag("gone", `"name":"mine",`)) },
		"a deleted file":   func(f *fake) { _ = os.Remove(filepath.Join(f.dir, "feature-flags/a.json")) },
		"a pull meanwhile": func(f *fake) { f.pull() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.set("a", flag("a", ""))
			f.set("gone", flag("gone", ""))
			f.pull()
			f.set("a", flag("a", `"name":"theirs",`))
			f.set("new", flag("new", `"name":"theirs",`))
			f.remove("gone")
			p := f.plan(pull.Options{})
			change(f)
			before := f.everything()
			if err := p.Apply(ctx); err == nil || !strings.Contains(err.Error(), "nothing written") || !strings.Contains(err.Error(), "svc pull again") {
				t.Error(err)
			}
			if got := f.everything(); got != before {
				t.Errorf("there is\n%s\nand was\n%s", got, before)
			}
		})
	}
}

func (f *fake) everything() string {
	var all strings.Builder
	for _, path := range []string{"feature-flags/a.json", "feature-flags/new.json", "feature-flags/gone.json", pull.StateName} {
		all.WriteString(path + ": " + f.file(path) + "\n")
	}
	return all.String()
}

func TestAPullWaitsForItsTurn(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("a", ""))
	f.pull()
	f.set("a", flag("a", `"name":"theirs",`))
	p := f.plan(pull.Options{})
	lock, err := datadir.Lock(ctx, f.dir)
	must(t, err)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	before := f.everything()
	if err := p.Apply(short); !errors.Is(err, datadir.ErrHeld) || f.everything() != before {
		t.Error("it is written out of turn:", err)
	}
	lock.Close()
	if err := p.Apply(ctx); err != nil || !strings.Contains(f.file("feature-flags/a.json"), "theirs") {
		t.Error(err)
	}
}
