package repository

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

// Commits of all kinds come back as they were.
func TestCommitsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := func(name string) string {
			return hex.EncodeToString(rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, name))
		}
		maybe := func(name string) string {
			if rapid.Bool().Draw(t, name+"?") {
				return id(name)
			}
			return ""
		}
		text := rapid.OneOf(rapid.String(), rapid.Just("\xff\xfe"), rapid.Just(""))
		when := func(name string) time.Time {
			if rapid.IntRange(0, 9).Draw(t, name+"?") == 0 {
				return time.Time{}
			}
			zone := time.UTC
			if minutes := rapid.IntRange(-720, 840).Draw(t, name+" zone"); minutes != 0 {
				zone = time.FixedZone("", 60*minutes)
			}
			return time.Unix(rapid.Int64Range(0, 1<<38).Draw(t, name), 0).In(zone)
		}
		want := Commit{
			SHA: id("sha"), Parent: maybe("parent"), Tree: maybe("tree"), Pack: maybe("pack"),
			Sequence:  rapid.Int64Range(0, 1<<50).Draw(t, "sequence"),
			Author:    Signature{Name: text.Draw(t, "name"), Email: text.Draw(t, "mail"), When: when("authored")},
			Committer: Signature{Name: text.Draw(t, "name 2"), Email: text.Draw(t, "mail 2"), When: when("committed")},
			Message:   text.Draw(t, "message"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "touches") {
			touch := Touch{Path: text.Draw(t, "path"), Blob: maybe("blob"), Created: rapid.Bool().Draw(t, "created")}
			switch rapid.IntRange(0, 2).Draw(t, "place") {
			case 1: // none, if the commit has none
				touch.Pack, touch.Offset, touch.Length = want.Pack, 12, 345
			case 2:
				touch.Pack, touch.Offset, touch.Length = id("elsewhere"), 1<<40, 1
			}
			if touch.Pack == "" {
				touch.Offset, touch.Length = 0, 0
			}
			want.Touched = append(want.Touched, touch)
		}
		encoded := AppendCommit([]byte("before"), want)
		got, rest, err := ReadCommit(append(encoded, "after"...)[len("before"):])
		if err != nil || string(rest) != "after" {
			t.Fatalf("%v, then %q", err, rest)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("got\n%+v, want\n%+v", got, want)
		}
	})
}

func FuzzReadCommit(f *testing.F) {
	id := strings.Repeat("a1", 20)
	f.Add(AppendCommit(nil, Commit{SHA: id}))
	f.Add(AppendCommit(nil, Commit{
		SHA: id, Parent: id, Tree: id, Pack: id, Sequence: 7, Message: "m",
		Author:  Signature{Name: "Ada", When: time.Unix(1, 0)},
		Touched: []Touch{{Path: "svc.json", Blob: id, Pack: id, Offset: 12, Length: 5}, {Path: "configs/a.json"}},
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, rest, err := ReadCommit(b)
		if err != nil {
			return
		}
		again, none, err := ReadCommit(AppendCommit(nil, c))
		if err != nil || len(none) > 0 || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", c) || len(rest) > len(b) {
			t.Errorf("%+v comes back as %+v, %v", c, again, err)
		}
	})
}

// strangeSnapshot has files of the layout among all else that a tree can hold.
func strangeSnapshot() *Snapshot {
	texts := map[string]string{"svc.json": "{}\n", "configs/a.json": "", "configs/\xff.json": "not UTF-8\n", "configs/run.json": "run\n"}
	blob := func(path string) string { return object.Hash(object.Blob, []byte(texts[path])).String() }
	other := strings.Repeat("2", 40)
	tree := Tree{
		Root: []TreeEntry{
			{Mode: object.ModeSymlink, Name: "LINK\xfe", ID: object.ParseID(other)},
			{Mode: object.ModeFolder, Name: "configs", ID: object.ParseID(other)},
			{Mode: object.ModeFolder, Name: "src", ID: object.ParseID(other)},
			{Mode: object.ModeFile, Name: "svc.json", ID: object.ParseID(blob("svc.json"))},
			{Mode: object.ModeSubmodule, Name: "vendored", ID: object.ParseID(other)},
		},
		Folders: map[string][]TreeEntry{"configs": {
			{Mode: object.ModeFile, Name: "README", ID: object.ParseID(other)},
			{Mode: object.ModeFile, Name: "a.json", ID: object.ParseID(other)}, // git does not write two of one name
			{Mode: object.ModeFile, Name: "a.json", ID: object.ParseID(blob("configs/a.json"))},
			{Mode: object.ModeFile, Name: "lost.json", ID: object.ParseID(other)},
			{Mode: object.ModeSubmodule, Name: "m.json", ID: object.ParseID(other)},
			{Mode: object.ModeExecutable, Name: "run.json", ID: object.ParseID(blob("configs/run.json"))},
			{Mode: "100664", Name: "\xff.json", ID: object.ParseID(blob("configs/\xff.json"))},
		}},
		Files:  map[string][]byte{},
		Unread: map[string]*workspace.Unread{"configs/lost.json": {Why: "it is gone", Lost: true}},
	}
	last := map[string]Commit{}
	for path, text := range texts {
		tree.Files[path] = []byte(text)
		last[path] = Commit{SHA: object.Hash(object.Blob, []byte(path)).String(), Sequence: int64(len(path)), Parent: other, Message: "m\n", Author: Signature{Name: "A", When: time.Unix(5, 0).UTC()}}
	}
	return SnapshotOf(Head{Commit: strings.Repeat("3", 40), Sequence: 99}, tree, last)
}

func TestSnapshotsComeBack(t *testing.T) {
	want := strangeSnapshot()
	name, content, err := EncodeSnapshot(want, nil)
	must.Do(t, err)
	if again, same, err := EncodeSnapshot(want, nil); err != nil || again != name || !bytes.Equal(same, content) {
		t.Error("the same snapshot is encoded in two ways")
	}
	got := must.Get(DecodeSnapshot(name, content))(t)
	for i, f := range got.Files {
		if i > 0 && f.Path == got.Files[i-1].Path || f.Err == nil && f.Blob != object.Hash(object.Blob, f.Text).String() {
			t.Errorf("%s is there as %s with the text %q", f.Path, f.Blob, f.Text)
		}
	}
	if got.Head != want.Head || !reflect.DeepEqual(got.Files, want.Files) {
		t.Errorf("got\n%+v, want\n%+v", got.Files, want.Files)
	}
	if tree, known := got.knownTree(); !known || fmt.Sprintf("%q", fmt.Sprint(tree)) != fmt.Sprintf("%q", fmt.Sprint(want.tree)) {
		t.Errorf("the tree is\n%q, want\n%q", tree, want.tree)
	}
	if _, err := DecodeSnapshot(strings.Repeat("0", 64), content); !errors.Is(err, errSnapshot) {
		t.Errorf("under another name: %v", err)
	}
	want.Head.Fence = 1
	behind, content, err := EncodeSnapshot(want, nil)
	if err != nil || behind == name {
		t.Errorf("after a sweep the same snapshot is named %s again, %v", behind, err)
	}
	if again, err := DecodeSnapshot(behind, content); err != nil || !reflect.DeepEqual(again.Files, got.Files) {
		t.Errorf("after a sweep: %v", err)
	}
	if _, _, err := EncodeSnapshot(&Snapshot{Head: want.Head}, nil); err == nil {
		t.Error("a snapshot was encoded whose tree is not known")
	}
}

// plainSnapshot is a stored snapshot without its first line.
func plainSnapshot(t testing.TB, s *Snapshot) []byte {
	t.Helper()
	_, content, err := EncodeSnapshot(s, nil)
	must.Do(t, err)
	return content[len(snapshotMagic):]
}

func TestDamagedSnapshots(t *testing.T) {
	plain := plainSnapshot(t, strangeSnapshot())
	for n := range plain {
		if s, err := decodeSnapshot([]byte(snapshotMagic + string(plain[:n]))); err == nil {
			t.Fatalf("cut off at %d of %d it is %+v", n, len(plain), s.Head)
		}
	}
	if _, err := decodeSnapshot([]byte(snapshotMagic + string(plain) + "x")); err == nil {
		t.Error("something follows, and it is taken")
	}
	for name, header := range map[string]string{
		"a negative length":  `{"commit":"` + strings.Repeat("3", 40) + `","root":-1}`,
		"a negative count":   `{"commit":"` + strings.Repeat("3", 40) + `","commits":-1}`,
		"a negative text":    `{"commit":"` + strings.Repeat("3", 40) + `","files":[[-1,0]]}`,
		"too many commits":   `{"commit":"` + strings.Repeat("3", 40) + `","commits":1000000000}`,
		"no commit":          `{}`,
		"no JSON":            `{`,
		"a negative folder":  `{"commit":"` + strings.Repeat("3", 40) + `","folders":[{"name":"configs","length":-5}]}`,
		"a negative history": `{"commit":"` + strings.Repeat("3", 40) + `","sequence":-5}`,
	} {
		plain := append([]byte{0, 0, 0, byte(len(header))}, header...)
		if s, err := decodeSnapshot([]byte(snapshotMagic + string(plain))); err == nil {
			t.Errorf("%s: %+v", name, s.Head)
		}
	}
	for _, content := range []string{"", "svc snapshot 2\n", snapshotMagic, snapshotMagic + "\xff\xff\xff\xff"} {
		if _, err := decodeSnapshot([]byte(content)); err == nil {
			t.Errorf("%q was taken", content)
		}
	}
}

// TestBriefsOfASnapshot come back with the files that they are of, once, also from a
// later head. Those that are large are left out.
func TestBriefsOfASnapshot(t *testing.T) {
	s := strangeSnapshot()
	for size, want := range map[int]int{0: 0, 1: 1, 100: 100, 10_000: 0} {
		name, content, err := EncodeSnapshot(s, bytes.Repeat([]byte("b"), size))
		must.Do(t, err)
		if got := BriefsIn(content); got != int64(want) || MaxContent(int64(len(content))-got) < int64(len(content)) {
			t.Errorf("of %d bytes %d are in a snapshot of %d", size, got, len(content))
		}
		read := must.Get(DecodeSnapshot(name, content))(t)
		later := read.copy(Head{Commit: read.Head.Commit, Access: 7})
		if files, text := later.TakeBriefs(); len(text) != want || want > 0 && len(files) != len(s.Files) {
			t.Errorf("of %d bytes %d came back, with %d files", size, len(text), len(files))
		}
		if _, text := read.TakeBriefs(); text != nil {
			t.Error("they came back twice")
		}
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add(plainSnapshot(f, strangeSnapshot()))
	f.Add(plainSnapshot(f, SnapshotOf(Head{Commit: strings.Repeat("3", 40)}, Tree{}, nil)))
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x02{}b"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		for _, magic := range []string{snapshotMagic, briefedMagic} {
			s, err := decodeSnapshot([]byte(magic + string(plain)))
			if err != nil {
				continue
			}
			_, briefs := s.TakeBriefs()
			name, content, err := EncodeSnapshot(s, briefs)
			must.Do(t, err)
			again, err := DecodeSnapshot(name, content)
			if err != nil || len(again.Files) != len(s.Files) || again.Head != s.Head {
				t.Fatalf("%v, %v", again, err)
			}
			if _, kept := again.TakeBriefs(); int64(len(kept)) != BriefsIn(content) || len(kept) > 0 && !bytes.Equal(kept, briefs) {
				t.Errorf("the briefs are %q, want %q", kept, briefs)
			}
		}
	})
}

// The id joins the trailers that are there, as git interpret-trailers has it.
func TestWhereTheRequestIdStands(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	const line = "Request-Id: " + id + "\n"
	for message, want := range map[string]string{
		"Import shop\n":                          "Import shop\n\n" + line,
		"fix: a subject that looks like one":     "fix: a subject that looks like one\n\n" + line,
		"subject\n\nbody":                        "subject\n\nbody\n\n" + line,
		"subject\n\nbody\n\nSigned-off-by: A\n":  "subject\n\nbody\n\nSigned-off-by: A\n" + line,
		"subject\n\nSvc-Principal: user/a\n\n\n": "subject\n\nSvc-Principal: user/a\n" + line,
		"subject\n\nnot a trailer\nKey: value":   "subject\n\nnot a trailer\nKey: value\n\n" + line,
	} {
		if got := (Draft{Message: message, RequestID: id}).message(); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", message, got, want)
		}
	}
}

// TestWhatWaitsIsDecidedByOthersWhereItsAuthorMayWrite: they read what they know whole, of
// one who may do what they might when it was sent, and that no answer is kept of.
func TestWhatWaitsIsDecidedByOthersWhereItsAuthorMayWrite(t *testing.T) {
	base := &Snapshot{Head: Head{Commit: "c", Sequence: 1, Access: 3, Index: "i"}}
	mine := Draft{RequestID: "0123456789abcdef0123456789abcdef", Turn: &Turn{}, Intent: func() []byte { return []byte("{}") }}
	w := readWaiting(must.Get(json.Marshal(portable(base, mine)))(t))
	for name, test := range map[string]struct {
		head Head
		want bool
	}{
		"the head that it was decided on": {base.Head, true},
		"others have made a commit":       {Head{Commit: "d", Sequence: 2, Access: 3, Index: "i"}, true},
		"a key was revoked":               {Head{Commit: "c", Sequence: 1, Access: 4, Index: "i"}, false},
		"the history was replaced":        {Head{Commit: "c", Sequence: 2, Access: 3, Index: "j"}, false},
	} {
		if got := w.fits(test.head); got != test.want {
			t.Errorf("%s: it fits is %t", name, got)
		}
	}
	for name, spoil := range map[string]func(d *Draft){
		"its answer is kept":           func(d *Draft) { d.Once = &Once{} },
		"it was approved as it stands": func(d *Draft) { d.Approved = true },
		"nobody else can decide it":    func(d *Draft) { d.Intent = nil },
		"it is large":                  func(d *Draft) { d.Intent = func() []byte { return make([]byte, maxDraft+1) } },
		"it came back":                 func(d *Draft) { d.Turn = &Turn{back: true} },
	} {
		d := mine
		if spoil(&d); portable(base, d) != nil {
			t.Errorf("%s: others commit it", name)
		}
	}
	if readWaiting([]byte(`{"New": 1}`)) != nil || (*waitingDraft)(nil).fits(base.Head) {
		t.Error("what others cannot read is committed by them")
	}
}
