package apitest

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/apiload"
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
			must(p.t, os.Remove(path))
			continue
		}
		must(p.t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(p.t, os.WriteFile(path, []byte(text), 0o666))
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

// TestWhatIsPushedIsChecked with real git push.
func TestWhatIsPushedIsChecked(t *testing.T) {
	fixture := apiload.Fixture()
	const flag = "feature-flags/redesign.json"
	undeclared := strings.Replace(fixture[flag], `"production"`, `"moon"`, 1)
	for name, test := range map[string]struct {
		files map[string]string
		words string
	}{
		"a good change":            {map[string]string{flag: strings.Replace(fixture[flag], "checkout", "basket", 1)}, ""},
		"a file outside":           {map[string]string{"README.md": "hello", "src/x.json": "{"}, ""},
		"no JSON":                  {map[string]string{flag: "{\n  oops"}, "remote: svc: feature-flags/redesign.json:2:3: "},
		"an unknown environment":   {map[string]string{flag: undeclared}, "feature-flags/redesign.json:"},
		"a broken workspace file":  {map[string]string{"svc.json": "["}, "svc.json:1:"},
		"no workspace file":        {map[string]string{"svc.json": ""}, "remote: svc: svc.json: the file is gone"},
		"a document that is large": {map[string]string{"configs/big.json": strings.Repeat(" ", 2<<20)}, "configs/big.json: 2097152 bytes; a file may have at most 1048576"},
		"a file that is enormous":  {map[string]string{"images/huge.png": strings.Repeat("\x00", 65<<20)}, "has 68157440 bytes; one of its kind may have at most 67108864"},
		"a name for a terminal":    {map[string]string{"configs/\x1b[31mred.json": "{"}, `configs/\u001b[31mred.json:1:`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPusher(t)
			p.commit(test.files)
			p.push(test.words, "HEAD:main")
			p.works(true)
		})
	}
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

// TestWhoMendsOneOfManyMistakes need not mend the others, however many there are,
// and who adds to them is told of those alone.
func TestWhoMendsOneOfManyMistakes(t *testing.T) {
	p := newPusher(t)
	broken := func(key string, mistakes int) string {
		return fmt.Sprintf("{\"key\":%q,\"type\":\"config\",\"valueType\":\"int\",\"default\":{\"rules\":[\n%s\n]}}", key, strings.TrimSuffix(strings.Repeat("1,\n", mistakes), ",\n"))
	}
	p.commit(map[string]string{"configs/a.json": broken("a", 3000)})
	p.push("and more; svc verify lists them", "HEAD:main")
	p.bare.Run(t, "fetch", "-q", p.work.Dir, "HEAD:main")
	p.commit(map[string]string{"configs/a.json": broken("a", 2999)})
	p.push("", "HEAD:main")
	p.commit(map[string]string{"configs/b.json": broken("b", 3)})
	p.push("configs/b.json:2:1: a rule is an object", "HEAD:main")
	if out, _ := p.work.Try("push", "origin", "HEAD:main"); strings.Contains(out, "a.json") {
		t.Errorf("what was there is told of:\n%s", out)
	}
	p.commit(map[string]string{"configs/b.json": broken("b", 60_000)})
	p.push("and more; svc verify lists them", "HEAD:main")
	p.works(true)
}

// TestMainIsNotDeletedByAPush, nor renamed; other branches are anybody's own.
func TestMainIsNotDeletedByAPush(t *testing.T) {
	p := newPusher(t)
	p.bare.Run(t, "symbolic-ref", "HEAD", "refs/heads/trunk") // else git itself refuses
	p.push("deletes the branch main", "--delete", "main")
	p.push("deletes the branch main", "HEAD:trunk", ":main")
	p.commit(map[string]string{"feature-flags/redesign.json": "broken"})
	p.push("", "HEAD:draft")
	p.push("", "--delete", "draft")
	p.works(true)
}

// TestReferencesOfOtherKindsAreRefused: refs/replace has git read another object
// in place of one that is served. Who has such a reference can take it away.
func TestReferencesOfOtherKindsAreRefused(t *testing.T) {
	p := newPusher(t)
	head := p.work.Run(t, "rev-parse", "HEAD")
	for _, ref := range []string{"refs/replace/" + head, "refs/grafts/x", "refs/svc/x"} {
		p.push(strconv.Quote(ref)+" is neither a branch, a tag nor a note", "HEAD:"+ref)
	}
	p.push("", "HEAD:refs/tags/v1", "HEAD:refs/notes/commits", "HEAD:refs/heads/draft")
	p.bare.Run(t, "update-ref", "refs/svc/old", head)
	p.push("", "--delete", "refs/svc/old")
	p.bare.Run(t, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
	p.commit(map[string]string{"svc.json": "["})
	p.push(`"refs/heads/alias" stands for another reference`, "HEAD:alias")
	p.push(`"refs/heads/alias" stands for another reference`, "--delete", "alias")
	p.works(true)
}

// TestATreeThatGitWouldNotWriteIsRefused, and one is that was large.
func TestATreeThatGitWouldNotWriteIsRefused(t *testing.T) {
	p := newPusher(t)
	store := *p.site
	store.bare = p.work
	commit := p.work.Run(t, "commit-tree", store.slashed("HEAD"), "-p", "HEAD", "-m", "Slash")
	p.push("fullPathname", commit+":refs/heads/main")
	p.bare.Run(t, "config", "receive.fsckObjects", "false") // somebody's own choice
	p.push("configs/evil.json: the entry's name has a slash in it", commit+":refs/heads/main")
	p.works(true)
}

// TestWhatTakesAPlaceOfTheLayoutIsRefused: nothing would be read there, and
// whatever stood there would leave what is served without a word.
func TestWhatTakesAPlaceOfTheLayoutIsRefused(t *testing.T) {
	const file, link, submodule = "100644", "120000", "160000"
	for _, test := range []struct{ place, mode, words string }{
		{"feature-flags", link, "feature-flags: is a symbolic link; it must be a folder"},
		{"configs", file, "configs: is a file; it must be a folder"},
		{"log-levels", submodule, "log-levels: is a submodule; it must be a folder"},
		{"segments", link, "segments: is a symbolic link; it must be a folder"},
		{"schemas", file, "schemas: is a file; it must be a folder"},
		{"svc.json", link, "svc.json: is a symbolic link; it must be a file"},
		{"svc.json", submodule, "svc.json: is a submodule; it must be a file"},
		{"svc.json/a.txt", file, "svc.json: is a folder; it must be a file"},
		{"feature-flags/redesign.json", submodule, "feature-flags/redesign.json: is a submodule; it must be a file"},
		{"feature-flags/redesign.json/a.txt", file, "feature-flags/redesign.json: is a folder; it must be a file"},
		{"feature-flags/redesign.json", link, "feature-flags/redesign.json: is a symbolic link; it must be a file"},
		{"Config", file, "Config: git takes HEAD, config, objects and refs"},
		{"refs/a.txt", file, "refs: git takes HEAD, config, objects and refs"},
		{".svc-write.json", file, ".svc-write.json: versions before the first release"},
		{"docs", link, ""},
		{"feature-flags/README", submodule, ""},
	} {
		t.Run(test.place+" "+test.mode, func(t *testing.T) {
			t.Parallel()
			p := newPusher(t)
			id := p.work.Run(t, "rev-parse", "HEAD")
			if test.mode != submodule {
				store := *p.site
				store.bare = p.work
				id = store.object("blob", strings.NewReader("{}"))
			}
			place, _, _ := strings.Cut(test.place, "/a.txt")
			p.work.Run(t, "rm", "-r", "-q", "--cached", "--ignore-unmatch", place)
			p.work.Run(t, "update-index", "--add", "--cacheinfo", test.mode+","+id+","+test.place)
			p.work.Run(t, "commit", "-q", "-m", "by hand")
			p.push(test.words, "HEAD:main")
			p.works(true)
		})
	}
}

// TestWhatWasImperfectMayStaySo: a push is refused for what it brings in.
func TestWhatWasImperfectMayStaySo(t *testing.T) {
	p := newPusher(t)
	p.commit(map[string]string{"configs/bad.json": "{\n"})
	p.bare.Run(t, "fetch", "-q", p.work.Dir, "HEAD:main") // which runs no hook
	p.commit(map[string]string{"README.md": "hello"})
	p.push("", "HEAD:main")
	p.commit(map[string]string{"configs/worse.json": "{\n"})
	p.push("configs/worse.json:2:1", "HEAD:main")
}

// TestAPushIsRefusedWhereNobodyCanCheckIt: the program is gone, after an update
// say.
func TestAPushIsRefusedWhereNobodyCanCheckIt(t *testing.T) {
	p := newPusher(t)
	hook := filepath.Join(p.repository(), "hooks", "pre-receive")
	good, err := os.ReadFile(hook)
	must(t, err)
	_, program, _ := strings.Cut(string(good), "svc='")
	program, _, _ = strings.Cut(program, "'")
	must(t, os.WriteFile(hook, []byte(strings.ReplaceAll(string(good), program, program+"-old")), 0o777))
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
	before, err := os.ReadFile(config)
	must(t, err)
	must(t, os.WriteFile(config, append(before, setting...), 0o666))
	other := filepath.Join(p.repository(), "hooks", "post-receive")
	must(t, os.WriteFile(other, []byte("#!/bin/sh\necho after me\n"), 0o777))
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
	must(t, os.WriteFile(hook, []byte(mine), 0o777))
	p.restart()
	if now, err := os.ReadFile(hook); err != nil || string(now) != mine {
		t.Errorf("the hook is now %s, %v", now, err)
	}
	p.logs("what is pushed is not checked")
}
