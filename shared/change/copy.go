package change

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// Copying gives an environment the rules that another has: of the items of these
// keys, or of all that have a tag.
type Copying struct {
	Malformed []document.Issue // see Request
	From, To  string
	Keys      []string
	Tag       *string
	// ExpectedCommitSHA is compared with each of the items.
	ExpectedCommitSHA *string
}

// Copy copies the rules of an environment.
func Copy(c Copying) Operation {
	return Operation{write: func(*Service) write {
		return write{issues: Request{Malformed: c.Malformed}.with(c.issues()), parts: c.parts}
	}}
}

func (c Copying) issues() []document.Issue {
	issues := tokenIssues(c.ExpectedCommitSHA)
	for _, field := range []struct{ name, environment string }{{"from", c.From}, {"to", c.To}} {
		if field.environment == "" || field.environment == document.DefaultScope {
			issues = append(issues, document.Issue{Pointer: "/" + field.name, Message: field.name + " is the name of an environment; GET /environments lists them"})
		}
	}
	if c.From == c.To && c.From != "" {
		issues = append(issues, document.Issue{Pointer: "/to", Message: "to is another environment than from"})
	}
	return append(issues, selectionIssues(c.Malformed, c.Keys, c.Tag)...)
}

// selectionIssues are what is wrong with how an operation names its items.
func selectionIssues(malformed []document.Issue, keys []string, tag *string) (issues []document.Issue) {
	named := len(keys) > 0 || refusal.HasIssueAt(malformed, "/keys")
	if tagged := tag != nil && *tag != "" || refusal.HasIssueAt(malformed, "/tag"); named == tagged {
		issues = append(issues, document.Issue{Message: "send either keys, of one item or more, or a tag"})
	}
	seen := map[string]bool{}
	for i, key := range keys[:min(len(keys), MaxOperations)] {
		if seen[key] {
			issues = append(issues, document.Issue{Pointer: fmt.Sprintf("/keys/%d", i), Message: terminal.Quote(key) + " stands twice"})
		}
		seen[key] = true
	}
	return issues
}

// environmental are the types whose documents have rules of environments.
var environmental = []document.Type{document.Flag, document.Config, document.LogLevel}

// parts are the writes of single items.
func (c Copying) parts(_ context.Context, b *batch) ([]write, error) {
	for _, environment := range []string{c.From, c.To} {
		if err := b.knowsEnvironment(environment); err != nil {
			return nil, err
		}
	}
	return b.selected(c.Keys, c.Tag, environmental, "copy", c.part)
}

// selected are the writes of those items of some types that have these keys or, where it
// is not nil, this tag.
func (b *batch) selected(keys []string, tag *string, of []document.Type, verb string, part func(t document.Type, key string) write) (parts []write, err error) {
	nouns := "flag or config"
	if slices.Contains(of, document.LogLevel) {
		nouns = "flag, config or log level"
	}
	if tag == nil {
		for _, key := range keys {
			t, found := b.typeOf(key)
			if !found || !slices.Contains(of, t) {
				return nil, fault.New(fault.NotFound, "there is no %s %s", nouns, terminal.Quote(key))
			}
			parts = append(parts, part(t, key))
		}
		return parts, nil
	}
	if err := b.chargeBytes(searchCharge); err != nil {
		return nil, err
	}
	paths, err := b.tagged(*tag)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		folder, key, _ := workspace.SplitPath(path)
		if t, _ := folder.Type(); slices.Contains(of, t) {
			parts = append(parts, part(t, key))
		}
	}
	if len(parts) == 0 {
		return nil, fault.New(fault.Unprocessable, "there is nothing to %s: no %s has the tag %s", verb, nouns, terminal.Quote(*tag))
	}
	return parts, nil
}

func (c Copying) part(t document.Type, key string) write {
	w := patches(c.To, write{t: t, key: key, token: c.ExpectedCommitSHA, edit: func(a *attempt) (*edit.Edited, error) { return edit.CopyScope(a.base, c.From, c.To) }})
	w.copies = true
	return w
}

// typeOf is the type of the document that has rules of environments under a key.
func (b *batch) typeOf(key string) (document.Type, bool) {
	for _, t := range environmental {
		path := workspace.Path(t, key)
		if _, stored := b.head.Snapshot.File(path); b.byPath[path] != nil && !b.byPath[path].gone || b.byPath[path] == nil && stored {
			return t, true
		}
	}
	return "", false
}

// tagged are the paths of those documents that have a tag, as the batch has them by
// now, in their order. Those of the workspace are as lists have them.
func (b *batch) tagged(tag string) ([]string, error) {
	var paths []string
	stored := func(t document.Type, key string, tags []string) {
		if path := workspace.Path(t, key); b.byPath[path] == nil && slices.Contains(tags, tag) {
			paths = append(paths, path)
		}
	}
	for _, row := range b.head.View.Flags() {
		stored(document.Flag, row.Key, row.Tags)
	}
	for _, row := range b.head.View.Configs() {
		stored(document.Config, row.Key, row.Tags)
	}
	for _, row := range b.head.View.LogLevels() {
		stored(document.LogLevel, row.Key, row.Tags)
	}
	for path, a := range b.byPath {
		if a.gone || !slices.Contains(environmental, a.write.t) {
			continue
		}
		if err := b.chargeBytes(len(a.text())); err != nil {
			return nil, err
		}
		if d := workspace.Decode(path, a.text()); d.Item != nil && slices.Contains(d.Item.View.Tags, tag) {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, strings.Compare)
	return paths, nil
}
