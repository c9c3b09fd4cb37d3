package workspace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// MaxPrerequisites is how many flags may ask for each other one after the other.
const MaxPrerequisites = 10

// prerequisites is the member of the workspace file that allows them.
const prerequisites = "prerequisites"

// Prerequisites reports whether rules may ask for other flags.
func (w *Workspace) Prerequisites() bool {
	allowed, _ := w.Declaration.Tree.Get(prerequisites).Bool()
	return allowed
}

// prerequisitesIssue says what is wrong with the setting.
func prerequisitesIssue(declaration *jsontree.Node) []document.Issue {
	setting := declaration.Get(prerequisites)
	if _, ok := setting.Bool(); ok || setting == nil {
		return nil
	}
	return []document.Issue{{Code: problem.InvalidWorkspaceFile, Pointer: "/" + prerequisites,
		Message: prerequisites + " is true where rules may ask for other flags; else leave it out"}}
}

// prerequisiteIssues finds criteria on other flags that may not be, or name what is not
// there.
func (x *index) prerequisiteIssues(item *Item) []document.Issue {
	var issues []document.Issue
	for spot, criterion := range item.View.Criteria() {
		key, asks := evaluation.FlagOf(criterion)
		if !asks {
			continue
		}
		note := func(code problem.Code, at, format string, args ...any) {
			issues = append(issues, document.Issue{Code: code, Pointer: spot.Pointer() + at, Message: fmt.Sprintf(format, args...)})
		}
		switch {
		case item.View.Type == document.Segment:
			note(problem.PrerequisitesOff, "/operator", "a segment is the same everywhere and asks for no flag; ask in the rules of the item itself")
			continue
		case !x.ws.Prerequisites():
			note(problem.PrerequisitesOff, "/operator", "clients that are not svc's do not know %s, and there it never holds: where all are, %s allows it with %q: true", criterion.Operator, File, prerequisites)
		}
		t, found := x.flagType(item, key)
		if !found {
			note(problem.UnknownFlag, "/propertyName", "there is no flag %s", terminal.Quote(key))
			continue
		}
		if message := flagOperandProblem(t, criterion.ValueToMatch); message != "" {
			note(problem.PrerequisiteValue, "/valueToMatch", "%s %s", terminal.Quote(key), message)
		}
	}
	return issues
}

// flagType is the type of a flag's values; not found where it is not there.
func (x *index) flagType(item *Item, key string) (t document.ValueType, found bool) {
	if item.Path == Path(document.Flag, key) {
		return item.View.ValueType, true
	}
	t, found = x.flagTypes[key]
	if stored, there := x.ws.Item(document.Flag, key); there && !found {
		t, found = stored.Read().View.ValueType, true
		x.flagTypes[key] = t
	}
	return t, found
}

// flagOperandProblem says why a flag of a type cannot be compared with an operand, or "".
func flagOperandProblem(t document.ValueType, operand *document.Value) string {
	fits := map[document.ValueType]func(text string) bool{
		document.BoolValue: func(text string) bool { return text == "true" || text == "false" },
		document.IntValue: func(text string) bool {
			_, err := strconv.ParseInt(text, 10, 64)
			return err == nil
		},
		document.DoubleValue: func(text string) bool {
			_, err := strconv.ParseFloat(text, 64)
			return err == nil
		},
		document.StringValue:   func(string) bool { return true },
		document.DurationValue: func(string) bool { return true },
	}[t]
	switch {
	case fits == nil:
		return fmt.Sprintf("is a flag of type %s; a rule may ask for one of type bool, string, int, double or duration", terminal.Quote(string(t)))
	case operand == nil:
		return `is compared with its values: {"type": "string_list", "value": ["true"]}`
	case document.Masked(operand.Content) || operand.DecryptWith != "" || operand.Type == document.ProvidedValue:
		return ""
	}
	for _, part := range append(operand.Content.Elements(), operand.Content) {
		p := evaluation.FromNode(part)
		switch {
		case part == operand.Content && p.Kind == evaluation.ListProperty:
		case p.Kind != evaluation.TextProperty && p.Kind != evaluation.NumberProperty && p.Kind != evaluation.BoolProperty:
			return "is compared with its values, which are a list of texts, or one"
		case !fits(p.Text) && operand.Secret():
			return fmt.Sprintf("is a flag of type %s, and does not serve such a value", t)
		case !fits(p.Text):
			return fmt.Sprintf("is a flag of type %s, and does not serve %s", t, terminal.Quote(p.Text))
		}
	}
	return ""
}

// StopsOthers reports whether in an environment whoever asks for a bool flag can come to
// serve nothing but false where they served something else, once everybody gets false of
// it; and so whoever asks for those.
func (w *Workspace) StopsOthers(environment, flag string) bool {
	var asking []*document.Document
	for i := range w.Items {
		if stored := &w.Items[i]; MayAsk(stored.Text) {
			if item := stored.Read(); item.View.Type != document.Segment { // which asks for no flag
				asking = append(asking, item.View)
			}
		}
	}
	off := []string{flag}
	for i := 0; i < len(off); i++ {
		for _, doc := range asking {
			asks, onlyOff := stopsWith(doc, environment, off[i])
			if !onlyOff {
				return false
			}
			if asks && doc.Type == document.Flag && !slices.Contains(off, doc.Key) {
				off = append(off, doc.Key)
			}
		}
	}
	return true
}

// stopsWith reports whether a document's rules in an environment ask for a flag; and whether
// all that can come in the place of what they serve is false, once everybody gets false of
// that flag.
func stopsWith(doc *document.Document, environment, flag string) (asks, onlyOff bool) {
	rules, whole := reachable(doc, environment)
	ends := false // a rule that held before may not hold any more: a later one does
	for _, rule := range rules {
		askedFor, holds, known := false, true, true
		for _, criterion := range rule.Criteria {
			key, ok := evaluation.FlagOf(criterion)
			if !ok || key != flag {
				continue
			}
			askedFor = true
			among, readable := readTexts(criterion.ValueToMatch)
			known = known && readable
			holds = holds && slices.Contains(among, "false") == (criterion.Operator == evaluation.FlagIsOneOf)
		}
		if asks = asks || askedFor; askedFor && known && !holds {
			ends = true
			continue // nobody reaches it then
		}
		if (ends || askedFor) && !rule.Value.AlwaysFalse() {
			return asks, false
		}
		ends = ends || askedFor && !known
	}
	return asks, !ends || whole
}

// reachable are the rules of a document that can hold in an environment: those up to one
// that always does. The whole of its people gets a value if there is one.
func reachable(doc *document.Document, environment string) (rules []document.Rule, whole bool) {
	own, _ := doc.Own(environment)
	rules = slices.Concat(own, doc.Default)
	end := slices.IndexFunc(rules, func(r document.Rule) bool { return len(r.Criteria) == 0 || r.CatchAll() })
	if end < 0 {
		return rules, false
	}
	return rules[:end+1], true
}

// Related are the paths of whoever asks for a changed item in an environment, directly or
// through others, and of the flags that it and they ask for.
func (w *Workspace) Related(environment string, item *Item) []string {
	down, up := map[string][]string{}, map[string][]string{}
	note := func(item *Item) {
		rules, _ := reachable(item.View, environment)
		for _, rule := range rules {
			for _, criterion := range rule.Criteria {
				if key, asks := evaluation.FlagOf(criterion); asks {
					flag := Path(document.Flag, key)
					down[item.Path], up[flag] = append(down[item.Path], flag), append(up[flag], item.Path)
				}
			}
		}
	}
	note(item)
	for i := range w.Items {
		if stored := &w.Items[i]; stored.Path != item.Path && MayAsk(stored.Text) {
			note(stored.Read())
		}
	}
	found := []string{item.Path}
	for _, next := range []map[string][]string{up, down} {
		seen := map[string]bool{}
		for _, path := range found {
			seen[path] = true
		}
		for i := 0; i < len(found); i++ {
			for _, path := range next[found[i]] {
				if !seen[path] {
					seen[path] = true
					found = append(found, path)
				}
			}
		}
	}
	return found[1:]
}

// readTexts are what a criterion compares with, if that can be told.
func readTexts(operand *document.Value) (list []string, readable bool) {
	if operand == nil || operand.Secret() || document.Masked(operand.Content) {
		return nil, false
	}
	p := evaluation.FromNode(operand.Content)
	if p.Kind != evaluation.ListProperty {
		return []string{p.Text}, true
	}
	return p.List, true
}

// prerequisiteWarnings says of the first criterion on another flag who does not know it.
func prerequisiteWarnings(doc *document.Document) []document.Issue {
	for spot, criterion := range doc.Criteria() {
		if _, asks := evaluation.FlagOf(criterion); asks {
			return []document.Issue{{Code: problem.Prerequisite, Pointer: spot.Pointer() + "/operator",
				Message: "clients that evaluate in their own process and are not svc's do not know " + criterion.Operator + ": there the rule never matches"}}
		}
	}
	return nil
}

// asked are the flags that a document asks for, each once.
func asked(doc *document.Document) []string {
	var keys []string
	for _, criterion := range doc.Criteria() {
		if key, asks := evaluation.FlagOf(criterion); asks && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// deep are the documents that ask for too many flags one after the other. What leads into a
// circle is not counted.
func (g *graph) deep() []circle {
	var found []circle
	number := map[string]int{}
	for i, item := range g.items {
		number[item.Key] = i
	}
	w := walk{down: func(key string) []string {
		if i, asks := number[key]; asks {
			return g.keys[i]
		}
		return nil
	}, longest: map[string][]string{}}
	for _, stored := range g.items {
		if path := w.from(stored.Key); len(path) > MaxPrerequisites+1 {
			item := stored.Read()
			found = append(found, circle{item, depthIssue(item, path)})
		}
	}
	return found
}

// depthThrough finds the longest way through a changed document, from what asks for it to
// what it asks for in the end.
func (v *Verification) depthThrough(item *Item) []document.Issue {
	own := asked(item.View)
	if len(own) == 0 {
		return nil
	}
	down, up := map[string][]string{}, map[string][]string{}
	note := func(key string, flags []string) {
		down[key] = flags
		for _, flag := range flags {
			up[flag] = append(up[flag], key)
		}
	}
	for i, other := range v.asks().items {
		if other.Path != item.Path {
			note(other.Key, v.asks().keys[i])
		}
	}
	note(item.Key, own)
	over := (&walk{func(key string) []string { return up[key] }, map[string][]string{}}).from(item.Key)
	below := (&walk{func(key string) []string { return down[key] }, map[string][]string{}}).from(item.Key)
	slices.Reverse(over)
	if path := append(over, below[1:]...); len(path) > MaxPrerequisites+1 {
		issue := depthIssue(item, path)
		issue.Pointer = ofFlags.step(item, below[1])
		return []document.Issue{issue}
	}
	return nil
}

// walk finds the longest ways.
type walk struct {
	down    func(key string) []string
	longest map[string][]string
}

// from is the longest way from a key, which it begins with. On its way into a circle it ends
// where it has been.
func (w *walk) from(key string) []string {
	if known, been := w.longest[key]; been {
		return known
	}
	w.longest[key] = []string{key}
	var longest []string
	for _, next := range w.down(key) {
		if way := w.from(next); len(way) > len(longest) {
			longest = way
		}
	}
	way := append([]string{key}, longest[:min(len(longest), MaxPrerequisites+1)]...) // no more is told
	w.longest[key] = way
	return way
}

func depthIssue(item *Item, path []string) document.Issue {
	return document.Issue{Code: problem.PrerequisiteDepth, Pointer: ofFlags.step(item, path[1]),
		Message: fmt.Sprintf("flags ask for each other at most %d deep, and these %d: %s", MaxPrerequisites, len(path)-1, terminal.Cut(strings.Join(path, " -> "), 1000))}
}
