package impact

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// Change is what two states of a workspace serve differently.
type Change struct {
	before, after state
	tried         []string
	// Environments are those that it reaches, in the order in which environments
	// are listed.
	Environments []string
	reached      map[string][]string // keys of flags and configs, by environment, in order
}

// state is the documents of a workspace, by key.
type state map[string]*workspace.Stored

func stateOf(ws *workspace.Workspace) state {
	s := make(state, len(ws.Items))
	for i := range ws.Items {
		if key := ws.Items[i].Key; s[key] == nil {
			s[key] = &ws.Items[i]
		}
	}
	return s
}

// read decodes the document of a key, nil for none.
func (s state) read(key string) *workspace.Item {
	if s[key] == nil {
		return nil
	}
	return s[key].Read()
}

// With is a workspace with other documents in the place of some of its own, by
// path: nil for one that is deleted.
func With(ws *workspace.Workspace, texts map[string][]byte) *workspace.Workspace {
	next, files := *ws, map[string][]byte{}
	for path, text := range texts {
		if text != nil {
			files[path] = text
		}
	}
	written, _ := workspace.Read(files)
	next.Items = slices.DeleteFunc(slices.Clone(ws.Items), func(item workspace.Stored) bool {
		_, replaced := texts[item.Path]
		return replaced
	})
	next.Items = append(next.Items, written.Items...)
	return &next
}

// Compare compares two states of a workspace, as they are served. What was tried are paths
// of documents that are taken for others where they compare with confidential values: that one
// is the same would tell that a guess is right. Its error is the context's.
func Compare(ctx context.Context, before, after *workspace.Workspace, tried ...string) (*Change, error) {
	c := &Change{before: stateOf(before), after: stateOf(after), tried: tried, reached: map[string][]string{}}
	items, segments := c.differing()
	if err := c.follow(ctx, before, after, items, segments); err != nil {
		return nil, err
	}
	environments := after.Active()
	for _, name := range before.Active() {
		if !slices.Contains(environments, name) {
			environments = append(environments, name)
		}
	}
	reached, asked := map[string]map[string]bool{}, map[string]map[string][]string{} // by environment, by key
	for _, environment := range environments {
		reached[environment], asked[environment] = map[string]bool{}, map[string][]string{}
	}
	for key := range items {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		earlier, later := c.before.read(key), c.after.read(key)
		if !isServed(earlier) && !isServed(later) {
			continue
		}
		for _, environment := range environments {
			if isServed(earlier) != isServed(later) || !c.sameRules(earlier, later, environment) ||
				refers(earlier, environment, segments) || refers(later, environment, segments) {
				reached[environment][key] = true
			} else if flags := append(flagsOf(earlier, environment), flagsOf(later, environment)...); len(flags) > 0 {
				asked[environment][key] = flags
			}
		}
	}
	for _, environment := range environments {
		in := reached[environment]
		for more := true; more; {
			more = false
			for key, flags := range asked[environment] {
				if !in[key] && slices.ContainsFunc(flags, func(flag string) bool { return in[flag] }) {
					in[key], more = true, true
				}
			}
		}
		if len(in) > 0 {
			c.reached[environment] = slices.Sorted(maps.Keys(in))
		}
	}
	c.Environments = slices.DeleteFunc(environments, func(name string) bool { return c.reached[name] == nil })
	return c, nil
}

// differing are the flags and configs, and the segments, whose documents differ.
func (c *Change) differing() (items, segments map[string]bool) {
	items, segments = map[string]bool{}, map[string]bool{}
	differ := func(key string) {
		earlier, later := c.before.read(key), c.after.read(key)
		if isServed(earlier) || isServed(later) {
			items[key] = true
		}
		if isSegment(earlier) != isSegment(later) || isSegment(earlier) && !c.sameRules(earlier, later, "") {
			segments[key] = true
		}
	}
	for key, later := range c.after {
		if earlier := c.before[key]; earlier == nil || earlier.Path != later.Path || !bytes.Equal(earlier.Text, later.Text) || slices.Contains(c.tried, later.Path) {
			differ(key)
		}
	}
	for key := range c.before {
		if c.after[key] == nil {
			differ(key)
		}
	}
	return items, segments
}

// follow adds whatever refers to the segments and flags, in either state: other segments,
// and the flags and configs that refer to any of them somewhere.
func (c *Change) follow(ctx context.Context, before, after *workspace.Workspace, items, segments map[string]bool) error {
	var fresh []string // paths
	for key := range segments {
		fresh = append(fresh, workspace.Path(document.Segment, key))
	}
	for key := range items {
		fresh = append(fresh, workspace.Path(document.Flag, key))
	}
	for len(fresh) > 0 && ctx.Err() == nil {
		found := slices.Concat(slices.Collect(maps.Values(workspace.References(before, fresh...))),
			slices.Collect(maps.Values(workspace.References(after, fresh...))))
		fresh = nil
		for _, by := range slices.Concat(found...) {
			switch {
			case by.Type != document.Segment:
				if !items[by.Key] && by.Type == document.Flag {
					fresh = append(fresh, workspace.Path(document.Flag, by.Key))
				}
				items[by.Key] = true
			case !segments[by.Key]:
				segments[by.Key] = true
				fresh = append(fresh, workspace.Path(document.Segment, by.Key))
			}
		}
	}
	return ctx.Err()
}

// refers reports whether what a document serves in an environment refers to one of the
// segments.
func refers(item *workspace.Item, environment string, segments map[string]bool) bool {
	return item != nil && slices.ContainsFunc(segmentsOf(item.View, environment), func(key string) bool { return segments[key] })
}

// segmentsOf are the segments that the rules refer to which an environment serves.
func segmentsOf(doc *document.Document, environment string) []string {
	own, _ := doc.Own(environment)
	return append(evaluation.SegmentsOf(own), evaluation.SegmentsOf(doc.Default)...)
}

// flagsOf are the flags that the rules ask for which an environment serves.
func flagsOf(item *workspace.Item, environment string) []string {
	if item == nil {
		return nil
	}
	own, _ := item.View.Own(environment)
	return append(evaluation.FlagsOf(own), evaluation.FlagsOf(item.View.Default)...)
}

// rulesOf are an environment's own rules and the default ones; none of no document.
func rulesOf(item *workspace.Item, environment string) (own, common *jsontree.Node) {
	if item == nil {
		return nil, nil
	}
	holder, _ := document.StoredScope(item.Tree, environment)
	return holder.Get("rules"), item.Tree.At("/default/rules")
}

func (c *Change) sameRules(a, b *workspace.Item, environment string) bool {
	if b != nil && slices.Contains(c.tried, b.Path) && comparesWithSecret(b, environment) {
		return false
	}
	ownA, commonA := rulesOf(a, environment)
	ownB, commonB := rulesOf(b, environment)
	return jsontree.Equal(ownA, ownB) && jsontree.Equal(commonA, commonB)
}

// comparesWithSecret reports whether a rule that an environment may follow compares with a
// confidential value. All others of what was tried are masked.
func comparesWithSecret(item *workspace.Item, environment string) (found bool) {
	document.EachSecret(item.Tree, func(_ *jsontree.Node, pointer string) {
		place, at, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if place == "environments" {
			index, _, _ := strings.Cut(at, "/")
			id, _ := item.Tree.At("/environments/" + index + "/id").Text()
			found = found || id == environment && strings.HasSuffix(at, "/valueToMatch")
		} else {
			found = found || strings.HasSuffix(at, "/valueToMatch")
		}
	})
	return found
}

func isServed(item *workspace.Item) bool {
	return item != nil && (item.View.Type == document.Flag || item.View.Type == document.Config)
}

func isSegment(item *workspace.Item) bool {
	return item != nil && item.View.Type == document.Segment
}
