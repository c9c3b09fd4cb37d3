package local

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
)

const (
	crashDir  = "SVC_TEST_CRASH_DIR"
	crashStep = "SVC_TEST_CRASH_STEP"
)

// TestCrashingChild does something only as the process that is killed: it writes, and says what
// was acknowledged. Asked to, it kills itself before a step.
func TestCrashingChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return
	}
	steps, _ := strconv.Atoi(os.Getenv(crashStep))
	counting := false
	l := must.Get(Open(background, dir, Options{Step: func(Operation, string) error {
		if counting && steps > 0 {
			if steps--; steps == 0 {
				die()
			}
		}
		return nil
	}}))(t)
	for n := 0; ; n++ {
		from := head(t, l)
		c := draft(t, l.Repository(), from.Commit, "a", fmt.Sprint(n))
		counting = true
		must.Get(l.Advance(background, from, c))(t)
		must.Get(addUser(t, l.Registry(), fmt.Sprint("user", n)))(t)
		fmt.Printf("acknowledged %s\n", c.SHA)
	}
}

func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// crash runs the child until it dies, and returns what it acknowledged.
func crash(t *testing.T, dir string, step int) (acknowledged []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashingChild$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashStep+"="+strconv.Itoa(step))
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if sha, ok := strings.CutPrefix(lines.Text(), "acknowledged "); ok {
			acknowledged = append(acknowledged, sha)
		} else {
			t.Errorf("the child says: %s", lines.Text())
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return acknowledged
}

// checkAfterCrash: nothing acknowledged is missing, at most one commit that
// was not is there, and the directory can be used, by git as well.
func checkAfterCrash(t *testing.T, dir string, before int, acknowledged []string) int {
	t.Helper()
	l := opened(t, dir, Options{Rewritten: func(w Rewrite) { t.Error(w) }})
	defer l.Close()
	rows := must.Get(l.Since(background, head(t, l), 0))(t)
	if extra := len(rows) - before - len(acknowledged); extra != 0 && extra != 1 {
		t.Fatalf("%d commits more than were acknowledged", extra)
	}
	for i, sha := range acknowledged {
		if rows[before+i].SHA != sha {
			t.Fatalf("commit %d is %s, want %s", before+i, rows[before+i].SHA, sha)
		}
	}
	if users := must.Get(l.Registry().Principals(background))(t); len(users) > len(rows) {
		t.Errorf("%d users and %d commits", len(users), len(rows))
	}
	g := gitIn(t, l.Repository())
	if at := head(t, l).Commit; at != "" { // git can have the lock
		g.run("update-ref", "-d", "refs/heads/main", at)
		g.run("update-ref", "refs/heads/main", at, noCommit)
	}
	write(t, l, "b", fmt.Sprint(len(rows)))
	agree(t, l, len(rows)+1)
	return len(rows) + 1
}

func TestKilledBeforeEachStep(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	dir := created(t)
	commits := 0
	for step := 1; step <= 34; step++ { // a write, an edit, and a little more
		acknowledged := crash(t, dir, step)
		commits = checkAfterCrash(t, dir, commits, acknowledged)
	}
}

// A lock of svc's that stayed must not keep git out longer than until the next
// start, nor hide that a living git has the lock.
func TestALockThatWasLeftBehind(t *testing.T) {
	dir := created(t)
	l := opened(t, dir, Options{})
	write(t, l, "a", "1")
	must.Do(t, l.Close())
	git := filepath.Join(dir, RepositoryName)
	next, lock := filepath.Join(git, nextHead), filepath.Join(git, branchLock)
	must.Do(t, os.WriteFile(next, []byte(strings.Repeat("1", 40)+"\n"), 0o666))
	must.Do(t, os.Link(next, lock))
	l = opened(t, dir, Options{})
	for _, path := range []string{next, lock} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	agree(t, l, 1)

	// The same evidence, but the lock is another file, and moves to another commit: git's.
	must.Do(t, os.WriteFile(next, []byte(strings.Repeat("1", 40)+"\n"), 0o666))
	must.Do(t, os.WriteFile(lock, []byte(strings.Repeat("2", 40)+"\n"), 0o666))
	must.Do(t, l.Close())
	l = opened(t, dir, Options{})
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("git's lock was broken: %v", err)
	}
	must.Do(t, os.Remove(lock))
	write(t, l, "a", "2")
	agree(t, l, 2)
}

var someID = strings.Repeat("0123456789abcdef", 3)[:object.IDLength]

func TestReferences(t *testing.T) {
	other := strings.Repeat("f", object.IDLength)
	packed := "# pack-refs with: peeled fully-peeled sorted \n" +
		other + " refs/heads/feature/refs/heads/main\n" +
		other + " refs/heads/main2\n" + other + " refs/tags/v1\n^" + other + "\n"
	for name, test := range map[string]struct{ content, id, problem string }{
		"empty":       {"", "", ""},
		"without":     {packed, "", ""},
		"with":        {packed + someID + " refs/heads/main\n" + other + " refs/heads/z\n", someID, ""},
		"no newline":  {packed + someID + " refs/heads/main", someID, ""},
		"in comment":  {"# " + someID + " refs/heads/main\n", "", ""},
		"short":       {packed + "0123 refs/heads/main\n", "", "line 6"},
		"upper case":  {strings.ToUpper(someID) + " refs/heads/main\n", "", "line 1"},
		"zeros":       {noCommit + " refs/heads/main\n", "", "line 1"},
		"carriage":    {someID + " refs/heads/main\r\n", someID, ""},
		"two spaces":  {someID + "  refs/heads/main\n", "", "line 1"},
		"only a name": {" refs/heads/main\n", "", "line 1"},
	} {
		all, err := decodeReferences([]byte(test.content))
		if id := idOf(all, branch); id != test.id || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("packed, %s: %q, %v", name, id, err)
		}
	}
	for content, want := range map[string]string{
		someID + "\n": someID, someID: someID, someID + " \r\n": someID,
		"": "", "\n": "", someID[1:] + "\n": "", someID + "0\n": "", "ref: refs/heads/trunk\n": "", noCommit + "\n": "",
	} {
		if id, err := parseLoose([]byte(content)); id != want || (err == nil) != (want != "") {
			t.Errorf("loose, %q: %q, %v", content, id, err)
		}
	}
}

func FuzzPackedReferences(f *testing.F) {
	f.Add([]byte("# pack-refs with: peeled fully-peeled sorted \n" + someID + " refs/heads/main\n^" + someID + "\n"))
	f.Add([]byte(someID + " refs/heads/other\n\n\x00\n refs/heads/main"))
	f.Fuzz(func(t *testing.T, content []byte) {
		all, err := decodeReferences(content)
		if id := idOf(all, branch); id != "" && (err != nil || !isID(id) || !bytes.Contains(content, []byte(id+" "+branch))) {
			t.Errorf("%q, %v from %q", id, err, content)
		}
		if id, err := parseLoose(content); (err == nil) != isID(id) || !bytes.HasPrefix(content, []byte(id)) {
			t.Errorf("%q, %v from %q", id, err, content)
		}
	})
}

// someRows are rows as they are written.
func someRows() []row {
	c := repository.Commit{
		SHA: someID, Tree: strings.Repeat("a", object.IDLength), Message: "one\n\nSvc-Principal: service_account/x\n",
		Author: repository.Signature{Name: "Ada", Email: "ada@example.com", When: noon},
		Touched: []repository.Touch{
			{Path: "feature-flags/a.json", Blob: someID, Created: true}, {Path: "svc.json"},
		},
	}
	child := c
	child.SHA, child.Parent, child.Touched = strings.Repeat("b", object.IDLength), someID, nil
	return []row{rowOf(c, nil).asHead(true), rowOf(child, nil).asHead(true), rowOf(child, []object.ID{object.ParseID(someID), {1}})}
}

func FuzzCache(f *testing.F) {
	header, sum := encodeCacheHeader(7)
	rows, _ := encodeRows(sum, someRows())
	whole := append(header, rows...)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(header)
	f.Add([]byte(cacheMagic))
	f.Fuzz(func(t *testing.T, content []byte) {
		d, err := decodeCache(content)
		if err != nil {
			return
		}
		// What counts is a file by itself, and says the same again.
		again, err := decodeCache(content[:d.size])
		if err != nil || len(again.rows) != len(d.rows) || again.size != d.size || again.sum != d.sum || again.base != d.base {
			t.Fatalf("the first %d bytes are %+v, %v", d.size, again, err)
		}
		header, sum := encodeCacheHeader(d.base)
		rows, sum := encodeRows(sum, d.rows)
		if !bytes.Equal(append(header, rows...), content[:d.size]) || sum != d.sum {
			t.Fatal("encoded again, it is another file")
		}
	})
}

// FuzzRow reads rows without the protection of their check.
func FuzzRow(f *testing.F) {
	for _, r := range someRows() {
		f.Add([]byte(r))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		r := row(content)
		if _, _, err := r.decode(); err != nil {
			return
		}
		h := newHistory(3)
		h.append(r, r)
		v, ok := h.at(repository.Head{Commit: r.id().String(), Sequence: 4})
		if !ok {
			t.Fatal("the row cannot be found")
		}
		for _, c := range v.since(0) {
			for _, touch := range c.Touched {
				if touch.Blob != "" && len(touch.Blob) != object.IDLength {
					t.Errorf("the blob %q", touch.Blob)
				}
				if len(v.pageOf(repository.Page{Path: touch.Path})) == 0 {
					t.Errorf("%q has no history", touch.Path)
				}
				_, _, _ = v.blob(touch.Path, 1)
			}
		}
		v.lastTouches(map[string]object.ID{"svc.json": {}})
	})
}

func FuzzRegistry(f *testing.F) {
	r := access.NewState(access.Workspace{ID: string(workspaceID), Name: "shop", Secret: []byte("s")})
	r.Principals = append(r.Principals, access.Principal{Type: access.PrincipalUser, ID: workspaceID, Name: "Ada", Roles: []string{"engineer"}})
	r.Keys = append(r.Keys, access.KeyRecord{ID: workspaceID, Kind: access.KindUser, PrincipalID: workspaceID, WorkspaceID: workspaceID, CreatedAt: noon})
	text := must.Get(encodeRegistry(nil, r))(f)
	f.Add(text)
	f.Add(bytes.Replace(text, []byte(workspaceID), []byte("secret-of-mine"), 2))
	f.Add([]byte(`{"format": 1, "keys": [{"digest": "secret-of-mine"}]}`))
	f.Add([]byte(`{"format": 1, "workspace": {"secret": 7}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decodeRegistry(text)
		if err != nil {
			if strings.Contains(err.Error(), "secret-of-mine") {
				t.Errorf("%q repeats what was read", err)
			}
			return
		}
		once := must.Get(encodeRegistry(nil, r.State))(t)
		again, err := decodeRegistry(once)
		if err != nil {
			t.Fatalf("%v in\n%s", err, once)
		}
		if twice, err := encodeRegistry(nil, again.State); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%v, once\n%s, twice\n%s", err, once, twice)
		}
	})
}

// TestUnknownFieldsStay: what a newer version has put into the registry
// survives every edit of this one.
func TestUnknownFieldsStay(t *testing.T) {
	dir := created(t)
	r := registryOf(t, dir)
	p := must.Get(addUser(t, r, "ada"))(t)
	key := addKey(t, r, p)
	path := filepath.Join(dir, registryName)
	text := must.Get(os.ReadFile(path))(t)
	unknown := []string{`"quota": {"a": 1.0}`, `"region": "eu"`, `"team": [1, 2]`, `"lastUse": 7`}
	for i, after := range []string{`"version":`, `"workspace": {`, `"type":`, `"kind":`} {
		at := strings.Index(string(text), after)
		if strings.HasSuffix(after, "{") {
			at += len(after)
		}
		text = []byte(string(text[:at]) + unknown[i] + ",\n" + string(text[at:]))
	}
	must.Do(t, os.WriteFile(path, text, registryMode))
	edits := map[string]func() error{
		"a principal is added":   func() error { _, err := addUser(t, r, "bob"); return err },
		"a key is added":         func() error { addKey(t, r, p); return nil },
		"roles are set":          func() error { return r.SetRoles(background, p.ID, []string{"support"}) },
		"somebody is disabled":   func() error { return r.SetDisabled(background, p.ID, true) },
		"a key is revoked":       func() error { _, err := r.RevokeKey(background, key.ID(), noon); return err },
		"the workspace is named": func() error { return r.SetWorkspace(background, func(w *access.Workspace) { w.Name = "other" }) },
	}
	for name, edit := range edits {
		if err := edit(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := must.Get(os.ReadFile(path))(t)
		plain := strings.Join(strings.Fields(string(text)), "")
		for _, field := range unknown {
			if !strings.Contains(plain, strings.ReplaceAll(field, " ", "")) {
				t.Errorf("%s: %s is gone", name, field)
			}
		}
	}
	principals, err := r.Principals(background)
	if err != nil || len(principals) != 2 || !principals[0].Disabled || principals[0].Roles[0] != "support" {
		t.Errorf("%+v, %v", principals, err)
	}
	keys, err := r.Keys(background)
	if err != nil || len(keys) != 2 || keys[0].RevokedAt.IsZero() {
		t.Errorf("%+v, %v", keys, err)
	}
}

// TestANewerFormatIsRefused: by whatever opens the directory, and while it is
// served. Nothing is written.
func TestANewerFormatIsRefused(t *testing.T) {
	dir := created(t)
	path := filepath.Join(dir, registryName)
	served := opened(t, dir, Options{})
	r := registryOf(t, dir)
	p := must.Get(addUser(t, r, "ada"))(t)
	key := addKey(t, r, p)
	text := must.Get(os.ReadFile(path))(t)
	newer := bytes.Replace(text, []byte(`"format": 1`), []byte(`"format": 2`), 1)
	must.Do(t, os.WriteFile(path, newer, registryMode))
	// The identity of a file reports whether it changed; let it be another one.
	must.Do(t, os.Chtimes(path, time.Time{}, noon))
	for name, try := range map[string]func() error{
		"a request":    func() error { _, err := served.Authenticate(background, key, ""); return err },
		"an edit":      func() error { return r.SetDisabled(background, p.ID, true) },
		"the registry": func() error { _, err := OpenRegistry(dir); return err },
		"a write": func() error {
			_, err := served.Advance(background, repository.Head{}, repository.Commit{SHA: strings.Repeat("a", 40)})
			return err
		},
	} {
		if err := try(); !errors.Is(err, repository.ErrNewer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.Do(t, served.Close())
	before := listing(t, dir)
	_, err := Open(background, dir, Options{})
	if !errors.Is(err, repository.ErrNewer) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("serving it: %v", err)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, newer) {
		t.Errorf("the registry became %s, %v", now, err)
	}
}

// listing is the names, sizes and times of what is in a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			b.WriteString(path + " " + info.ModTime().String() + "\n")
		}
		return err
	}))
	return b.String()
}
