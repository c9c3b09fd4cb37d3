package control_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// drawWrite draws a write of one of few items, so that they meet.
func drawWrite(rt *rapid.T, commits []string) (o change.Operation, words string) {
	draw := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, label) }
	rules := func(texts ...string) string { return draw("rules", texts...) }
	tree := func(text string) *jsontree.Node {
		n := must.Get(jsontree.Parse([]byte(text)))(rt)
		return n
	}
	key, scope := draw("key", "a", "b", "c", "d", "e"), draw("scope", "default", "production", "staging", "development", "nowhere")
	tier := draw("tier", "", `,"access":"support"`, `,"access":"protected-env"`, `,"access":"protected-all-envs"`)
	kind := draw("kind", "enable", "rollout", "off", "create", "segment", "put", "put segment", "delete", "delete segment", "undo", "restore", "level")
	words = fmt.Sprint(kind, " ", key, " ", scope, tier)
	p := change.ValuePatch{ReplaceTargeting: rapid.Bool().Draw(rt, "replace")}
	switch kind {
	case "enable", "off":
		p.Enabled = ptr(kind == "enable")
		return change.Patch(document.Flag, key, scope, p), words
	case "rollout":
		p.Rollout = tree(`[{"value":true,"percent":25},{"value":false,"percent":75}]`)
		return change.Patch(document.Flag, key, scope, p), words
	case "create":
		return change.Create(change.Creation{Type: document.Flag, Key: key}), words
	case "segment":
		return change.Create(change.Creation{Type: document.Segment, Key: key}), words
	case "put":
		text := boolFlag(key, tier, rules(serves("bool", "true"), inSegment("d")+","+serves("bool", "false")))
		return change.Put(document.Flag, key, change.DocumentPut{Document: tree(text)}), text
	case "put segment":
		text := segmentOf(key, rules(serves("bool", "true"), inSegment("e")+","+serves("bool", "false")))
		return change.Put(document.Segment, key, change.DocumentPut{Document: tree(text)}), text
	case "delete":
		return change.Delete(document.Flag, key, change.Deletion{}), words
	case "delete segment":
		return change.Delete(document.Segment, key, change.Deletion{}), words
	case "undo", "restore":
		return change.Revert(document.Flag, key, change.Reversion{Mode: kind, CommitSHA: draw("commit", commits...)}), words
	}
	return change.PatchLevel("shop", change.LogLevelPatch{Level: ptr("WARN"), Environment: &scope}), words
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

// TestAChangeSetIsItsWrites: each operation may do what it may alone after those before it,
// and no more, and they make the documents that they make one after the other.
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
		sequence := "ok"
		for range rapid.IntRange(1, 6).Draw(rt, "operations") {
			o, in := drawWrite(rt, commits)
			operations, words = append(operations, o), append(words, in)
			if sequence == "ok" {
				_, err := other.enter(role).Changes().Change(ctx, change.ChangeSet{Operations: operations[len(operations)-1:]})
				sequence = refusal(err)
			}
		}
		_, err := one.enter(role).Changes().Change(ctx, change.ChangeSet{Operations: operations})
		got := refusal(err)
		say := func(what string) {
			rt.Fatalf("%s, as %s:\n%s\nthe change set is %s (%v), one after the other they are %s", what, role, strings.Join(words, "\n"), got, err, sequence)
		}
		switch {
		case sequence == "ok" && got != "ok":
			say("refused only together")
		case strings.HasPrefix(sequence, "403") && got == "ok":
			say("allowed only together")
		case sequence == "ok":
			if a, b := one.texts(), other.texts(); !maps.Equal(a, b) {
				say(fmt.Sprintf("%v\nis not\n%v\n", a, b))
			}
		}
	})
}

// texts are the files at the head.
func (w *world) texts() map[string]string {
	snapshot := must.Get(w.repo.Snapshot(ctx, w.repo.Head()))(w.t)
	all := map[string]string{}
	for _, f := range slices.Clone(snapshot.Files) {
		all[f.Path] = string(f.Text)
	}
	return all
}
