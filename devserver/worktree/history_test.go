package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatAnAnswerNamesCanBeUndone, whatever has been written on top of it: the history
// has the same ids as the answers.
func TestWhatAnAnswerNamesCanBeUndone(t *testing.T) {
	const (
		flag   = "/v1/flags/new-checkout"
		inProd = flag + "/environments/production"
	)
	undo := func(p *page, path string, answer map[string]any) {
		p.Helper()
		p.must("POST", path+"/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "undo"}`, answer["commitSha"]))
	}
	newest := func(p *page, path string) any {
		p.Helper()
		return p.must("GET", path+"/history", "")["history"].([]any)[0].(map[string]any)["sha"]
	}
	there := func(p *page, path string) bool {
		_, err := os.Stat(filepath.Join(p.dir, path))
		return err == nil
	}
	for name, do := range map[string]func(p *page){
		"an older write": func(p *page) {
			first := p.must("PATCH", inProd, `{"enabled": true}`)
			if got := newest(p, flag); got != first["commitSha"] {
				t.Errorf("the history names %v, and the answer %v", got, first["commitSha"])
			}
			before := p.read(flagPath)
			p.must("PATCH", flag+"/environments/default", `{"enabled": true}`)
			p.must("GET", flag+"/document?at="+first["commitSha"].(string), "")
			undo(p, flag, first)
			if p.read(flagPath) == before || p.read(flagPath) == flagText {
				t.Errorf("%s", p.read(flagPath))
			}
		},
		"a content that came back": func(p *page) {
			p.must("PATCH", flag+"/environments/default", `{"enabled": true}`)
			off := p.must("PATCH", flag+"/environments/default", `{"enabled": false}`)
			if off["commitSha"] != blobOf(flagText) {
				t.Fatal(off)
			}
			p.must("PATCH", inProd, `{"enabled": true}`)
			undo(p, flag, off)
			ids := map[any]bool{}
			rows := p.must("GET", flag+"/history", "")["history"].([]any)
			for _, row := range rows {
				id := row.(map[string]any)["sha"].(string)
				ids[id] = true
				p.must("GET", flag+"/document?at="+id, "")
			}
			if len(ids) != len(rows) || len(rows) != 5 {
				t.Errorf("%d ids of %d rows: %v", len(ids), len(rows), rows)
			}
		},
		"a content that several writes have led to": func(p *page) {
			p.must("PATCH", inProd, `{"enabled": false}`)
			mine := p.must("PATCH", flag+"/environments/default", `{"enabled": true}`)
			p.must("PATCH", inProd, `{"enabled": true}`)
			if back := p.must("PATCH", inProd, `{"enabled": false}`); back["commitSha"] != mine["commitSha"] {
				t.Fatal(back)
			}
			before := p.read(flagPath)
			for _, id := range []string{mine["commitSha"].(string), mine["commitSha"].(string)[:8]} {
				status, answer := p.ask("POST", flag+"/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "undo"}`, id))
				details, _ := answer["details"].(map[string]any)
				if dates, _ := details["dates"].([]any); status != 409 || details["code"] != "AMBIGUOUS_COMMIT" || len(dates) != 2 {
					t.Error(status, answer)
				}
			}
			if p.read(flagPath) != before {
				t.Errorf("%s", p.read(flagPath))
			}
			p.must("POST", flag+"/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "restore"}`, mine["commitSha"]))
			p.must("GET", flag+"/document?at="+mine["commitSha"].(string), "")
			undo(p, flag, map[string]any{"commitSha": newest(p, flag)})
			if got := p.must("GET", flag, ""); !strings.Contains(fmt.Sprint(got), "true") || p.read(flagPath) == before {
				t.Errorf("%s", p.read(flagPath))
			}
		},
		"a creation": func(p *page) {
			made := p.must("POST", "/v1/flags", `{"key": "made"}`)
			undo(p, "/v1/flags/made", made)
			if there(p, "feature-flags/made.json") {
				t.Error("it is still there")
			}
		},
		"a deletion": func(p *page) {
			gone := p.must("DELETE", flag, "")
			if got := newest(p, flag); got != gone["commitSha"] {
				t.Errorf("the history names %v, and the answer %v", got, gone["commitSha"])
			}
			p.must("POST", "/v1/flags", `{"key": "made"}`)
			undo(p, flag, gone)
			if p.read(flagPath) != flagText {
				t.Errorf("%q", p.read(flagPath))
			}
		},
		"a change set": func(p *page) {
			all := p.must("POST", "/v1/changes", `{"operations": [
				{"op": "create", "type": "feature_flag", "body": {"key": "a"}},
				{"op": "patch", "type": "feature_flag", "key": "new-checkout", "environment": "production", "body": {"enabled": true}},
				{"op": "create", "type": "feature_flag", "body": {"key": "z"}}]}`)
			p.must("POST", "/v1/flags", `{"key": "made"}`)
			for _, key := range []string{"a", "new-checkout", "z"} {
				undo(p, "/v1/flags/"+key, all)
			}
			if p.read(flagPath) != flagText || there(p, "feature-flags/a.json") || there(p, "feature-flags/z.json") {
				t.Errorf("%q", p.read(flagPath))
			}
			if status, answer := p.ask("POST", "/v1/flags/made/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "undo"}`, all["commitSha"])); status != 422 {
				t.Error("what it did not touch is undone:", status, answer)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { p := open(t); do(p) })
	}
}
