package local

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/must"
)

// TestADataDirectoryIsWrittenAndRead: nothing of them is lost, what this version does not
// know neither.
func TestADataDirectoryIsWrittenAndRead(t *testing.T) {
	dir := t.TempDir()
	must.Get(disk.Init(filepath.Join(dir, RepositoryName)))(t)
	w := access.Workspace{ID: "0123456789abcdef0123", Name: "acme", Secret: []byte(strings.Repeat("s", 32))}
	id := must.Get(access.NewID(strings.NewReader(strings.Repeat("a", 1000))))(t)
	w.ID = string(id)
	principal := fmt.Sprintf(`{"id":%q,"type":"user","name":"Ada","roles":["member"],"later":{"x":1}}`, id)
	p := Parts{Workspace: w, Version: 7, Principals: []json.RawMessage{json.RawMessage(principal)}, Keys: []json.RawMessage{}, Uses: map[access.ID]string{id: "2026-11-22"}}
	lines := []string{`{"version":2,"by":"x"}`, `{"version":7,"by":"y"}`}
	must.Do(t, WriteDataDir(dir, strings.Repeat("1", 40), p, func(line func([]byte) error) error {
		for _, l := range lines {
			if err := line([]byte(l)); err != nil {
				return err
			}
		}
		return nil
	}))
	got, err := ReadDataDir(t.Context(), dir)
	var compact strings.Builder
	if err == nil {
		var value any
		err = json.Unmarshal(got.Principals[0], &value)
		text, _ := json.Marshal(value)
		compact.Write(text)
	}
	if err != nil || got.Workspace.Name != "acme" || got.Version != 7 || !strings.Contains(compact.String(), `"later":{"x":1}`) || got.Uses[id] != "2026-11-22" || idOf(got.References, branch) != strings.Repeat("1", 40) {
		t.Errorf("%+v, %v", got, err)
	}
	var read []string
	if err := EachAudit(dir, 7, 0, func(_ int64, line []byte) error {
		read = append(read, string(line))
		return nil
	}); err != nil || fmt.Sprint(read) != fmt.Sprint(lines) {
		t.Errorf("%q, %v", read, err)
	}
}

// TestWhichLinesOfTheAuditTrailCount: the last of a version, none that never came to be.
func TestWhichLinesOfTheAuditTrailCount(t *testing.T) {
	dir := t.TempDir()
	text := `{"version":2,"by":"a"}
{"version":3,"by":"never landed"}
{"version":3,"by":"b"}
{"versi
{"version":0}
{"version":4,"by":"c"}
{"version":5,"by":"of a registry that was put back"}
{"version":3,"by":"d"}
{"version":9,"by":"too late"}
{"version":4,"by":"e"}
{"version":5`
	must.Do(t, os.WriteFile(filepath.Join(dir, auditName), []byte(text), 0o600))
	var got []string
	err := EachAudit(dir, 5, 0, func(version int64, line []byte) error {
		got = append(got, fmt.Sprintf("%d %s", version, line))
		return nil
	})
	want := `2 {"version":2,"by":"a"};3 {"version":3,"by":"d"};4 {"version":4,"by":"e"}`
	if err != nil || strings.Join(got, ";") != want {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzEachAudit: whatever stands in the file, versions rise.
func FuzzEachAudit(f *testing.F) {
	f.Add([]byte("{\"version\":2}\n{\"version\":2}\n{\"version\":3}\n"))
	f.Add([]byte("{\"version\":9}\nx\n\n{\"version\":-1}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		before := int64(0)
		must.Do(t, eachEntry(strings.NewReader(string(text)), 5, 0, func(version int64, line []byte) error {
			var e access.Entry
			if version <= before || version > 5 || !json.Valid(line) {
				t.Fatalf("%d %q after %d (%v)", version, line, before, json.Unmarshal(line, &e))
			}
			before = version
			return nil
		}))
	})
}
