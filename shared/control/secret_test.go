package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

// None of these values may ever be seen outside its document.
const secret = "hunter2"

func TestSecretsStayOutOfWords(t *testing.T) {
	confidential := func(valueType, value string) string {
		return strings.Replace(serves(valueType, value), `"value":{"type"`, `"value":{"confidential":true,"type"`, 1)
	}
	encrypted := strings.Replace(serves("string", `"`+secret+`"`), `"value":{"type"`, `"value":{"decryptWith":"key","type"`, 1)
	provided := serves("provided", `{"source":"ENV_VAR","lookup":"`+secret+`"}`)
	config := func(key, valueType, more, rule string) string {
		return fmt.Sprintf(`{"key":%q,"type":"config","valueType":%q%s,"default":{"rules":[%s]}}`, key, valueType, more, rule)
	}
	files := map[string]string{
		"configs/key.json":      configOf("key", "string", `"k"`, ""),
		"configs/plain.json":    config("plain", "string", "", confidential("string", `"old `+secret+`"`)),
		"configs/cipher.json":   config("cipher", "string", "", encrypted),
		"configs/provided.json": config("provided", "string", "", provided),
		"configs/number.json":   config("number", "json", `,"schemaKey":"s"`, confidential("json", `{"`+secret+`":1}`)),
		"schemas/s.json":        `{"type":"object","maxProperties":1,"propertyNames":{"maxLength":7}}`,
	}
	w := newWorld(t, files)
	w.repo.Push(ada, "rotate by hand", map[string]string{
		"configs/plain.json":    config("plain", "string", "", confidential("string", `"new `+secret+`"`)),
		"configs/cipher.json":   config("cipher", "string", `,"name":"n"`, strings.Replace(encrypted, secret, secret+secret, 1)),
		"configs/provided.json": config("provided", "string", "", strings.Replace(provided, secret, "X"+secret, 1)),
	})
	stale := w.repo.Commits[1].SHA
	var errs []error
	patch := func(key, value string, token *string) {
		_, err := w.boss().Changes().Patch(ctx, document.Config, key, "staging", change.ValuePatch{Value: node(t, value), ExpectedCommitSHA: token})
		errs = append(errs, err)
		_, err = w.boss().Changes().Patch(ctx, document.Config, key, "default", change.ValuePatch{Value: node(t, value), ExpectedCommitSHA: token, ReplaceTargeting: true})
		errs = append(errs, err)
	}
	quotedSecret := `"` + secret + `"`
	for _, key := range []string{"plain", "cipher", "provided", "number"} {
		patch(key, quotedSecret, &stale)
		if key != "provided" { // whose next value is a plain one, and shown
			patch(key, quotedSecret, nil)
		}
		patch(key, `["`+secret+`"]`, nil)
		patch(key, `{"`+secret+`":"`+secret+`"}`, nil)
		patch(key, `{"`+secret+`":1,"b":2}`, nil)
		patch(key, `{"`+secret+secret+`":1}`, nil)
	}
	for _, rule := range []string{
		confidential("string", `["`+secret+`"]`), confidential("int", quotedSecret), confidential("duration", quotedSecret),
		strings.Replace(encrypted, `"key"`, `"nokey"`, 1), serves("provided", quotedSecret), confidential("json", `{"`+secret+`":3,"b":4}`),
	} {
		for _, key := range []string{"plain", "number"} {
			valueType, more := "string", ""
			if key == "number" {
				valueType, more = "json", `,"schemaKey":"s"`
			}
			_, err := w.boss().Changes().PutDocument(ctx, document.Config, key, change.DocumentPut{
				Document: node(t, config(key, valueType, more, rule)), ExpectedCommitSHA: ptr(w.last().SHA)})
			errs = append(errs, err)
		}
	}
	refused := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		refused++
		if told := wire(t, fault.Of(err).Envelope()) + err.Error(); strings.Contains(told, secret) {
			t.Errorf("a refusal shows it: %s", told)
		}
	}
	if refused == 0 || refused == len(errs) {
		t.Errorf("%d of %d were refused", refused, len(errs))
	}
	for _, c := range w.repo.Commits {
		if strings.Contains(c.Message, secret) {
			t.Errorf("a commit shows it: %s", c.Message)
		}
	}
	entries := must.Get(w.boss().Feed().Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(100)}}))(t)
	if told := wire(t, entries); strings.Contains(told, secret) {
		t.Errorf("the feed shows it: %s", told)
	}
	if told := wire(t, entries); !strings.Contains(told, "[redacted]") {
		t.Errorf("the feed tells nothing at all: %s", told)
	}
}

// guesses are what is tried, and also what confidential values are.
var guesses = []string{"hunter2", "hunter3", "hunter4"}

// secretState are the confidential values at a commit: of the default rules, of production
// and of staging, and what it says of itself.
type secretState struct {
	words [3]string
	bools [3]bool
	plain bool // staging shows a value in the clear
	note  string
}

// drawSecrets draws two histories of confidential values that change at the same commits.
func drawSecrets(rt *rapid.T) (one, other [3]secretState) {
	for commit := range one {
		note := rapid.SampledFrom([]string{"this", "that"}).Draw(rt, "note")
		one[commit].note, other[commit].note = note, note
		one[commit].plain = rapid.Bool().Draw(rt, "plain")
		other[commit].plain = one[commit].plain
		for spot := range 3 {
			changes := commit == 0 || rapid.Bool().Draw(rt, "changes")
			for _, s := range []*[3]secretState{&one, &other} {
				now := &s[commit]
				if commit == 0 {
					now.words[spot], now.bools[spot] = rapid.SampledFrom(guesses).Draw(rt, "secret"), rapid.Bool().Draw(rt, "bool")
					continue
				}
				was := s[commit-1]
				now.words[spot], now.bools[spot] = was.words[spot], was.bools[spot] != changes
				if changes {
					now.words[spot] = rapid.SampledFrom(guesses).Filter(func(v string) bool { return v != was.words[spot] }).Draw(rt, "secret")
				}
			}
		}
	}
	return one, other
}

// secretWorld is a workspace with a history of confidential values: of a config that has a
// schema, of a flag's variants, and of a flag that is on or off.
func secretWorld(t testing.TB, secrets [3]secretState) *world {
	files := func(commit int) map[string]string {
		now := secrets[commit]
		document := func(kind string, value func(spot int) string) string {
			rules := func(spot int) string {
				if spot == 2 && now.plain {
					shown := map[string]string{"string": `"` + guesses[0] + `"`, "bool": "true"}[kind]
					return `{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"` + kind + `","value":` + shown + `}}]`
				}
				return `{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"` + kind + `","value":` + value(spot) + `,"confidential":true}}]`
			}
			return fmt.Sprintf(`"description":%q,"default":%s},"environments":[%s,"id":"production"},%s,"id":"staging"}]}`, now.note, rules(0), rules(1), rules(2))
		}
		word := func(spot int) string { return `"` + now.words[spot] + `"` }
		return map[string]string{
			"configs/c.json": `{"key":"c","type":"config","valueType":"string","schemaKey":"s",` + document("string", word),
			path("b"):        `{"key":"b","type":"feature_flag","valueType":"bool",` + document("bool", func(spot int) string { return fmt.Sprint(now.bools[spot]) }),
			path("v"): `{"key":"v","type":"feature_flag","valueType":"string","variants":[{"value":{"type":"string","value":` + word(0) + `,"confidential":true}},{"value":{"type":"string","value":"plain"}}],` +
				`"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"plain"}}]}}`,
			path("commit"): boolFlag("commit", fmt.Sprintf(`,"description":"%d"`, commit)),
		}
	}
	first := files(0)
	first["schemas/s.json"] = `{"type":"string"}`
	w := newWorld(t, first)
	for commit := 1; commit < len(secrets); commit++ {
		w.repo.Push(ada, "go on", files(commit))
	}
	settings := w.settings()
	settings.Contexts = &fakeContexts{found: []telemetry.Saved{{Environment: "production", Type: "user", Key: "u"}, {Environment: "staging", Type: "user", Key: "u"}}}
	w.service = control.New(settings)
	return w
}

// drawQuestion draws an operation that asks about a confidential value, given the ids of
// the workspace's commits.
func drawQuestion(rt *rapid.T) (words string, make func(t testing.TB, commits []string) change.Operation) {
	draw := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, label) }
	guess, scope, commit := draw("guess", guesses...), draw("scope", "default", "production", "staging"), rapid.IntRange(0, 2).Draw(rt, "commit")
	token := func(commits []string) *string { return nil }
	if rapid.Bool().Draw(rt, "pinned") {
		token = func(commits []string) *string { return &commits[commit] }
	}
	item := draw("item", "c", "b", "v")
	kind := document.Flag
	if item == "c" {
		kind = document.Config
	}
	what := draw("what", "patch", "put", "schema", "restore", "undo", "copy", "delete", "rollout")
	return fmt.Sprint(what, " ", item, " ", scope, " ", guess, " ", commit), func(t testing.TB, commits []string) change.Operation {
		switch what {
		case "put":
			plain := secretWorld(t, [3]secretState{2: {words: [3]string{guess, guess, guess}, note: "this"}}).stored(map[string]string{"c": "configs/c.json", "b": path("b"), "v": path("v")}[item])
			if scope == "staging" {
				plain = strings.ReplaceAll(plain, `,"confidential":true`, "")
			}
			return change.Put(kind, item, change.DocumentPut{Document: node(t, plain), ExpectedCommitSHA: token(commits)})
		case "schema":
			return change.Put(workspace.SchemaType, "s", change.DocumentPut{Document: node(t, `{"type":"string","pattern":"^(`+guess+`|fits)$"}`)})
		case "restore", "undo":
			return change.Revert(kind, item, change.Reversion{CommitSHA: commits[commit], Mode: what, ExpectedCommitSHA: token(commits)})
		case "copy":
			return change.Copy(change.Copying{From: "production", To: "staging", Keys: []string{item}})
		case "delete":
			return change.Delete(kind, item, change.Deletion{ExpectedCommitSHA: token(commits)})
		case "rollout":
			return change.Patch(document.Flag, "v", scope, change.ValuePatch{Rollout: node(t, `[{"value":"`+guess+`","percent":10},{"value":"plain","percent":90}]`)})
		}
		switch item {
		case "c":
			return change.Patch(document.Config, "c", scope, change.ValuePatch{Value: node(t, `"`+guess+`"`), ExpectedCommitSHA: token(commits)})
		case "b":
			return change.Patch(document.Flag, "b", scope, change.ValuePatch{Value: node(t, fmt.Sprint(guess == guesses[0])), ExpectedCommitSHA: token(commits)})
		}
		return change.Patch(document.Flag, "v", scope, change.ValuePatch{Value: node(t, `"`+guess+`"`), ExpectedCommitSHA: token(commits)})
	}
}

// TestAConfidentialValueAnswersNoQuestion: two workspaces that differ in nothing but their
// confidential values, now or ever, answer any dry run alike.
func TestAConfidentialValueAnswersNoQuestion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one, other := drawSecrets(rt)
		role := rapid.SampledFrom([]string{"protected_engineer", "engineer_nonprotected"}).Draw(rt, "role")
		var asked []string
		var questions []func(t testing.TB, commits []string) change.Operation
		for range rapid.IntRange(1, 4).Draw(rt, "operations") {
			words, question := drawQuestion(rt)
			asked, questions = append(asked, words), append(questions, question)
		}
		answer := func(secrets [3]secretState) string {
			w := secretWorld(t, secrets)
			var commits, names []string
			for i, c := range w.repo.Commits {
				commits, names = append(commits, c.SHA), append(names, c.SHA, fmt.Sprint("commit ", i))
			}
			var operations []change.Operation
			for _, question := range questions {
				operations = append(operations, question(t, commits))
			}
			r, err := w.enter(role).Changes().Change(ctx, change.ChangeSet{Request: change.Request{DryRun: true, Impact: true}, Operations: operations})
			said := refusal(err) + wire(t, r)
			if err != nil {
				said += wire(t, err)
			}
			return strings.NewReplacer(names...).Replace(said)
		}
		if is, differs := answer(one), answer(other); is != differs {
			rt.Fatalf("asked as %s:\n%s\nwith %v:\n%s\nwith %v:\n%s", role, strings.Join(asked, "\n"), one, is, other, differs)
		}
	})
}

// TestADryRunOfWhatIsMaskedIsTrue: it is refused nothing that the write is not, and its
// impact knows whom a rule with a confidential operand matches.
func TestADryRunOfWhatIsMaskedIsTrue(t *testing.T) {
	const rest = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"red","confidential":true}}`
	w := newWorld(t, map[string]string{
		path("v"): `{"key":"v","type":"feature_flag","valueType":"string","variants":[{"value":{"type":"string","value":"red"}},{"value":{"type":"string","value":"blue"}}],"default":{"rules":[` + rest + `]}}`,
		path("some"): `{"key":"some","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","value":["u1"],"confidential":true}}],` +
			`"value":{"type":"bool","value":true}},{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`,
	})
	settings := w.settings()
	var found []telemetry.Saved
	for _, key := range []string{"u1", "u2", "u3"} {
		found = append(found, telemetry.Saved{Environment: "production", Type: "user", Key: key, Properties: []telemetry.Property{{Name: "key", Kind: telemetry.String, Text: key}}})
	}
	settings.Contexts = &fakeContexts{found: found}
	w.service = control.New(settings)
	dry := change.Request{DryRun: true, Impact: true}
	rollout := change.ValuePatch{Request: dry, Rollout: node(t, `[{"value":"red","percent":10},{"value":"blue","percent":90}]`)}
	if _, err := w.boss().Changes().Patch(ctx, document.Flag, "v", "production", rollout); err != nil {
		t.Error(err)
	}
	r, err := w.boss().Changes().Patch(ctx, document.Flag, "some", "production", change.ValuePatch{Request: dry, Enabled: ptr(true)})
	if err != nil || r.Impact["production"].Changed != 2 {
		t.Errorf("%v, %s", err, wire(t, r))
	}
}

// TestAGuessThatIsTakenBackIsNotAnswered: a change set leaves a confidential value as it was.
func TestAGuessThatIsTakenBackIsNotAnswered(t *testing.T) {
	for _, other := range []string{"", `"that"`} { // what else changes of the item
		var answers []string
		for _, guess := range []string{"hunter2", "hunter3"} {
			var one [3]secretState
			for commit := range one {
				one[commit] = secretState{words: [3]string{"hunter2", "hunter2", "hunter2"}, note: fmt.Sprint(commit)}
			}
			w := secretWorld(t, one)
			restore := change.Revert(document.Config, "c", change.Reversion{CommitSHA: w.last().SHA, Mode: "restore"})
			operations := []change.Operation{change.Patch(document.Config, "c", "production", change.ValuePatch{Value: node(t, `"`+guess+`"`)}), restore}
			if other != "" {
				operations = append(operations, enable("commit", "staging", true))
			}
			r := must.Get(w.boss().Changes().Change(ctx, change.ChangeSet{Operations: operations}))(t)
			r.CommitSHA, r.PreviousCommitSHA = "", ""
			answers = append(answers, wire(t, r))
		}
		if answers[0] != answers[1] {
			t.Errorf("a right guess: %s\na wrong one: %s", answers[0], answers[1])
		}
	}
}

// TestWhatARuleComparesWithIsNotGuessed: whom a rule is for can be asked, and not whether
// a text is the confidential one that it compares with.
func TestWhatARuleComparesWithIsNotGuessed(t *testing.T) {
	for kind, at := range map[document.Type]string{document.Flag: path("o"), document.Segment: "segments/o.json"} {
		text := func(operand string) string {
			return `{"key":"o","type":"` + string(kind) + `","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.email","valueToMatch":{"type":"string_list","value":["` + operand +
				`"],"confidential":true}}],"value":{"type":"bool","value":true}},{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`
		}
		w := newWorld(t, map[string]string{at: text("hunter2"), "feature-flags/uses.json": `{"key":"uses","type":"feature_flag","valueType":"bool","default":{"rules":[` +
			`{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"o"}}],"value":{"type":"bool","value":true}},{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`})
		var answers []string
		for _, guess := range []string{"hunter2", "hunter3"} {
			put := change.Put(kind, "o", change.DocumentPut{Document: node(t, text(guess))})
			r := must.Get(w.boss().Changes().Change(ctx, change.ChangeSet{Request: change.Request{DryRun: true, Impact: true}, Operations: []change.Operation{put}}))(t)
			answers = append(answers, wire(t, r))
		}
		if answers[0] != answers[1] {
			t.Errorf("a right guess: %s\na wrong one: %s", answers[0], answers[1])
		}
	}
}

// reviewedSecrets is a workspace whose production is reviewed and has a confidential value,
// which its last commit set.
func reviewedSecrets(t testing.TB) *world {
	states := [3]secretState{}
	for commit := range states {
		states[commit] = secretState{words: [3]string{guesses[2], guesses[min(commit, 1)], guesses[2]}, note: "this"}
	}
	w := secretWorld(t, states)
	w.repo.Push(ada, "review", map[string]string{"svc.json": reviewedDeclaration, path("other"): boolFlag("other", "")})
	return w
}

// TestAGuessThatWouldBeReviewedIsNotAnswered: whether a confidential value is the present
// one decides neither whether a write has to be reviewed nor what its request says.
func TestAGuessThatWouldBeReviewedIsNotAnswered(t *testing.T) {
	whole := func(w *world, guess string) change.Operation {
		text := strings.Replace(w.stored("configs/c.json"), `"`+guesses[1]+`"`, `"`+guess+`"`, 1)
		return change.Put(document.Config, "c", change.DocumentPut{Document: node(t, text)})
	}
	patch := func(guess string) change.ValuePatch { return change.ValuePatch{Value: node(t, `"`+guess+`"`)} }
	for name, operations := range map[string]func(w *world, guess string) []change.Operation{
		"a value": func(_ *world, guess string) []change.Operation {
			return []change.Operation{change.Patch(document.Config, "c", "production", patch(guess))}
		},
		"a document": func(w *world, guess string) []change.Operation { return []change.Operation{whole(w, guess)} },
		"beside others": func(_ *world, guess string) []change.Operation {
			return []change.Operation{enable("other", "staging", true), change.Patch(document.Config, "c", "production", patch(guess))}
		},
	} {
		var answers []string
		for _, guess := range guesses[:2] {
			w := reviewedSecrets(t)
			set := change.ChangeSet{Operations: operations(w, guess), Canonical: guess}
			ended(w.boss().Changes().Change(ctx, set))(t, "403 FORBIDDEN REVIEW_REQUIRED")
			assessed := must.Get(w.boss().Changes().Assess(ctx, set))(t)
			answers = append(answers, wire(t, assessed.Environments)+wire(t, assessed.Touched)+wire(t, assessed.Result))
		}
		if answers[0] != answers[1] || !strings.HasPrefix(answers[0], `["production"]`) {
			t.Errorf("%s: a wrong guess: %s\na right one: %s", name, answers[0], answers[1])
		}
	}
	w := reviewedSecrets(t)
	if _, err := w.boss().Changes().Patch(ctx, document.Config, "c", "production", patch(guesses[1])); refusal(err) != "403 FORBIDDEN REVIEW_REQUIRED" {
		t.Errorf("a right guess alone: %v", err)
	}
	part := func(canonical string, o change.Operation) string {
		return must.Get(w.boss().Changes().Assess(ctx, change.ChangeSet{Operations: []change.Operation{o}, Canonical: canonical}))(t).Parts["configs/c.json"]
	}
	nothing := change.Revert(document.Config, "c", change.Reversion{CommitSHA: w.repo.Commits[2].SHA, Mode: "restore"})
	if part("restore", nothing) == part("guess", change.Patch(document.Config, "c", "production", patch(guesses[1]))) {
		t.Error("the digest's part of a right guess is that of what changes nothing")
	}
}

// TestASetThatCannotLandAnswersNoGuess: what a change set is refused for is the same,
// whatever a confidential value is.
func TestASetThatCannotLandAnswersNoGuess(t *testing.T) {
	stale := strings.Repeat("0", 40)
	for name, others := range map[string][]change.Operation{
		"an undo":                        nil,
		"an undo, and a stale token":     {change.Patch(document.Flag, "other", "staging", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: &stale})},
		"an undo, and what is not there": {deleted("nothing")},
	} {
		var answers []string
		for _, guess := range guesses[:2] {
			w := reviewedSecrets(t)
			w.repo.Push(ada, "no review", map[string]string{"svc.json": `{"environments": ["production", "staging"]}`})
			operations := []change.Operation{
				change.Patch(document.Config, "c", "production", change.ValuePatch{Value: node(t, `"`+guess+`"`)}),
				change.Revert(document.Config, "c", change.Reversion{CommitSHA: w.repo.Commits[1].SHA, Mode: "undo"}),
			}
			_, err := w.boss().Changes().Change(ctx, change.ChangeSet{Operations: append(operations, others...)})
			if err == nil {
				t.Fatalf("%s: a guess of %s is carried out", name, guess)
			}
			answers = append(answers, refusal(err)+wire(t, fault.Of(err).Envelope()))
		}
		if answers[0] != answers[1] || !strings.Contains(answers[0], "OVERLAP") {
			t.Errorf("%s: a wrong guess: %s\na right one: %s", name, answers[0], answers[1])
		}
	}
}

// TestWhatIsRefusedAnswersNoGuess: two workspaces whose confidential values are the same ones
// under other names refuse the same change sets, and for the same.
func TestWhatIsRefusedAnswersNoGuess(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one, _ := drawSecrets(rt)
		other, names := one, rapid.Permutation(guesses).Draw(rt, "names")
		for commit := range other {
			for spot, word := range other[commit].words {
				other[commit].words[spot] = names[slices.Index(guesses, word)]
				other[commit].bools[spot] = !other[commit].bools[spot]
			}
		}
		review := rapid.Bool().Draw(rt, "review")
		var asked []string
		var questions []func(t testing.TB, commits []string) change.Operation
		guess := false
		for range rapid.IntRange(1, 4).Draw(rt, "operations") {
			words, question := drawQuestion(rt)
			what, _, _ := strings.Cut(words, " ")
			guess = guess || slices.Contains([]string{"patch", "put", "rollout"}, what)
			asked, questions = append(asked, words), append(questions, question)
		}
		if !guess { // what is brought back from the history is nobody's guess
			rt.SkipNow()
		}
		answer := func(secrets [3]secretState) string {
			w := secretWorld(t, secrets)
			var commits, names []string
			for i, c := range w.repo.Commits {
				commits, names = append(commits, c.SHA), append(names, c.SHA, fmt.Sprint("commit ", i))
			}
			if review {
				w.repo.Push(ada, "review", map[string]string{"svc.json": reviewedDeclaration})
			}
			var operations []change.Operation
			for _, question := range questions {
				operations = append(operations, question(t, commits))
			}
			_, err := w.boss().Changes().Change(ctx, change.ChangeSet{Operations: operations})
			if err == nil {
				return "ok"
			}
			return strings.NewReplacer(names...).Replace(refusal(err) + wire(t, err))
		}
		if is, differs := answer(one), answer(other); is != differs {
			rt.Fatalf("asked, with review %v:\n%s\nwith %v:\n%s\nwith %v:\n%s", review, strings.Join(asked, "\n"), one, is, other, differs)
		}
	})
}
