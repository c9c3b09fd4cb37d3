package control_test

import (
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
)

// A value of a megabyte that nests deeply is some hundred megabytes once it is
// indented. It is refused for its size before anything of that is made, and for
// what its sender may not do before that.
func TestADocumentIsNotRenderedToLearnItsSize(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("0,", 100_000) + "0" + strings.Repeat("]", 200)
	files := map[string]string{
		path("f"):        boolFlag("f", ""),
		"configs/c.json": configOf("c", "json", "{}", ""),
		"configs/d.json": configOf("d", "json", deep, ""), // as it may be pushed
	}
	asks := map[string]func(s *control.Session, r control.Request, token string) error{
		"creation": func(s *control.Session, r control.Request, _ string) error {
			_, err := s.CreateConfig(ctx, control.ConfigCreation{Request: r, Key: "new", ValueType: "json", Value: node(t, deep)})
			return err
		},
		"patch": func(s *control.Session, r control.Request, _ string) error {
			_, err := s.PatchConfig(ctx, "c", "production", control.ConfigPatch{Request: r, Value: node(t, deep)})
			return err
		},
		"patch of what is large": func(s *control.Session, r control.Request, _ string) error {
			_, err := s.PatchConfig(ctx, "d", "production", control.ConfigPatch{Request: r, Value: node(t, "1")})
			return err
		},
		"document": func(s *control.Session, r control.Request, token string) error {
			_, err := s.PutDocument(ctx, document.Flag, "f", control.DocumentPut{Request: r,
				Document: node(t, boolFlag("f", `,"extra":`+deep)), ExpectedCommitSHA: &token})
			return err
		},
	}
	for name, ask := range asks {
		for _, dry := range []bool{false, true} {
			w := newWorld(t, files)
			for _, who := range []struct {
				session *control.Session
				refusal string
			}{{w.boss(), "400"}, {w.enter("member"), "403"}} {
				if name == "document" {
					who.refusal = "400" // the shape of the request comes first
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := ask(who.session, control.Request{DryRun: dry}, w.repo.head().Commit)
				runtime.ReadMemStats(&after)
				if got := refusal(err); !strings.HasPrefix(got, who.refusal) {
					t.Errorf("%s, dry run %v: %s", name, dry, got)
				}
				if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 100 {
					t.Errorf("%s, dry run %v, %s: %d MB were made", name, dry, who.refusal, made)
				}
			}
		}
	}
}
