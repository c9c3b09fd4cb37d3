package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// meanwhile runs what others do before each of the next tries of a commit.
func (w *world) meanwhile(others ...func()) {
	w.repo.Before = func() {
		if len(others) > 0 {
			next := others[0]
			others = others[1:]
			next()
		}
	}
}

func (w *world) pushes(path, text string) func() {
	return func() { w.repo.Push(ada, "meanwhile", map[string]string{path: text}) }
}

func TestAWriteThatLostTheRaceIsTriedAgain(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	s := w.boss()
	entered := w.gate.entered
	w.meanwhile(
		w.pushes(path("f"), boolFlag("f", `,"tags":["theirs"]`)),
		w.pushes(path("g"), boolFlag("g", "")),
		w.pushes(path("f"), boolFlag("f", `,"tags":["theirs"]`, targets("pro", "bool", "true"), serves("bool", "false"))))
	r := must.Get(s.Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{
		Request: change.Request{ID: "0123456789abcdef0123456789abcdef"}, Enabled: ptr(true),
	}))(t)
	if want := slices.Repeat([]string{"0123456789abcdef0123456789abcdef"}, 4); !slices.Equal(w.repo.Asked, want) {
		t.Errorf("the tries were made as the requests %q", w.repo.Asked)
	}
	if n := w.repo.Count("Commit"); n != 4 || w.gate.entered != entered+3 {
		t.Errorf("%d tries, authenticated again %d times", n, w.gate.entered-entered)
	}
	if r.PreviousCommitSHA != w.last().Parent || r.CommitSHA != w.last().SHA {
		t.Errorf("previousCommitSha is not the parent of the commit that landed: %s", wire(t, r))
	}
	if r.PreservedTargetingRuleCount != 1 || !strings.Contains(w.stored(path("f")), "theirs") {
		t.Errorf("not applied to fresh state: %s", w.stored(path("f")))
	}
}

func TestAfterALostRaceEverythingIsCheckedAgain(t *testing.T) {
	patched := func(s *control.Session, token *string) error {
		_, err := s.Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: token})
		return err
	}
	floating := func(s *control.Session, _ *string) error { return patched(s, nil) }
	push := func(files map[string]string) func(*world, access.Key) {
		return func(w *world, _ access.Key) { w.repo.Push(ada, "meanwhile", files) }
	}
	for _, test := range []struct {
		name  string
		write func(s *control.Session, token *string) error
		then  func(w *world, key access.Key) // what others do meanwhile
		want  string
	}{
		{"pinned, another item changed", patched, push(map[string]string{path("g"): boolFlag("g", "")}), "ok"},
		{"pinned, the item changed", patched, push(map[string]string{path("f"): boolFlag("f", `,"x":1`)}), "409 CONFLICT STALE_COMMIT_SHA"},
		{"pinned, the item changed and back", patched, func(w *world, _ access.Key) {
			w.pushes(path("f"), boolFlag("f", `,"x":1`))()
			w.pushes(path("f"), boolFlag("f", ""))()
		}, "ok"},
		{"the item was deleted", floating, push(map[string]string{path("f"): ""}), "404 NOT_FOUND"},
		{"the item was broken", floating, push(map[string]string{path("f"): "[]"}), "422 UNPROCESSABLE_CONTENT"},
		{"the environment was archived", floating, push(map[string]string{"svc.json": `{"environments":[{"name":"production","archived":true}]}`}), "404 NOT_FOUND"},
		{"the tier was raised", floating, push(map[string]string{path("f"): boolFlag("f", `,"access":"protected-all-envs"`)}), "403 FORBIDDEN PERMISSION_DENIED"},
		{"the key of a new item was taken", func(s *control.Session, _ *string) error {
			_, err := s.Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "new"})
			return err
		}, push(map[string]string{"configs/NEW.json": configOf("NEW", "int", "1", "")}), "409 CONFLICT ALREADY_EXISTS"},
		{"what is deleted was referred to", func(s *control.Session, _ *string) error {
			_, err := s.Changes().Delete(ctx, document.Segment, "s", change.Deletion{})
			return err
		}, push(map[string]string{path("f"): boolFlag("f", "", inSegment("s"))}), "409 CONFLICT REFERENCED"},
		{"what is referred to was deleted", func(s *control.Session, token *string) error {
			_, err := s.Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{Document: node(t, boolFlag("f", "", inSegment("s"))), ExpectedCommitSHA: token})
			return err
		}, push(map[string]string{"segments/s.json": ""}), "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION"},
		{"the schema was changed", func(s *control.Session, _ *string) error {
			_, err := s.Changes().Patch(ctx, document.Config, "c", "staging", change.ValuePatch{Value: node(t, "2")})
			return err
		}, push(map[string]string{"schemas/s.json": `{"type":"string"}`}), "400 BAD_REQUEST SCHEMA_VIOLATION"},
		{"the key was revoked", floating, func(w *world, key access.Key) {
			changeKey(w, key, func(r *access.KeyRecord) { r.RevokedAt = now })
			w.repo.Access++
		}, "401 UNAUTHORIZED"},
		{"the role was taken away", floating, func(w *world, key access.Key) {
			p := w.gate.people[key.Principal()]
			p.Roles = nil
			w.gate.people[key.Principal()] = p
			w.repo.Access++
		}, "403 FORBIDDEN PERMISSION_DENIED"},
		{"the subscription lapsed", floating, func(w *world, _ access.Key) { w.gate.workspace.BillingInactive = true; w.repo.Access++ }, "402 BILLING_INACTIVE"},
		{"only the access version moved", floating, func(w *world, _ access.Key) { w.repo.Access++ }, "ok"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), "segments/s.json": segmentOf("s", serves("bool", "true")),
				"configs/c.json": configOf("c", "json", "1", `,"schemaKey":"s"`), "schemas/s.json": `{"type":"integer"}`})
			key := w.key(access.KindUser, "engineer")
			s := must.Get(w.service.SessionOf(ctx, key.Reveal()))(t)
			w.meanwhile(func() { test.then(w, key) })
			wantRefusal(t, test.write(s, ptr(w.last().SHA)), test.want)
			if landed := w.last().Committer.Name == "svc"; landed != (test.want == "ok") {
				t.Errorf("written: %t", landed)
			}
		})
	}
}

func TestAWriteThatOthersHaveDoneIsANoOp(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.meanwhile(w.pushes(path("f"), boolFlag("f", "", serves("bool", "true"))))
	r := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)}))(t)
	if r.Changed || r.PreviousCommitSHA != "" || r.CommitSHA != w.last().SHA {
		t.Error(wire(t, r))
	}
}

func TestTriesAreBounded(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	n := 0
	w.repo.Before = func() { n++; w.pushes(path("g"), boolFlag("g", fmt.Sprintf(`,"n":%d`, n)))() }
	pauses := 0
	w.service.Pause(func(_ context.Context, try int) error {
		pauses++
		if try != pauses { // the first try again comes at once
			t.Errorf("try %d after %d pauses", try, pauses)
		}
		return nil
	})
	ended(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)}))(t, "503 SERVICE_UNAVAILABLE")
	if n != change.MaxTries || pauses != n-2 {
		t.Errorf("%d tries, %d pauses", n, pauses)
	}
}

// TestWritersTakeTurns: where all write by one process, none of them decides in vain.
func TestWritersTakeTurns(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	settings := w.settings()
	settings.OneWriter = true
	service, key := control.New(settings), w.key(access.KindUser, "engineer").Reveal()
	const writers = 20
	sessions := make([]*control.Session, writers) // which all begin at one head
	for i := range sessions {
		sessions[i] = must.Get(service.SessionOf(ctx, key))(t)
	}
	var writing sync.WaitGroup
	for i, s := range sessions {
		writing.Go(func() {
			must.Get(s.Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(i%2 == 0)}))(t)
		})
	}
	writing.Wait()
	if n, landed := w.repo.Count("Commit"), int(w.last().Sequence)-2; n != landed {
		t.Errorf("%d commits were tried, and %d landed", n, landed)
	}
}

func TestTriesEndWithTheRequest(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	service := control.New(w.settings()) // with its own pause
	s := must.Get(service.SessionOf(ctx, w.key(access.KindUser, "engineer").Reveal()))(t)
	ending, end := context.WithCancel(ctx)
	w.repo.Before = func() { end(); w.pushes(path("g"), boolFlag("g", ""))() }
	ended(s.Changes().Patch(ending, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)}))(t, "503 SERVICE_UNAVAILABLE")
}

// A forced push can take the head away from a request that was authenticated already.
func TestARequestOutlivesAForcedPush(t *testing.T) {
	for name, ask := range map[string]func(*control.Session) error{
		"list": func(s *control.Session) error { _, err := s.Flags(ctx, control.FlagQuery{}); return err },
		"history": func(s *control.Session) error {
			_, err := s.Feed().History(ctx, document.Flag, "f", feed.PageQuery{})
			return err
		},
		"activity": func(s *control.Session) error { _, err := s.Feed().Activity(ctx, feed.ActivityQuery{}); return err },
		"write": func(s *control.Session) error {
			_, err := s.Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)})
			return err
		},
	} {
		w := newWorld(t, nil)
		w.repo.Push(ada, "", map[string]string{path("f"): boolFlag("f", `,"x":1`)})
		s := w.boss()
		w.repo.ForcePush(path("f"), boolFlag("f", ""))
		if err := ask(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		key := w.key(access.KindUser, "engineer")
		s = must.Get(w.service.SessionOf(ctx, key.Reveal()))(t)
		w.repo.ForcePush(path("f"), boolFlag("f", `,"x":2`))
		changeKey(w, key, func(r *access.KeyRecord) { r.RevokedAt = now })
		wantRefusal(t, ask(s), "401 UNAUTHORIZED")

		w.repo.Fail["Snapshot"], w.repo.Fail["History"] = repository.ErrMoved, repository.ErrMoved
		wantRefusal(t, ask(w.boss()), "503 SERVICE_UNAVAILABLE")
	}
}

func TestWhatACommitCanAnswer(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("asked again: %w", repository.ErrUnknownOutcome), "503 SERVICE_UNAVAILABLE"},
		{fmt.Errorf("%w: %w", repository.ErrUnknownOutcome, repository.ErrNewer), "503 SERVICE_UNAVAILABLE"},
		{repository.ErrBusy, "503 SERVICE_UNAVAILABLE"},
		{repository.ErrOccupied, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION"},
		{repository.ErrDraft, "500 INTERNAL"},
	} {
		w := newWorld(t, nil)
		w.repo.Fail["Commit"] = test.err
		_, err := w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"})
		said := wantRefusal(t, err, test.want).Message
		if unknown := errors.Is(test.err, repository.ErrUnknownOutcome); unknown != strings.Contains(said, "read the item before repeating") {
			t.Errorf("%v: %s", test.err, said)
		}
		if n := w.repo.Count("Commit"); n != 1 {
			t.Errorf("%v: tried %d times", test.err, n)
		}
	}
}

// once opens a session under an Idempotency-Key, which is the same for all.
func (w *world) once(key access.Key) *control.Session {
	w.t.Helper()
	caller := must.Get(w.service.Authenticate(ctx, key, "k"))(w.t)
	return must.Get(w.service.Open(caller, control.Write))(w.t)
}

// request is one that may be sent again, and is answered with its result.
func request() *change.Idempotency {
	return &change.Idempotency{Request: change.Digest([]byte("a request")), Encode: func(result any) (change.Answer, error) {
		text, err := json.Marshal(result)
		return change.Answer{Status: 200, Body: text}, err
	}}
}

// TestWhatALedgerRemembers: where the ledger says that a commit stands it need not
// stand any more; one that is gone, or too long ago, is made anew in its place.
func TestWhatALedgerRemembers(t *testing.T) {
	gone := strings.Repeat("0", 40)
	for name, test := range map[string]struct {
		alter   func(l *repository.Landed)
		replays bool
	}{
		"as it was":                  {func(*repository.Landed) {}, true},
		"it stands earlier by now":   {func(l *repository.Landed) { l.Sequence += 1000 }, true},
		"it stands later by now":     {func(l *repository.Landed) { l.Sequence = 1 }, true},
		"the history has it no more": {func(l *repository.Landed) { l.Commit = gone }, false},
		"just in time":               {func(l *repository.Landed) { l.Until = now.Add(time.Nanosecond) }, true},
		"too late":                   {func(l *repository.Landed) { l.Until = now }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
			key := w.key(access.KindUser, "protected_engineer")
			patch := change.ValuePatch{Enabled: ptr(true)}
			patch.Idempotency = request()
			first := must.Get(w.once(key).Changes().Patch(ctx, document.Flag, "f", "default", patch))(t)
			if w.repo.Once == nil || w.repo.Once.Request != patch.Idempotency.Request || !w.repo.Once.Until.Equal(now.Add(change.Remembered)) || w.repo.Once.Instead != "" {
				t.Fatalf("remembered as %+v", w.repo.Once)
			}
			w.gate.once = &repository.Landed{Commit: first.CommitSHA, Request: patch.Idempotency.Request, Sequence: w.last().Sequence, Until: now.Add(time.Hour), Answer: w.repo.Once.Answer}
			test.alter(w.gate.once)
			for i := range 3 {
				w.repo.Push(ada, "", map[string]string{path("f"): boolFlag("f", fmt.Sprintf(`,"n":%d`, i))})
			}
			w.repo.Once = nil
			patch.Idempotency = request()
			_ = must.Get(w.once(key).Changes().Patch(ctx, document.Flag, "f", "default", patch))(t)
			again := patch.Idempotency.Answer
			if replays := string(again.Body) == wire(t, first); replays != test.replays || patch.Idempotency.Replayed != replays || again.Status != 200 {
				t.Errorf("got %s, after %s", again.Body, wire(t, first))
			}
			if (w.repo.Once == nil) != test.replays {
				t.Errorf("remembered as %+v", w.repo.Once)
			}
			if w.repo.Once != nil && w.repo.Once.Instead != w.gate.once.Commit {
				t.Errorf("remembered as %+v", w.repo.Once)
			}
		})
	}
}

// TestWhatCannotBeReadOfAnAnswer is told, and nothing is made again.
func TestWhatCannotBeReadOfAnAnswer(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.repo.Push(ada, "something else", map[string]string{path("f"): boolFlag("f", `,"n":1`)})
	i := request()
	patch := change.ValuePatch{Enabled: ptr(true), Request: change.Request{Idempotency: i}}
	w.gate.once = &repository.Landed{Commit: w.last().SHA, Request: i.Request, Sequence: w.last().Sequence, Until: now.Add(time.Hour), Answer: []byte("?")}
	_, err := w.once(w.key(access.KindUser, "protected_engineer")).Changes().Patch(ctx, document.Flag, "f", "default", patch)
	if said := wantRefusal(t, err, "500 INTERNAL").Message; !strings.Contains(said, w.last().SHA) {
		t.Error(said)
	}
	if w.repo.Count("Commit") != 0 {
		t.Error("it was made again")
	}
}

func TestAnUnknownOutcomeUnderAKeyIsAskedForAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.repo.Fail["Commit"] = fmt.Errorf("asked again: %w", repository.ErrUnknownOutcome)
	creation := change.Creation{Type: document.Flag, Key: "f"}
	creation.Idempotency = request()
	_, err := w.once(w.key(access.KindUser, "engineer")).Changes().Create(ctx, creation)
	if said := wantRefusal(t, err, "503 SERVICE_UNAVAILABLE").Message; !strings.Contains(said, "send the same request again, under the same Idempotency-Key") {
		t.Error(said)
	}
}

// drawWrite draws a write of one of few items, so that they meet.
func drawWrite(rt *rapid.T, commits []string) (o change.Operation, words string) {
	draw := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, label) }
	rules := func(texts ...string) string { return draw("rules", texts...) }
	tree := func(text string) *jsontree.Node {
		return must.Get(jsontree.Parse([]byte(text)))(rt)
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

// sendsOn has each draft of a world decided again from its intent, where it has one: it is
// the same, whoever decides it.
func (w *world) sendsOn(t rapid.TB) (intents, decided *int) {
	intents, decided = new(int), new(int)
	w.repo.Drafted = func(base *repository.Snapshot, draft repository.Draft) {
		intent := draft.Intent()
		if intent == nil {
			return
		}
		*intents++
		again, ok := draft.Decide(ctx, base, intent)
		if !ok {
			return
		}
		*decided++
		if !reflect.DeepEqual(again.Changes, draft.Changes) || again.Message != draft.Message ||
			again.Author.Name != draft.Author.Name || again.Author.Email != draft.Author.Email || !again.Author.When.Equal(draft.Author.When) {
			t.Errorf("another decides\n%s\n%s\nof %s, which is\n%s\n%s", again.Message, again.Changes, intent, draft.Message, draft.Changes)
		}
	}
	return intents, decided
}

// TestAnotherDecidesWhatTheOwnerWould: what waits may be committed by another process, which
// knows of it what was asked for.
func TestAnotherDecidesWhatTheOwnerWould(t *testing.T) {
	tree := func(text string) *jsontree.Node { return must.Get(jsontree.Parse([]byte(text)))(t) }
	guarded := change.Request{Guard: "robot"}
	for name, test := range map[string]struct {
		write func(c *change.Writer, head string) error
		kept  bool // for its owner
	}{
		"patch a flag": {write: func(c *change.Writer, head string) error {
			_, err := c.Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true), Request: guarded})
			return err
		}},
		"patch a config": {write: func(c *change.Writer, head string) error {
			_, err := c.Patch(ctx, document.Config, "c", "default", change.ValuePatch{Value: tree(`{"<b>": 1.50, "&": "\u003c"}`)})
			return err
		}},
		"set null": {kept: true, write: func(c *change.Writer, head string) error {
			_, err := c.Patch(ctx, document.Config, "c", "default", change.ValuePatch{Value: tree(`null`)})
			return err
		}},
		"schedule": {write: func(c *change.Writer, head string) error {
			_, err := c.Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true), At: ptr("2099-01-01T00:00:00Z")})
			return err
		}},
		"pause": {write: func(c *change.Writer, head string) error {
			_, err := c.Pause(ctx, document.Flag, "f", "production", change.Pausing{})
			return err
		}},
		"level": {write: func(c *change.Writer, head string) error {
			_, err := c.PatchLogLevel(ctx, "shop", change.LogLevelPatch{Level: ptr("WARN"), Environment: ptr("production")})
			return err
		}},
		"put": {write: func(c *change.Writer, head string) error {
			_, err := c.PutDocument(ctx, document.Flag, "f", change.DocumentPut{Document: tree(boolFlag("f", `,"description":"<&> \u003c","n":1.50`)), ExpectedCommitSHA: ptr(head)})
			return err
		}},
		"create": {write: func(c *change.Writer, head string) error {
			_, err := c.Create(ctx, change.Creation{Type: document.Config, Key: "new", ValueType: ptr("string"), Value: tree(`"<"`), Tags: []string{"a"}})
			return err
		}},
		"delete": {write: func(c *change.Writer, head string) error {
			_, err := c.Delete(ctx, document.Flag, "f", change.Deletion{})
			return err
		}},
		"several": {write: func(c *change.Writer, head string) error {
			_, err := c.Change(ctx, change.ChangeSet{Message: "both <", Operations: []change.Operation{
				change.Delete(document.Flag, "f", change.Deletion{}), change.Put(document.Config, "c", change.DocumentPut{Document: tree(configOf("c", "json", `{"n":2.0}`, ""))})}})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", serves("bool", "false")), "configs/c.json": configOf("c", "json", `{"n":1}`, "")})
			intents, decided := w.sendsOn(t)
			must.Do(t, test.write(w.boss().Changes(), w.last().SHA))
			if kept := *intents == 0; kept != test.kept || *decided != *intents {
				t.Errorf("%d can be decided by others, and %d are", *intents, *decided)
			}
		})
	}
	all, same := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := manyTiers(t)
		intents, decided := w.sendsOn(rt)
		var operations []change.Operation
		for range rapid.IntRange(1, 3).Draw(rt, "operations") {
			o, _ := drawWrite(rt, []string{w.last().SHA})
			operations = append(operations, o)
		}
		_, _ = w.enter("engineer").Changes().Change(ctx, change.ChangeSet{Operations: operations})
		all, same = all+*intents, same+*decided
	})
	t.Logf("%d of %d were decided again", same, all)
}
