package edit

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

// noon is the time of these tests.
var noon = time.Date(2036, 12, 1, 12, 0, 0, 0, time.UTC)

// hour is a time so many hours from noon, as requests have it.
func hour(hours float64) string {
	return document.MomentText(noon.Add(time.Duration(hours * float64(time.Hour))))
}

// inShort writes rules in short: !false is a pause, ?pro=true a targeting rule, 13:true a
// change at that hour of the day, 13>true:10/false a step, 13= the hold of a plan, *=true
// the fallback.
func inShort(rules []*jsontree.Node) string {
	var short []string
	value := func(v *jsontree.Node) string {
		if arms := document.StoredArms(v); len(arms) > 0 {
			n, _ := strconv.ParseInt(arms[0].Get("weight").Literal(), 10, 64)
			return fmt.Sprintf("%s:%s", arms[0].Get("value").Get("value").Compact(), document.PercentText(n))
		}
		return string(v.Get("value").Compact())
	}
	for i, rule := range rules {
		s := document.StoredSchedule(rule)
		at := s.At.Format("02T15:04")
		switch {
		case i == 0 && document.StoredPause(rules) != nil:
			inherited, _ := rule.Get("inherited").Text()
			short = append(short, "!"+value(rule.Get("value"))+strings.TrimSuffix("("+inherited+")", "()"))
		case s.Kind == document.ScheduledChange:
			short = append(short, at+"="+value(rule.Get("value")))
		case s.Kind == document.ScheduledStep:
			short = append(short, at+">"+value(rule.Get("value")))
		case s.Kind == document.ScheduledHold:
			short = append(short, at+"|"+value(rule.Get("value")))
		case document.StoredCatchAll(rule):
			short = append(short, "*="+value(rule.Get("value")))
		default:
			short = append(short, "?"+value(rule.Get("value")))
		}
	}
	return strings.Join(short, " ")
}

// asked is what is asked of a flag one after the other, at an hour from noon.
type asked struct {
	at   float64
	do   string // enable, disable, replace, schedule on|off <hours>, everybody <hours>, plan <hours:percent...>, hold, resume, back, unschedule, pause, unpause, fold
	want string // the rules in short, - for unchanged, or what a refusal says
	says string // what the activity says of it
}

func (a asked) carryOut(t *testing.T, tree *jsontree.Node, scope string) (*Edited, error) {
	t.Helper()
	place := Place{Scope: scope, Now: noon.Add(time.Duration(a.at * float64(time.Hour)))}
	words := strings.Fields(a.do)
	at := func(word string) *string {
		var hours float64
		must.Get(fmt.Sscan(word, &hours))(t)
		text := hour(hours)
		return &text
	}
	switch words[0] {
	case "enable", "disable", "replace":
		place.ReplaceTargeting = words[0] == "replace"
		return SetEnabled(tree, place, words[0] != "disable")
	case "on", "off", "everybody":
		place.At, place.ReplaceTargeting = at(words[1]), words[0] == "everybody"
		return SetEnabled(tree, place, words[0] != "off")
	case "split":
		return SetRollout(tree, place, documents.Tree(t, `[{"value":true,"percent":`+words[1]+`},{"value":false,"percent":`+words[2]+`}]`))
	case "unschedule":
		place.At = at(words[1])
		return Unschedule(tree, place)
	case "pause":
		return Pause(tree, scope, documents.Tree(t, words[1]))
	case "unpause":
		return Resume(tree, scope)
	case "fold":
		return Fold(tree, place)
	case "plan", "from", "hash", "over": // of a value, of two, by a property, and over targeting
		place.ReplaceTargeting = words[0] == "over"
		var steps []string
		for _, word := range words[1:] {
			hours, percent, timed := strings.Cut(word, ":")
			if !timed {
				steps = append(steps, `{"percent":`+hours+`}`)
				continue
			}
			steps = append(steps, `{"at":"`+*at(hours)+`","percent":`+percent+`}`)
		}
		more := map[string]string{"from": `,"from":false`, "hash": `,"from":false,"hashByPropertyName":"user.plan"`}[words[0]]
		return SetPlan(tree, place, documents.Tree(t, `{"value":true,"steps":[`+strings.Join(steps, ",")+`]`+more+`}`))
	}
	return SetPlan(tree, place, documents.Tree(t, `{"do":"`+words[0]+`"}`))
}

// TestTimed goes through what is written for a time, step by step.
func TestTimed(t *testing.T) {
	off, targeted := documents.ServesFalse, documents.TargetsPro+","+documents.ServesFalse
	for name, test := range map[string]struct {
		rules string
		steps []asked
	}{
		"scheduled before the fallback": {targeted, []asked{
			{0, "on 3", "?true 01T15:00=true *=false", "scheduled for 2036-12-01T15:00:00Z: enabled set to true"},
			{0, "on 3", "-", ""},
			{0, "off 5", "?true 01T17:00=false 01T15:00=true *=false", "scheduled for 2036-12-01T17:00:00Z: enabled set to false"},
			{0, "off 3", "?true 01T17:00=false 01T15:00=false *=false", "scheduled now for 2036-12-01T15:00:00Z: enabled set to false"},
			{0, "unschedule 3", "?true 01T17:00=false *=false", "no longer scheduled for 2036-12-01T15:00:00Z: enabled set to false"},
			{0, "unschedule 3", "-", ""},
			{0, "on -1", "past", ""},
		}},
		"everybody from a time on": {targeted, []asked{
			{0, "everybody 1", "01T13:00=true ?true *=false", "scheduled for 2036-12-01T13:00:00Z: enabled set to true, instead of all rules"},
			{2, "disable", "*=false", "1 targeting rule removed"},
		}},
		"what has come is what is served": {targeted, []asked{
			{0, "on 1", "?true 01T13:00=true *=false", ""},
			{0, "enable", "?true 01T13:00=true *=true", "enabled set to true"},
			{0, "disable", "?true 01T13:00=true *=false", "enabled set to false"},
			{2, "disable", "?true *=false", "no longer scheduled for 2036-12-01T13:00:00Z: enabled set to true"},
		}},
		"within a minute counts as come": {off, []asked{
			{0, "on 0.01", "01T12:00=true *=false", ""},
			{0, "disable", "*=false", ""},
		}},
		"a plan": {targeted, []asked{
			{0, "plan 1:1 2:10 3:100", "?true 01T15:00>true:100 01T14:00>true:10 01T13:00>true:1 *=false", "rollout plan: true to 1% at 2036-12-01T13:00:00Z, 10% at 2036-12-01T14:00:00Z, 100% at 2036-12-01T15:00:00Z"},
			{0, "plan 1:1 2:10 3:100", "-", ""},
			{2.5, "hold", "?true 01T14:30|true:10 01T15:00>true:100 01T14:00>true:10 01T13:00>true:1 *=false", "rollout plan held: rollout 10% true, 90% false"},
			{2.6, "hold", "-", ""},
			{4.5, "resume", "?true 01T17:00>true:100 01T14:00>true:10 01T13:00>true:1 *=false", "rollout plan goes on"},
			{4.5, "resume", "-", ""},
			{4.5, "back", "?true 01T13:00|true:1 01T17:00>true:100 01T14:00>true:10 01T13:00>true:1 *=false", "rollout plan held: rollout 1% true, 99% false"},
			{4.5, "back", "?true 01T13:00|false 01T17:00>true:100 01T14:00>true:10 01T13:00>true:1 *=false", "rollout plan held: enabled set to false"},
			{4.5, "back", "-", ""},
			{5, "resume", "?true 01T21:00>true:100 01T18:00>true:10 01T17:00>true:1 *=false", "rollout plan goes on"},
			{5.5, "disable", "?true *=false", "rollout plan ended"},
			{5.5, "hold", "no rollout plan", ""},
		}},
		"a plan beside a change": {off, []asked{
			{0, "plan 10 1:50 3:60", "01T15:00>true:60 01T13:00>true:50 *=true:10", ""},
			{0, "on 2", "01T15:00>true:60 01T14:00=true 01T13:00>true:50 *=true:10", ""},
			{2.5, "plan 4:70", "everybody gets the value already", ""},
		}},
		"a plan that begins at once, and another": {off, []asked{
			{0, "plan 5 1:50", "01T13:00>true:50 *=true:5", "rollout plan: true to 50%"},
			{0, "plan 2:60", "01T14:00>true:60 *=true:5", ""},
			{3, "plan 4:70", "01T16:00>true:70 *=true:60", ""},
			{5, "enable", "*=true", "rollout plan ended"},
		}},
		"a change beside a plan": {off, []asked{
			{0, "plan 1:1 3:100", "01T15:00>true:100 01T13:00>true:1 *=false", ""},
			{0, "off 2", "01T15:00>true:100 01T14:00=false 01T13:00>true:1 *=false", ""},
			{0, "on 9", "01T21:00=true 01T15:00>true:100 01T14:00=false 01T13:00>true:1 *=false", ""},
			{0.5, "disable", "01T21:00=true 01T14:00=false *=false", ""},
			{0.5, "replace", "*=true", ""},
		}},
		"a change while a plan is held": {off, []asked{
			{0, "plan 1:1 3:100", "01T15:00>true:100 01T13:00>true:1 *=false", ""},
			{2, "hold", "01T14:00|true:1 01T15:00>true:100 01T13:00>true:1 *=false", ""},
			{2, "off 4", "01T16:00=false 01T14:00|true:1 01T15:00>true:100 01T13:00>true:1 *=false", ""},
			{2, "off 2.5", "01T16:00=false 01T14:30=false 01T14:00|true:1 01T15:00>true:100 01T13:00>true:1 *=false", ""},
			{2, "unschedule 2.5", "01T16:00=false 01T14:00|true:1 01T15:00>true:100 01T13:00>true:1 *=false", ""},
			{3.5, "resume", "01T16:30>true:100 01T16:00=false 01T13:00>true:1 *=false", ""},
		}},
		"what is scheduled outlives a plan that is held": {off, []asked{
			{0, "on 3", "01T15:00=true *=false", ""},
			{0, "plan 1:1 5:100", "01T17:00>true:100 01T15:00=true 01T13:00>true:1 *=false", ""},
			{2, "hold", "01T14:00|true:1 01T17:00>true:100 01T15:00=true 01T13:00>true:1 *=false", ""},
			{2, "disable", "01T15:00=true *=false", ""},
		}},
		"folding": {off, []asked{
			{0, "on 1", "01T13:00=true *=false", ""},
			{20, "fold", "-", ""},
			{24, "off 30", "02T18:00=false 01T13:00=true *=false", ""},
			{25, "fold", "02T18:00=false *=true", "what was scheduled for 2036-12-01T13:00:00Z has come, and holds from now on: enabled set to true"},
			{60, "on 70", "04T10:00=true *=false", "what was scheduled for 2036-12-02T18:00:00Z has come"},
		}},
		"folding a plan": {off, []asked{
			{0, "plan 1:1 40:100", "03T04:00>true:100 01T13:00>true:1 *=false", ""},
			{26, "fold", "03T04:00>true:100 *=true:1", ""},
			{90, "fold", "*=true", ""},
		}},
		"a plan that is held is not folded": {off, []asked{
			{0, "plan 1:1 40:100", "03T04:00>true:100 01T13:00>true:1 *=false", ""},
			{2, "hold", "01T14:00|true:1 03T04:00>true:100 01T13:00>true:1 *=false", ""},
			{90, "fold", "-", ""},
			{90, "disable", "*=false", "rollout plan ended"},
		}},
		"paused": {targeted, []asked{
			{0, "pause false", "!false ?true *=false", "paused for everybody: serves false"},
			{0, "pause false", "-", ""},
			{0, "pause true", "!true ?true *=false", "still paused for everybody: serves true"},
			{0, "enable", "!true ?true *=true", "enabled set to true"},
			{0, "replace", "!true *=true", "1 targeting rule removed"},
			{0, "off 1", "!true 01T13:00=false *=true", ""},
			{0, "unpause", "01T13:00=false *=true", "resumed: the rules hold again"},
			{0, "unpause", "-", ""},
			{0, "pause 1", "a bool value is", ""},
		}},
	} {
		for _, scope := range []string{document.DefaultScope, "production"} {
			tree := documents.Tree(t, documents.Flag("bool", test.rules, `,"environments":[{"id":"production","rules":[`+test.rules+`]}]`))
			for _, step := range test.steps {
				t.Run(fmt.Sprint(name, "/", scope, "/", step.do), func(t *testing.T) {
					given := string(tree.Compact())
					e, err := step.carryOut(t, tree, scope)
					if string(tree.Compact()) != given {
						t.Fatal("the tree that was given has changed")
					}
					if err != nil {
						if !strings.Contains(err.Error(), step.want) || step.want == "-" {
							t.Fatalf("refused: %v, want %s", err, step.want)
						}
						return
					}
					if _, issues := document.Decode(e.Tree); len(issues) > 0 {
						t.Fatalf("it makes what cannot be decoded: %v", issues)
					}
					if issues := document.Validate(e.Tree); len(document.NewIssues(document.Validate(tree), issues)) > 0 {
						t.Fatalf("it makes what is not valid: %v", issues)
					}
					got := "-"
					if e.Changed {
						got = inShort(e.Rules)
					}
					if got != step.want {
						t.Errorf("%s, want %s", got, step.want)
					}
					if said := fmt.Sprint(activity.Diff(tree, e.Tree)); !strings.Contains(said, step.says) || e.Changed != (said != "[]") {
						t.Errorf("said %s, want …%s…", said, step.says)
					}
					tree = e.Tree
				})
			}
		}
	}
}

// TestPauseOfWhatInherits: an environment has rules of its own while it is paused, and
// none again afterwards, unless somebody has changed them.
func TestPauseOfWhatInherits(t *testing.T) {
	const rules = documents.TargetsPro + "," + documents.ServesTrue
	for name, test := range map[string]struct {
		rest, meanwhile, paused, resumed string
		detached                         bool
	}{
		"no environments":     {``, "", "!false(environments) ?true *=true", "", false},
		"no entry":            {`,"environments":[]`, "", "!false(entry) ?true *=true", "", false},
		"another entry":       {`,"environments":[{"id":"staging","rules":[` + documents.ServesFalse + `]}]`, "", "!false(entry) ?true *=true", "", false},
		"an empty entry":      {`,"environments":[{"id":"production","rules":[],"x":1}]`, "", "!false(rules) ?true *=true", "", false},
		"changed meanwhile":   {``, "production", "!false(environments) ?true *=true", "?true *=false", true},
		"defaults changed":    {``, "default", "!false(environments) ?true *=true", "?true *=true", true},
		"an entry of its own": {`,"environments":[{"id":"production","rules":[` + rules + `]}]`, "", "!false ?true *=true", "?true *=true", false},
	} {
		t.Run(name, func(t *testing.T) {
			tree := documents.Tree(t, documents.Flag("bool", rules, test.rest))
			e := must.Get(Pause(tree, "production", nil))(t)
			if got := inShort(e.Rules); got != test.paused {
				t.Fatalf("paused: %s, want %s", got, test.paused)
			}
			if said := fmt.Sprint(activity.Diff(tree, e.Tree)); said != "[{production production: paused for everybody: serves false}]" {
				t.Errorf("said %s", said)
			}
			paused := e.Tree
			if test.meanwhile != "" {
				paused = must.Get(SetEnabled(paused, Place{Scope: test.meanwhile}, false))(t).Tree
			}
			e = must.Get(Resume(paused, "production"))(t)
			if got := inShort(e.Rules); got != test.resumed || e.Detached != test.detached {
				t.Errorf("resumed: %s, detached %v", got, e.Detached)
			}
			if same := string(e.Tree.Compact()) == string(tree.Compact()); same != (test.meanwhile == "") {
				t.Errorf("resumed it is %s", e.Tree.Compact())
			}
			if said := fmt.Sprint(activity.Diff(paused, e.Tree)); !strings.Contains(said, "production: resumed") {
				t.Errorf("said %s", said)
			}
		})
	}
}

// TestPauseNeedsAValue: of what is not bool.
func TestPauseNeedsAValue(t *testing.T) {
	_, err := Pause(documents.Tree(t, documents.Flag("string", "", "")), "production", nil)
	if refused, ok := errors.AsType[*RequestError](err); !ok || refused.Issues[0].Pointer != "/serve" || !strings.Contains(refused.Error(), "here of type string") {
		t.Errorf("%v", err)
	}
	for _, rules := range []string{"", documents.TargetsPro} { // there need not be a fallback
		e := must.Get(Pause(documents.Tree(t, documents.Flag("bool", rules, "")), "default", nil))(t)
		if document.StoredFallback(e.Rules) != nil || document.TargetingCount(e.Rules) != len(e.Rules)-1 {
			t.Errorf("%s", inShort(e.Rules))
		}
	}
}

// TestPlansAreRead: testdata has plans, and all that is wrong with each.
func TestPlansAreRead(t *testing.T) {
	for _, block := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/plans.txt"))(t))), "\n\n") {
		plan, want, _ := strings.Cut(block, "\n")
		t.Run(plan, func(t *testing.T) {
			flag := documents.Tree(t, documents.Flag("bool", documents.ServesFalse, `,"variants":[{"value":{"type":"bool","value":true}},{"value":{"type":"bool","value":false}}]`))
			_, err := SetPlan(flag, Place{Scope: "production", Now: noon}, documents.Tree(t, plan))
			var got []string
			if refused, ok := errors.AsType[*RequestError](err); ok {
				for _, issue := range refused.Issues {
					got = append(got, issue.Pointer+" "+issue.Message)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(want, "\n")
			if want == "" {
				lines = nil
			}
			if len(got) != len(lines) {
				t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
			}
			for i, line := range lines {
				if !strings.HasPrefix(got[i], line) {
					t.Errorf("got %s, want %s", got[i], line)
				}
			}
		})
	}
}

// oddText is a document as somebody may have written it.
func oddText(t *rapid.T) []byte {
	tree := oddDocument(t)
	switch rapid.IntRange(0, 3).Draw(t, "layout") {
	case 0:
		return tree.Compact()
	case 1:
		return []byte(strings.ReplaceAll(string(tree.Encode()), "  ", "\t"))
	case 2:
		return []byte(strings.ReplaceAll(string(tree.Encode()), "\n", "\r\n"))
	}
	return tree.Encode()
}

// TestPauseAndResumeTakeEachOtherBack: to the byte, in the manner of the text.
func TestPauseAndResumeTakeEachOtherBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := oddText(t)
		tree := must.Get(jsontree.Parse(text))(t)
		scope := rapid.SampledFrom([]string{"default", "staging", "production"}).Draw(t, "scope")
		var serve *jsontree.Node
		if valueTypeOf(tree) != document.BoolValue {
			serve = map[document.ValueType]*jsontree.Node{document.IntValue: jsontree.NewInt(7), document.StringValue: jsontree.NewString("x"), document.JSONValue: jsontree.NewArray()}[valueTypeOf(tree)]
		}
		e := must.Get(Pause(tree, scope, serve))(t)
		paused := must.Get(jsontree.Rewrite(text, e.Tree))(t)
		if again := must.Get(Pause(e.Tree, scope, serve))(t); again.Changed {
			t.Fatalf("paused again it is\n%s", again.Tree.Encode())
		}
		e = must.Get(Resume(must.Get(jsontree.Parse(paused))(t), scope))(t)
		if got := must.Get(jsontree.Rewrite(paused, e.Tree))(t); string(got) != string(text) {
			t.Fatalf("it was\n%s\npaused\n%s\nand is\n%s", text, paused, got)
		}
	})
}

// people are the keys of those of whom the tests know what they are served.
const people = 150

// served is what a flag serves to each of them in production at a time: a third are pro.
func served(t must.T, tree *jsontree.Node, at time.Time) (got [people]string) {
	d, issues := document.Decode(tree)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	snapshot, content := evaluation.Compile([]evaluation.Source{{Key: d.Key, Document: d}}, "production")
	for i := range got {
		f := snapshot.NewFrame(at.UnixMilli(), func() float64 { return 0 })
		for name, text := range map[string]string{"key": fmt.Sprint("u", i), "plan": []string{"pro", "free", "free"}[i%3]} {
			if slot := f.Slot([]byte("user"), []byte(name)); slot >= 0 {
				f.Put(slot, evaluation.FromNode(jsontree.NewString(text)))
			}
		}
		if answer := snapshot.Evaluate(0, f); answer != evaluation.None {
			got[i] = content.Answers[answer].Value.Served().Canonical()
		}
		f.Release()
	}
	return got
}

// drawn is what may be asked of a flag at a time.
func drawn(t *rapid.T, now float64) asked {
	hours := func(name string) string { return fmt.Sprintf("%.2f", now+rapid.Float64Range(0.1, 60).Draw(t, name)) }
	percents := []string{"1", "5", "10", "25", "50", "100"}
	switch do := rapid.SampledFrom([]string{"enable", "disable", "on", "off", "everybody", "plan", "plan", "hold", "resume", "back", "split", "fold"}).Draw(t, "do"); do {
	case "on", "off", "everybody":
		return asked{at: now, do: do + " " + hours("at")}
	case "split":
		return asked{at: now, do: "split 30 70"}
	case "plan":
		at, from := now, rapid.IntRange(0, 3).Draw(t, "from")
		for _, percent := range percents[from:rapid.IntRange(from+1, len(percents)).Draw(t, "to")] {
			at += rapid.Float64Range(0.1, 20).Draw(t, "after")
			do += fmt.Sprintf(" %.2f:%s", at, percent)
		}
		return asked{at: now, do: do}
	default:
		return asked{at: now, do: do}
	}
}

// TestFoldingChangesNobody: whatever was written before, at any time that a clock which
// is right by a day can show.
func TestFoldingChangesNobody(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tree := documents.Tree(t, documents.Flag("bool", rapid.SampledFrom([]string{documents.ServesFalse, documents.TargetsPro + "," + documents.Quarter, documents.TargetsPro}).Draw(r, "rules"), ""))
		now := 0.0
		for range rapid.IntRange(1, 8).Draw(r, "edits") {
			now += rapid.Float64Range(0, 30).Draw(r, "later")
			if e, err := drawn(r, now).carryOut(t, tree, "production"); err == nil {
				tree = e.Tree
			}
		}
		now += rapid.Float64Range(0, 100).Draw(r, "later")
		at := noon.Add(time.Duration(now * float64(time.Hour)))
		e := must.Get(Fold(tree, Place{Scope: "production", Now: at}))(r)
		if again := must.Get(Fold(e.Tree, Place{Scope: "production", Now: at}))(r); again.Changed {
			r.Fatalf("folded again it is %s, not %s", inShort(again.Rules), inShort(e.Rules))
		}
		for _, clock := range []time.Duration{time.Second - FoldedAfter, 0, time.Hour, 24 * time.Hour, 1000 * time.Hour} {
			if was, is := served(r, tree, at.Add(clock)), served(r, e.Tree, at.Add(clock)); was != is {
				r.Fatalf("%v from when it was folded, it serves\n%v, not\n%v\n%s", clock, is, was, e.Tree.Compact())
			}
		}
	})
}

// TestPlansGrow: nobody who is in goes out, whatever is held and resumed meanwhile; and as
// many are in as a step says.
func TestPlansGrow(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tree := documents.Tree(t, documents.Flag("bool", documents.ServesFalse, ""))
		plan := asked{0, "plan 1:1 2:10 3:50 4:100", "", ""}
		tree = must.Get(plan.carryOut(t, tree, "production"))(r).Tree
		before := served(r, tree, noon)
		now := 0.0
		for range 12 {
			now += rapid.Float64Range(0.01, 1).Draw(r, "later")
			do := asked{at: now, do: rapid.SampledFrom([]string{"hold", "resume", "fold", "fold"}).Draw(r, "do")}
			tree = must.Get(do.carryOut(t, tree, "production"))(r).Tree
			is := served(r, tree, noon.Add(time.Duration(now*float64(time.Hour))))
			for i := range is {
				if before[i] == "true" && is[i] != "true" {
					r.Fatalf("u%d went out at %v by %s: %s", i, now, do.do, tree.Compact())
				}
			}
			before = is
		}
	})
	for hours, want := range map[float64]int{0.5: 0, 2.5: people / 10, 3.5: people / 2, 4.5: people} {
		tree := must.Get(asked{0, "plan 1:1 2:10 3:50 4:100", "", ""}.carryOut(t, documents.Tree(t, documents.Flag("bool", documents.ServesFalse, "")), "production"))(t).Tree
		in := 0
		for _, value := range served(t, tree, noon.Add(time.Duration(hours*float64(time.Hour)))) {
			if value == "true" {
				in++
			}
		}
		if in < want-people/10 || in > want+people/10 {
			t.Errorf("after %v hours %d of %d are in, want about %d", hours, in, people, want)
		}
	}
}

// TestAPlanTakesNobodyOut who gets the value before it begins.
func TestAPlanTakesNobodyOut(t *testing.T) {
	const second = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":false},"weight":80000},{"value":{"type":"bool","value":true},"weight":20000}],"hashByPropertyName":"user.key"}}}`
	for name, test := range map[string]struct{ rules, plan, want string }{
		"fewer":              {documents.Quarter, "plan 1:1 2:50", "/rolloutPlan/steps/0/percent 25% get the value already"},
		"as many":            {documents.Quarter, "plan 1:25 2:50", ""},
		"more":               {documents.Quarter, "plan 1:30 2:100", ""},
		"the other arm":      {second, "plan 20 1:50", "/rolloutPlan/steps/0/percent 20% get the value already"},
		"of the other arm":   {second, "plan 50 1:70", "send rollout"},
		"all of the other":   {second, "plan 1:100", ""},
		"everybody":          {documents.ServesTrue, "from 10 1:20", "/rolloutPlan/steps/0/percent everybody gets the value already"},
		"everybody, later":   {documents.ServesTrue, "from 1:10", "/rolloutPlan/steps/0/percent everybody gets the value already"},
		"by something else":  {documents.Quarter, "hash 1:25 2:50", "/rolloutPlan/hashByPropertyName 25% get the value already"},
		"by another, to all": {documents.Quarter, "hash 1:100", ""},
	} {
		_, err := asked{0, test.plan, "", ""}.carryOut(t, documents.Tree(t, documents.Flag("bool", test.rules, "")), "production")
		said := ""
		if refused, ok := errors.AsType[*RequestError](err); ok {
			said = fmt.Sprint(len(refused.Issues), " ", refused.Issues[0].Pointer, " ", refused.Issues[0].Message)
		}
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(said, test.want) || !strings.HasPrefix(said, "1 ")) {
			t.Errorf("%s: %v %s, want %s", name, err, said, test.want)
		}
	}
}

// TestNobodyWhoIsInGoesOut by a plan, at any later time, beside whatever is scheduled and
// whatever is served before: it is refused, or said.
func TestNobodyWhoIsInGoesOut(t *testing.T) {
	split := func(first, second string, weight int) string {
		return fmt.Sprintf(`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":%s},"weight":%d},{"value":{"type":"bool","value":%s},"weight":%d}],"hashByPropertyName":"user.key"}}}`,
			first, weight, second, document.FullWeight-weight)
	}
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]string{documents.ServesFalse, documents.ServesTrue, split("true", "false", 25000), split("false", "true", 80000), split("false", "true", 50000)}).Draw(r, "rules")
		if rapid.IntRange(0, 3).Draw(r, "targeted") == 0 {
			rules = documents.TargetsPro + "," + rules
		}
		tree := documents.Tree(t, documents.Flag("bool", rules, ""))
		now := 0.0
		for range rapid.IntRange(1, 5).Draw(r, "edits") {
			now += rapid.Float64Range(0, 30).Draw(r, "later")
			do := drawn(r, now)
			if plan, is := strings.CutPrefix(do.do, "plan "); is {
				if rapid.Bool().Draw(r, "at once") {
					_, plan, _ = strings.Cut(plan, ":")
				}
				do.do = rapid.SampledFrom([]string{"plan ", "from ", "hash ", "over "}).Draw(r, "kind") + plan
			}
			e, err := do.carryOut(t, tree, "production")
			if err != nil {
				continue
			}
			at := noon.Add(time.Duration(now * float64(time.Hour)))
			before, schedules := served(r, tree, at), document.Schedules(e.Rules)
			tree = e.Tree
			plan := len(document.PlanOf(schedules).Steps) > 0
			grows := do.do == "resume" || plan && strings.Contains(do.do, ":") || plan && strings.HasPrefix(do.do, "o")
			if !grows || !e.Changed || e.Outgoing(at) != "" {
				continue
			}
			times, line := []time.Time{at.Add(Slack + time.Second)}, timeline(e.Rules)
			for _, s := range line[:lastStep(line)+1] { // what takes the plan's place when it has ended is not its doing
				if s.At.After(at) {
					times = append(times, s.At.Add(time.Millisecond))
				}
			}
			if !strings.Contains(do.do, ":") { // a change of now is asked for
				before = served(r, tree, at)
			}
			for _, next := range times {
				is := served(r, tree, next)
				for i := range is {
					if before[i] == "true" && is[i] != "true" {
						r.Fatalf("u%d went out at %v by %s at %v: %s", i, next, do.do, at, inShort(e.Rules))
					}
				}
				before = is
			}
		}
	})
}

// TestPlansAndSchedulesAgain: what stands as it is asked for is unchanged, also when its
// time is near, or over.
func TestPlansAndSchedulesAgain(t *testing.T) {
	for _, scope := range []string{document.DefaultScope, "production"} {
		for do, times := range map[string][]float64{
			"plan 10 0.01:20 5:50":     {0, 0.001, 0.02, 3, 6, 20},
			"plan 0.01:10 5:50":        {0, 0.001, 0.02, 3, 6, 20},
			"over 10 0.01:20":          {0, 0.02, 3},
			"over 0.01:10 5:20":        {0, 0.02, 3, 6},
			"on 0.01":                  {0, 0.001, 0.02, 20},
			"everybody 0.01":           {0, 0.001, 0.02, 20},
			"plan 10 0.01:20 0.02:100": {0, 0.015, 3},
		} {
			tree := documents.Tree(t, documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, ""))
			tree = must.Get(asked{0, do, "", ""}.carryOut(t, tree, scope))(t).Tree
			for _, at := range times {
				// The hours of a plan count from noon.
				if e, err := (asked{at, do, "", ""}).carryOut(t, tree, scope); err != nil || e.Changed {
					t.Errorf("%s after %v hours: %v", do, at, err)
				}
			}
			other := strings.NewReplacer("10", "11", "on", "off", "everybody", "off").Replace(do)
			if _, err := (asked{3, other, "", ""}).carryOut(t, tree, scope); err == nil || !strings.Contains(err.Error(), "is past") {
				t.Errorf("%s instead of %s: %v", other, do, err)
			}
		}
	}
}

// FuzzPlans: whatever is asked for is refused in words, or can be read again.
func FuzzPlans(f *testing.F) {
	f.Add([]byte(`{"value":true,"steps":[{"at":"2036-12-01T13:00:00Z","percent":1},{"at":"2036-12-02T00:00:00+09:00","percent":100}]}`), "2036-12-01T13:00:00Z", false)
	f.Add([]byte(`{"do":"hold"}`), "2036-12-31T23:59:60Z", true)
	f.Add([]byte(`{"value":true,"from":false,"steps":[{"percent":1e2}],"hashByPropertyName":"team.key"}`), "2036-12-01T13:00:00-00:00", true)
	f.Fuzz(func(t *testing.T, plan []byte, at string, replace bool) {
		tree := documents.Tree(t, documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, ""))
		place := Place{Scope: "production", Now: noon, ReplaceTargeting: replace}
		if sent, err := jsontree.Parse(plan); err == nil {
			checkEdit(t, "plan", tree, func(tree *jsontree.Node) (*Edited, error) { return SetPlan(tree, place, sent) })
		}
		place.At = &at
		checkEdit(t, "at", tree, func(tree *jsontree.Node) (*Edited, error) { return SetEnabled(tree, place, true) })
		checkEdit(t, "unschedule", tree, func(tree *jsontree.Node) (*Edited, error) { return Unschedule(tree, place) })
	})
}
