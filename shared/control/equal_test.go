package control_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
)

// both is an operation of a change set, and the write that it is alone.
type both struct {
	set   change.Operation
	alone func(s *control.Session) error
	words string
}

// drawWrite draws a write of one of few items, so that they meet.
func drawWrite(rt *rapid.T, commits []string) both {
	draw := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, label) }
	key, scope := draw("key", "a", "b", "c", "d", "e"), draw("scope", "default", "production", "staging", "development", "nowhere")
	tier := draw("tier", "", `,"access":"support"`, `,"access":"protected-env"`, `,"access":"protected-all-envs"`)
	words := fmt.Sprint(key, " ", scope, tier)
	switch kind := draw("kind", "enable", "rollout", "off", "create", "segment", "put", "put segment", "delete", "delete segment", "undo", "restore", "level"); kind {
	case "enable", "off", "rollout":
		p := change.ValuePatch{ReplaceTargeting: rapid.Bool().Draw(rt, "replace")}
		switch kind {
		case "enable":
			p.Enabled = ptr(true)
		case "off":
			p.Enabled = ptr(false)
		default:
			tree, err := document.Parse([]byte(`[{"value":true,"percent":25},{"value":false,"percent":75}]`))
			if err != nil {
				rt.Fatal(err)
			}
			p.Rollout = tree
		}
		return both{change.Patch(document.Flag, key, scope, p), func(s *control.Session) error {
			_, err := s.Changes().Patch(ctx, document.Flag, key, scope, p)
			return err
		}, kind + " " + words}
	case "create":
		c := change.Creation{Type: document.Flag, Key: key}
		return both{change.Create(c), func(s *control.Session) error { _, err := s.Changes().Create(ctx, c); return err }, kind + " " + words}
	case "segment":
		c := change.Creation{Type: document.Segment, Key: key}
		return both{change.Create(c), func(s *control.Session) error { _, err := s.Changes().Create(ctx, c); return err }, kind + " " + words}
	case "put", "put segment":
		t, text := document.Flag, boolFlag(key, tier, rapid.SampledFrom([][]string{{serves("bool", "true")}, {inSegment("d"), serves("bool", "false")}}).Draw(rt, "rules")...)
		if kind == "put segment" {
			t, text = document.Segment, segmentOf(key, rapid.SampledFrom([][]string{{serves("bool", "true")}, {inSegment("e"), serves("bool", "false")}}).Draw(rt, "rules")...)
		}
		tree, err := document.Parse([]byte(text))
		if err != nil {
			rt.Fatal(err)
		}
		// Alone it needs a token.
		p := change.DocumentPut{Document: tree}
		return both{change.Put(t, key, p), func(s *control.Session) error {
			p := p
			p.ExpectedCommitSHA = ptr(s.Head().Commit)
			_, err := s.Changes().PutDocument(ctx, t, key, p)
			return err
		}, kind + " " + text}
	case "delete", "delete segment":
		t := document.Flag
		if kind != "delete" {
			t = document.Segment
		}
		return both{change.Delete(t, key, change.Deletion{}), func(s *control.Session) error {
			_, err := s.Changes().Delete(ctx, t, key, change.Deletion{})
			return err
		}, kind + " " + words}
	case "undo", "restore":
		r := change.Reversion{Mode: kind, CommitSHA: rapid.SampledFrom(commits).Draw(rt, "commit")}
		return both{change.Revert(document.Flag, key, r), func(s *control.Session) error { _, err := s.Changes().Revert(ctx, document.Flag, key, r); return err }, kind + " " + words}
	}
	p := change.LogLevelPatch{Level: ptr("WARN"), Environment: &scope}
	return both{change.PatchLevel("shop", p), func(s *control.Session) error { _, err := s.Changes().PatchLogLevel(ctx, "shop", p); return err }, "level " + words}
}

// manyTiers is a small workspace in which much is guarded, with some history.
func manyTiers(t testing.TB) *world {
	w := newWorld(t, map[string]string{
		path("a"): boolFlag("a", ""), path("b"): boolFlag("b", `,"access":"protected-env"`), path("c"): boolFlag("c", `,"access":"support"`),
		"segments/d.json": segmentOf("d", serves("bool", "true")),
	})
	w.repo.Push(ada, "more", map[string]string{path("a"): boolFlag("a", `,"access":"protected-all-envs"`), path("b"): boolFlag("b", "", inSegment("d"), serves("bool", "false"))})
	w.repo.Push(ada, "less", map[string]string{path("a"): boolFlag("a", ""), path("c"): boolFlag("c", "")})
	return w
}

// TestAChangeSetIsItsWrites: one of a single operation is what the write is alone;
// of several, each may do what it may alone after those before it, and no more, and
// they make the documents that the writes make one after the other.
func TestAChangeSetIsItsWrites(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one, other := manyTiers(t), manyTiers(t)
		var commits []string
		for _, c := range one.repo.Commits {
			commits = append(commits, c.SHA)
		}
		role := rapid.SampledFrom([]string{"member", "support", "engineer_nonprotected", "engineer", "protected_engineer"}).Draw(rt, "role")
		var operations []change.Operation
		var words []string
		sequence, forbidden, refused := "ok", false, false
		for range rapid.IntRange(1, 6).Draw(rt, "operations") {
			o := drawWrite(rt, commits)
			operations, words = append(operations, o.set), append(words, o.words)
			if refused {
				continue
			}
			sequence = refusal(o.alone(other.enter(role)))
			refused, forbidden = sequence != "ok", strings.HasPrefix(sequence, "403")
		}
		_, err := one.enter(role).Changes().Change(ctx, change.ChangeSet{Operations: operations})
		got := refusal(err)
		say := func(what string) {
			rt.Fatalf("%s, as %s:\n%s\nthe change set is %s (%v), one after the other they are %s", what, role, strings.Join(words, "\n"), got, err, sequence)
		}
		switch {
		case len(operations) == 1 && got != sequence:
			say("one is not what it is alone")
		case !refused && got != "ok":
			say("refused only together")
		case forbidden && got == "ok":
			say("allowed only together")
		case !refused:
			if a, b := one.texts(), other.texts(); !maps.Equal(a, b) {
				say(fmt.Sprintf("%v\nis not\n%v\n", a, b))
			}
		case err != nil && len(operations) == 1:
			if f := fault.Of(err); len(pointersOf(f)) == 0 || !strings.HasPrefix(pointersOf(f)[0], "/operations/0") {
				say("no issue names the operation")
			}
		}
	})
}

func pointersOf(f *fault.Fault) []string { return strings.Fields(pointers(f, "issues")) }

// texts are the files at the head.
func (w *world) texts() map[string]string {
	snapshot, err := w.repo.Snapshot(ctx, w.repo.Head())
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range slices.Clone(snapshot.Files) {
		all[f.Path] = string(f.Text)
	}
	return all
}
