package apitest

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/must"
)

// pusher is a clone of a site's repository.
type pusher struct {
	*site
	work apiload.Git
}

func newPusher(t *testing.T) *pusher {
	p := &pusher{site: newSite(t)}
	p.work = apiload.Git{Program: p.bare.Program, Dir: filepath.Join(t.TempDir(), "clone")}
	p.bare.Run(t, "clone", "-q", p.repository(), p.work.Dir)
	return p
}

// commit changes files of the work tree; "" deletes one.
func (p *pusher) commit(files map[string]string) {
	p.t.Helper()
	for name, text := range files {
		path := filepath.Join(p.work.Dir, filepath.FromSlash(name))
		if text == "" {
			must.Do(p.t, os.Remove(path))
			continue
		}
		must.Do(p.t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(p.t, os.WriteFile(path, []byte(text), 0o666))
	}
	p.work.Run(p.t, "add", "-A")
	p.work.Run(p.t, "commit", "-q", "-m", "by hand")
}

// push demands that a push is refused with words, or taken when there are none.
func (p *pusher) push(words string, args ...string) {
	p.t.Helper()
	before := p.bare.Run(p.t, "rev-parse", "refs/heads/main")
	out, err := p.work.Try(append([]string{"push", "origin"}, args...)...)
	if (err == nil) != (words == "") || words != "" && !strings.Contains(out, words) {
		p.t.Errorf("git push %s: %v, want %q\n%s", strings.Join(args, " "), err, words, out)
	}
	if after := p.bare.Run(p.t, "rev-parse", "refs/heads/main"); words != "" && after != before {
		p.t.Errorf("git push %s was refused, and main was moved", strings.Join(args, " "))
	}
}

// TestWhatIsPushedIsChecked with real git push. What is refused is told in prereceive's tests.
func TestWhatIsPushedIsChecked(t *testing.T) {
	p := newPusher(t)
	p.commit(map[string]string{"feature-flags/redesign.json": strings.Replace(apiload.Fixture()["feature-flags/redesign.json"], "checkout", "basket", 1)})
	p.push("", "HEAD:main", "HEAD:refs/tags/v1", "HEAD:refs/notes/commits")
	store := *p.site
	store.bare = p.work
	p.push("fullPathname", p.work.Run(t, "commit-tree", store.slashed("HEAD"), "-p", "HEAD", "-m", "Slash")+":refs/heads/main")
	p.commit(map[string]string{"feature-flags/redesign.json": "{\n  oops"})
	p.push("remote: svc: feature-flags/redesign.json:2:3: ", "HEAD:main")
	p.push("", "HEAD:draft") // which is anybody's own
	p.push("", "--delete", "draft")
	p.bare.Run(t, "symbolic-ref", "HEAD", "refs/heads/trunk") // else git itself refuses
	p.push("deletes the branch main", "--delete", "main")
	p.works(true)
}

// TestAPushIsBounded, and nothing of one that is too large is kept.
func TestAPushIsBounded(t *testing.T) {
	p := newPusher(t)
	if most := p.bare.Run(t, "config", "--type=int", "receive.maxInputSize"); most != "134217728" {
		t.Errorf("a push may have %s bytes", most)
	}
	p.bare.Run(t, "config", "receive.maxInputSize", "1m") // somebody's own choice
	noise := make([]byte, 2<<20)
	_, _ = rand.Read(noise)
	p.commit(map[string]string{"images/noise.png": string(noise)})
	before := p.bare.Run(t, "count-objects", "-v")
	p.push("pack exceeds maximum allowed size", "HEAD:main")
	p.push("pack exceeds maximum allowed size", "HEAD:draft")
	if after := p.bare.Run(t, "count-objects", "-v"); after != before {
		t.Errorf("there was\n%s, and now is\n%s", before, after)
	}
	if left, err := filepath.Glob(filepath.Join(p.repository(), "objects", "*incoming*")); err != nil || len(left) > 0 {
		t.Errorf("what was pushed is kept: %v, %v", left, err)
	}
	p.works(true)
}

// TestAPushIsRefusedWhereNobodyCanCheckIt: the program is gone, after an update
// say.
func TestAPushIsRefusedWhereNobodyCanCheckIt(t *testing.T) {
	p := newPusher(t)
	hook := filepath.Join(p.repository(), "hooks", "pre-receive")
	good := must.Get(os.ReadFile(hook))(t)
	_, program, _ := strings.Cut(string(good), "svc='")
	program, _, _ = strings.Cut(program, "'")
	must.Do(t, os.WriteFile(hook, []byte(strings.ReplaceAll(string(good), program, program+"-old")), 0o777))
	p.commit(map[string]string{"README.md": "hello"})
	p.push("there is no program at "+program+"-old any more", "HEAD:main")
	p.restart()
	p.push("", "HEAD:main")
}

// TestTheRepositoryOfOthersStaysTheirs: their settings and hooks are kept.
func TestTheRepositoryOfOthersStaysTheirs(t *testing.T) {
	p := newPusher(t)
	const setting = "# mine\n[receive]\n\tadvertisePushOptions = true\n"
	config, hook := filepath.Join(p.repository(), "config"), filepath.Join(p.repository(), "hooks", "pre-receive")
	before := must.Get(os.ReadFile(config))(t)
	must.Do(t, os.WriteFile(config, append(before, setting...), 0o666))
	other := filepath.Join(p.repository(), "hooks", "post-receive")
	must.Do(t, os.WriteFile(other, []byte("#!/bin/sh\necho after me\n"), 0o777))
	p.restart()
	if now, err := os.ReadFile(config); err != nil || string(now) != string(before)+setting {
		t.Errorf("the config is now %s, %v", now, err)
	}
	p.commit(map[string]string{"configs/bad.json": "{"})
	p.push("configs/bad.json:1:", "HEAD:main")
	p.work.Run(t, "reset", "-q", "--hard", "HEAD^")
	p.commit(map[string]string{"README.md": "hello"})
	if out, err := p.work.Try("push", "origin", "HEAD:main"); err != nil || !strings.Contains(out, "after me") {
		t.Errorf("%s, %v", out, err)
	}

	const mine = "#!/bin/sh\nexit 0\n"
	must.Do(t, os.WriteFile(hook, []byte(mine), 0o777))
	p.restart()
	if now, err := os.ReadFile(hook); err != nil || string(now) != mine {
		t.Errorf("the hook is now %s, %v", now, err)
	}
	p.logs("what is pushed is not checked")
}
