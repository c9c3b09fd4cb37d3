package object_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

func TestID(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
		"what is up, doc?": "bd9dbf5aae1a3862dd1526723246b20206e5fc37",
	} {
		if got := object.Hash(object.Blob, []byte(text)); got.String() != want {
			t.Errorf("the blob %q is %s, want %s", text, got, want)
		}
	}
	if got := object.Hash(object.TreeKind, nil); got.String() != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("the empty tree is %s", got)
	}
	for text, want := range map[string]bool{
		strings.Repeat("a", 40): true, strings.Repeat("0", 40): true,
		"": false, strings.Repeat("a", 39): false, strings.Repeat("A", 40): false, strings.Repeat("g", 40): false, strings.Repeat("a", 41): false,
	} {
		if got := object.IsID(text); got != want {
			t.Errorf("IsID(%q) is %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		strings.Repeat("a", 40): true, "0af9": true, "": false, "0af": false, "0AF9": false, "0afg": false, strings.Repeat("a", 41): false,
	} {
		if got := object.IsRevision(text); got != want {
			t.Errorf("IsRevision(%q) is %v", text, got)
		}
	}
}

func TestTreeOrder(t *testing.T) {
	file := func(name string) object.TreeEntry { return object.TreeEntry{Mode: object.ModeFile, Name: name} }
	folder := func(name string) object.TreeEntry { return object.TreeEntry{Mode: object.ModeFolder, Name: name} }
	want := []object.TreeEntry{file("a"), file("a-b"), file("a.json"), folder("a"), {Mode: "040000", Name: "a0"}, file("a0b"), file("b")}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b object.TreeEntry) int {
		if a.Less(b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

func TestEntryKinds(t *testing.T) {
	for mode, want := range map[string][2]bool{ // folder, file
		"100644": {false, true}, "100755": {false, true}, "100664": {false, true},
		"120000": {false, false}, "160000": {false, false},
		"40000": {true, false}, "040000": {true, false},
	} {
		e := object.TreeEntry{Mode: mode}
		if got := [2]bool{e.IsFolder(), e.IsFile()}; got != want {
			t.Errorf("mode %s is %v, want %v", mode, got, want)
		}
	}
}

func TestDecodeTreeErrors(t *testing.T) {
	id := strings.Repeat("i", 20)
	for name, text := range map[string]string{
		"no mode": " a\x00" + id, "not octal": "10x644 a\x00" + id, "no space": "100644", "a long mode": "123456789 a\x00" + id,
		"no name": "100644 \x00" + id, "no end of name": "100644 abc",
		"a short id": "100644 a\x00" + id[1:], "something after": "100644 a\x00" + id + "1",
	} {
		if entries, err := object.DecodeTree([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, entries)
		}
	}
}

// TestReadAnother: an object of another kind, or a damaged one, is told by its
// id.
func TestReadAnother(t *testing.T) {
	gone := errors.New("gone")
	tree, commit, blob, other := object.ID{1}, object.ID{2}, object.ID{3}, object.ID{4}
	read := func(id object.ID) (object.Kind, []byte, error) {
		switch id {
		case tree:
			return object.TreeKind, []byte("100644 a"), nil
		case commit:
			return object.CommitKind, []byte("tree x\n\n"), nil
		case blob:
			return object.Blob, []byte("text"), nil
		}
		return "", nil, gone
	}
	readTree := func(id object.ID) error { _, err := object.ReadTree(read, id); return err }
	readCommit := func(id object.ID) error { _, err := object.ReadCommit(read, id); return err }
	readBlob := func(id object.ID) error { _, err := object.ReadAs(read, id, object.Blob); return err }
	for _, test := range []struct {
		err  error
		want string
	}{
		{readTree(blob), "object " + blob.String() + " is a blob where a tree belongs"},
		{readCommit(tree), "object " + tree.String() + " is a tree where a commit belongs"},
		{readBlob(commit), "object " + commit.String() + " is a commit where a blob belongs"},
		{readTree(tree), "object " + tree.String() + ": tree, byte 0: the entry's name is empty or does not end"},
		{readCommit(commit), "object " + commit.String() + `: commit: "x" is no id of a tree`},
		{readBlob(blob), ""},
	} {
		if got := fmt.Sprint(test.err); test.want != "" && got != test.want || test.want == "" && test.err != nil {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	for _, err := range []error{readTree(other), readCommit(other), readBlob(other)} {
		if !errors.Is(err, gone) {
			t.Errorf("%v, want %v", err, gone)
		}
	}
}

func FuzzDecodeTree(f *testing.F) {
	f.Add([]byte("100644 a.json\x00aaaaaaaaaaaaaaaaaaaa40000 b\x00bbbbbbbbbbbbbbbbbbbb"))
	f.Add([]byte("040000 \xff\x00aaaaaaaaaaaaaaaaaaaa"))
	f.Add([]byte("100644 "))
	f.Fuzz(func(t *testing.T, content []byte) {
		entries, err := object.DecodeTree(content)
		if err != nil {
			return
		}
		if again := object.EncodeTree(entries); !bytes.Equal(again, content) {
			t.Errorf("%q comes back as %q", content, again)
		}
	})
}

func FuzzDecodeCommit(f *testing.F) {
	tree := strings.Repeat("a", 40)
	for _, text := range []string{
		"tree " + tree + "\nparent " + tree + "\nauthor A <a@b> 1700000000 +0530\ncommitter B <> 1700000000 -0930\n\nmessage\n",
		"tree " + tree + "\nauthor A\ncommitter > < 5\n\n", "tree " + tree, "tree x\n\n", "",
		"tree " + tree + "\nauthor A <a@b> 99999999999999999999 +9999\ngpgsig x\n y\n z\n\nm\n\nn",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := object.DecodeCommit(content)
		if err != nil {
			return
		}
		if err := c.Author.Check(); err != nil {
			return
		}
		if err := c.Committer.Check(); err != nil {
			return
		}
		again, err := object.DecodeCommit(object.EncodeCommit(c))
		if err != nil || !same(again, c) {
			t.Errorf("%+v comes back as %+v, %v", c, again, err)
		}
	})
}

func same(a, b object.Commit) bool {
	return a.Tree == b.Tree && slices.Equal(a.Parents, b.Parents) && a.Message == b.Message &&
		sameSignature(a.Author, b.Author) && sameSignature(a.Committer, b.Committer)
}

func sameSignature(a, b object.Signature) bool {
	return a.Name == b.Name && a.Email == b.Email && a.When.Format(time.RFC3339Nano) == b.When.Format(time.RFC3339Nano)
}

// TestCommitRoundTrip: what has passed the checks comes back as it was, to
// the second, and git fsck --strict is content with it.
func TestCommitRoundTrip(t *testing.T) {
	dir := t.TempDir()
	realgit.Run(t, dir, "init", "--quiet", "--bare")
	store(t, dir, "tree", nil)
	checked := 0
	rapid.Check(t, func(r *rapid.T) {
		good := func(text string) bool {
			return object.Signature{Name: "x" + text + "x", Email: text, When: time.Unix(0, 0)}.Check() == nil
		}
		words := rapid.StringMatching(`[^\x00-\x20<>\x7f-\x9f]{1,9}( [^\x00-\x20<>\x7f-\x9f]{1,9})?`).Filter(good)
		signature := func(who string) object.Signature {
			seconds := rapid.Int64Range(0, 253402300799-86400).Draw(r, who+" seconds")
			offset := rapid.IntRange(-12*60, 14*60).Draw(r, who+" offset")
			return object.Signature{
				Name:  words.Draw(r, who+" name"),
				Email: words.Draw(r, who+" e-mail"),
				When:  time.Unix(seconds, 0).In(time.FixedZone("", offset*60)),
			}
		}
		c := object.Commit{Tree: object.ParseID("4b825dc642cb6eb9a060e54bf8d69288fbee4904"), Author: signature("author"), Committer: signature("committer"),
			Message: words.Draw(r, "subject") + rapid.StringMatching(`(\n|[^\x00]){0,20}`).Draw(r, "body")}
		must.Do(r, errors.Join(c.Author.Check(), c.Committer.Check(), object.CheckMessage(c.Message)))
		content := object.EncodeCommit(c)
		if again, err := object.DecodeCommit(content); err != nil || !same(again, c) {
			r.Fatalf("%+v comes back as %+v, %v", c, again, err)
		}
		if checked++; checked <= 20 {
			if id := store(t, dir, "commit", content); id != object.Hash(object.CommitKind, content).String() {
				r.Errorf("git names it %s", id)
			}
		}
	})
	if out, err := realgit.Command(t, dir, "fsck", "--strict", "--no-dangling").CombinedOutput(); err != nil || strings.Contains(string(out), "error") || strings.Contains(string(out), "warning") {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

// TestRepeatedHeaders: of headers that stand twice, or where they do not belong,
// the same count as in git.
func TestRepeatedHeaders(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string {
		out, err := realgit.Try(t, dir, args...)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(out)
	}
	run("init", "--quiet", "--bare")
	one := store(t, dir, "tree", nil)
	blob := store(t, dir, "blob", []byte("text"))
	entry := object.EncodeTree([]object.TreeEntry{{Mode: object.ModeFile, Name: "a", ID: object.ParseID(blob)}})
	other := store(t, dir, "tree", entry)
	people := "author A <a@b> 5 +0000\ncommitter C <c@d> 6 +0000\n"
	p := store(t, dir, "commit", []byte("tree "+one+"\n"+people+"\nparent\n"))
	q := store(t, dir, "commit", []byte("tree "+one+"\n"+people+"\nother parent\n"))
	for name, content := range map[string]string{
		"as git writes it":   "tree " + one + "\nparent " + p + "\nparent " + q + "\n" + people,
		"two trees":          "tree " + one + "\n" + people + "tree " + other + "\n",
		"two trees in a row": "tree " + one + "\ntree " + other + "\n" + people,
		"a late parent":      "tree " + one + "\nparent " + p + "\n" + people + "parent " + q + "\n",
		"a late first one":   "tree " + one + "\n" + people + "parent " + q + "\n",
		"others in a header": "tree " + one + "\n" + people + "gpgsig x\n tree " + other + "\n parent " + q + "\n author X\n",
		"other people":       "tree " + one + "\n" + people + "author E <e@f> 7 +0000\ncommitter G <g@h> 8 +0000\n",
		"no tree in front":   people + "tree " + one + "\n",
		"an id in front":     one + "\n" + people,
		"a parent in front":  "parent " + p + "\ntree " + one + "\n" + people,
	} {
		id := store(t, dir, "commit", []byte(content+"\nmessage\n"))
		want := run("rev-parse", "--quiet", "--verify", id+"^{tree}")
		c, err := object.DecodeCommit([]byte(content + "\nmessage\n"))
		if (err == nil) != (want != "") {
			t.Errorf("%s: %v, and git reads tree %q", name, err, want)
			continue
		}
		if err != nil {
			continue
		}
		line := id
		for _, parent := range c.Parents {
			line += " " + parent.String()
		}
		if wantLine := run("rev-list", "--max-count=1", "--parents", id); c.Tree.String() != want || line != wantLine {
			t.Errorf("%s: tree %s of %q; git says %s of %q", name, c.Tree, line, want, wantLine)
		}
		if c.Author.Name != "A" || c.Committer.Name != "C" {
			t.Errorf("%s: by %s and %s", name, c.Author.Name, c.Committer.Name)
		}
	}
}

// store lets git store an object, unchecked, and returns its id.
func store(t *testing.T, dir, kind string, content []byte) string {
	cmd := realgit.Command(t, dir, "hash-object", "-w", "--literally", "--stdin", "-t", kind)
	cmd.Stdin = bytes.NewReader(content)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestCheck(t *testing.T) {
	good := object.Signature{Name: "Ada", Email: "ada@example.com", When: time.Unix(1700000000, 0)}
	for name, test := range map[string]struct {
		spoil func(s *object.Signature)
		want  string
	}{
		"nothing":          {func(*object.Signature) {}, ""},
		"no e-mail":        {func(s *object.Signature) { s.Email = "" }, ""},
		"no name":          {func(s *object.Signature) { s.Name = "" }, "a name is needed"},
		"a space in front": {func(s *object.Signature) { s.Name = " Ada" }, "begin or end"},
		"a tab":            {func(s *object.Signature) { s.Email = "a\tb" }, "control"},
		"a bracket":        {func(s *object.Signature) { s.Email = "<a@b>" }, "< or >"},
		"before 1970":      {func(s *object.Signature) { s.When = time.Unix(-1, 0) }, "1970"},
	} {
		s := good
		test.spoil(&s)
		if err := s.Check(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestALongCommitIsCut: each commit of a history stays in memory.
func TestALongCommitIsCut(t *testing.T) {
	long := strings.Repeat("ä", 500_000)
	text := "tree " + strings.Repeat("a", 40) + "\nauthor " + long + " <" + long + "> 5 +0000\ncommitter " + long + "\n\n" + long
	c := must.Get(object.DecodeCommit([]byte(text)))(t)
	for what, got := range map[string]string{"message": c.Message, "name": c.Author.Name, "e-mail": c.Author.Email, "committer": c.Committer.Name} {
		if len(got) < 1000 || len(got) > 64<<10 || strings.Trim(got, "ä") != "" {
			t.Errorf("the %s has %d bytes", what, len(got))
		}
	}
}

func TestDecodeSignatureOfOtherGits(t *testing.T) {
	head := "tree " + strings.Repeat("a", 40) + "\nauthor "
	for line, want := range map[string]object.Signature{
		"A U Thor <a@b> 1700000000 +0000": {Name: "A U Thor", Email: "a@b", When: time.Unix(1700000000, 0).UTC()},
		" <a@b> 5 +0000":                  {Email: "a@b", When: time.Unix(5, 0).UTC()},
		"A <a@b>":                         {Name: "A", Email: "a@b"},
		"A <a@b> never +0000":             {Name: "A", Email: "a@b"},
		"A <a@b> -5 +0000":                {Name: "A", Email: "a@b"},
		"A <a@b> 5 zone":                  {Name: "A", Email: "a@b", When: time.Unix(5, 0).UTC()},
		"nobody":                          {Name: "nobody"},
		"A <a <b> c> 5 +0000":             {Name: "A", Email: "a <b> c", When: time.Unix(5, 0).UTC()},
	} {
		if c, err := object.DecodeCommit([]byte(head + line + "\ncommitter B <b> 5 +0000\n\n")); err != nil || !sameSignature(c.Author, want) {
			t.Errorf("%q is %+v, %v; want %+v", line, c.Author, err, want)
		}
	}
}
