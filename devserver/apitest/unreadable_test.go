package apitest

import (
	"bytes"
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
	content, err := object.EncodeTree(entries)
	must(s.t, err)
	return s.object("tree", bytes.NewReader(content))
}

// withConfigs is a commit on top of main whose folder configs is a given object.
func (s *site) withConfigs(id string) string {
	s.t.Helper()
	content, err := exec.Command(s.bare.Program, "-C", s.bare.Dir, "cat-file", "tree", "refs/heads/main^{tree}").Output()
	must(s.t, err)
	root, err := object.DecodeTree(content)
	must(s.t, err)
	root = slices.DeleteFunc(root, func(e object.TreeEntry) bool { return e.Name == "configs" })
	root = slices.Insert(root, 0, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: id})
	return s.bare.Run(s.t, "commit-tree", s.rawTree(root), "-p", "refs/heads/main", "-m", "Harm")
}

// TestAHeadThatCannotBeRead: readers and applications go on from the last one
// that could be read, also after a restart, writers hear why they cannot, and
// the way back that they are told works.
func TestAHeadThatCannotBeRead(t *testing.T) {
	const missing = "4444444444444444444444444444444444444444"
	for name, harm := range map[string]func(s *site, main string) (commit string){
		"a missing blob": func(s *site, _ string) string {
			blob := object.TreeEntry{Mode: object.ModeFile, Name: "x.json", ID: missing}
			return s.withConfigs(s.rawTree([]object.TreeEntry{blob}))
		},
		"a missing tree": func(s *site, _ string) string { return s.withConfigs(missing) },
		"a blob in the place of a tree": func(s *site, _ string) string {
			return s.withConfigs(s.object("blob", strings.NewReader("{}")))
		},
		"a missing commit": func(*site, string) string { return missing },
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
			wayBack := "git update-ref refs/heads/main " + good
			for range 2 {
				s.expect(200, `"redesign"`, "GET", "/v1/flags", "")
				s.expect(200, `"redesign"`, "GET", poll, "")
				s.expect(200, "", "GET", "/v1/activity", "")
				s.expect(503, wayBack, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, false))
				r := s.report()
				if u := r.UnreadableHead; r.CommitSHA != good || u == nil || u.CommitSHA != bad || !strings.Contains(u.Message, wayBack) {
					t.Errorf("the workspace: %+v, %+v", r, u)
				}
				if n := strings.Count(s.p.Log.String(), "main cannot be used as it is"); n != 1 {
					t.Errorf("logged %d times:\n%s", n, s.p.Log)
				}
				s.restart()
			}
			s.bare.Run(t, strings.Fields(wayBack)[1:]...)
			if r := s.report(); r.UnreadableHead != nil {
				t.Errorf("mended, and the workspace tells %+v", r.UnreadableHead)
			}
			s.works(false)
		})
	}
}
