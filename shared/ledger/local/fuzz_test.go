package local

import (
	"bytes"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
)

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
