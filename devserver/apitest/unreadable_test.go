package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/repository/object"
)

// rawTree stores a tree, whatever it names.
func (s *site) rawTree(entries []object.TreeEntry) string {
	s.t.Helper()
	return s.object("tree", bytes.NewReader(object.EncodeTree(entries)))
}

// withConfigs is a commit on top of main whose folder configs is a given object.
func (s *site) withConfigs(id string) string {
	return s.displaced("configs", object.ModeFolder, id)
}

// displaced is a commit on top of main with something else at a place of its root.
func (s *site) displaced(place, mode, id string) string {
	s.t.Helper()
	content, err := exec.Command(s.bare.Program, "-C", s.bare.Dir, "cat-file", "tree", "refs/heads/main^{tree}").Output()
	must(s.t, err)
	root, err := object.DecodeTree(content)
	must(s.t, err)
	root = slices.DeleteFunc(root, func(e object.TreeEntry) bool { return e.Name == place })
	root = append(root, object.TreeEntry{Mode: mode, Name: place, ID: object.ParseID(id)})
	slices.SortFunc(root, func(a, b object.TreeEntry) int {
		if a.Less(b) {
			return -1
		}
		return 1
	})
	return s.bare.Run(s.t, "commit-tree", s.rawTree(root), "-p", "refs/heads/main", "-m", "Harm")
}

// cut leaves the first half of an object's file, as a full disk does.
func (s *site) cut(id string) string {
	s.t.Helper()
	file := s.loose(id)
	info, err := os.Stat(file)
	must(s.t, err)
	must(s.t, os.Chmod(file, 0o666))
	must(s.t, os.Truncate(file, info.Size()/2))
	return id
}

func (s *site) loose(id string) string {
	return filepath.Join(s.repository(), "objects", id[:2], id[2:])
}

// TestAHeadThatCannotBeRead: readers and applications go on from the last one
// that could be read, also after a restart, writers hear why they cannot, and
// the way back that they are told works. The ledger's own tests have more of them.
func TestAHeadThatCannotBeRead(t *testing.T) {
	const missing = "4444444444444444444444444444444444444444"
	for name, harm := range map[string]func(s *site, main string) (commit string){
		"a missing tree": func(s *site, _ string) string { return s.withConfigs(missing) },
		"a symbolic link in the place of a folder": func(s *site, _ string) string {
			return s.displaced("feature-flags", object.ModeSymlink, s.object("blob", strings.NewReader("x")))
		},
		"a submodule in the place of a folder": func(s *site, _ string) string {
			return s.displaced("feature-flags", object.ModeSubmodule, missing)
		},
		"a submodule in the place of the workspace file": func(s *site, _ string) string {
			return s.displaced("svc.json", object.ModeSubmodule, missing)
		},
		"more documents than are read": func(s *site, _ string) string {
			large := s.object("blob", strings.NewReader(`{"key": "x"`+strings.Repeat(" ", 1<<20-20)+"}"))
			var configs []object.TreeEntry
			for i := range 130 {
				configs = append(configs, object.TreeEntry{Mode: object.ModeFile, Name: fmt.Sprintf("x%03d.json", i), ID: object.ParseID(large)})
			}
			return s.withConfigs(s.rawTree(configs))
		},
		"a directory": func(s *site, main string) string {
			must(s.t, os.Remove(main))
			must(s.t, os.Mkdir(main, 0o777))
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.works(true)
			good := s.bare.Run(t, "rev-parse", "refs/heads/main")
			main := filepath.Join(s.repository(), "refs", "heads", "main")
			bad := harm(s, main)
			if bad != "" {
				must(t, os.WriteFile(main, []byte(bad+"\n"), 0o666))
			}
			recoveryHint := "git update-ref refs/heads/main " + good
			for range 2 {
				s.expect(200, `"redesign"`, "GET", "/v1/flags", "")
				s.expect(200, `"redesign"`, "GET", poll, "")
				s.expect(200, "", "GET", "/v1/activity", "")
				s.expect(503, recoveryHint, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, false))
				r := s.report()
				if u := r.UnreadableHead; r.CommitSHA != good || u == nil || u.CommitSHA != bad || !strings.Contains(u.Message, recoveryHint) {
					t.Errorf("the workspace: %+v, %+v", r, u)
				}
				if n := strings.Count(s.p.Log.String(), "refs/heads/main is unreadable"); n != 1 {
					t.Errorf("logged %d times:\n%s", n, s.p.Log)
				}
				s.restart()
			}
			s.bare.Run(t, strings.Fields(recoveryHint)[1:]...)
			if r := s.report(); r.UnreadableHead != nil {
				t.Errorf("mended, and the workspace tells %+v", r.UnreadableHead)
			}
			s.works(false)
		})
	}
}

// TestADocumentThatWasLost: a document whose object is lost after it was
// committed is served as it last was good, and the rest can be written.
func TestADocumentThatWasLost(t *testing.T) {
	for name, harm := range map[string]func(s *site, id string){
		"half of it": func(s *site, id string) { s.cut(id) },
		"all of it":  func(s *site, id string) { must(s.t, os.Remove(s.loose(id))) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.works(true)
			text := s.expect(200, "", "GET", "/v1/flags/redesign/document", "")
			var stored struct{ Document json.RawMessage }
			must(t, json.Unmarshal([]byte(text), &stored))
			s.put("Another", map[string]string{"feature-flags/redesign.json": string(stored.Document) + " \n"})
			s.expect(200, `"redesign"`, "GET", poll, "")
			s.p.stop(t)
			harm(s, s.bare.Run(t, "rev-parse", "refs/heads/main:feature-flags/redesign.json"))
			s.start()
			s.expect(200, `"redesign"`, "GET", poll, "")
			if r := s.report(); r.BrokenDocuments != 1 || r.UnreadableHead != nil {
				t.Errorf("the workspace: %+v", r)
			}
			s.expect(422, "git fsck", "GET", "/v1/flags/redesign", "")
			s.expect(200, "", "POST", "/v1/flags", `{"key": "another"}`)
		})
	}
}
