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
	named := len(c.Keys) > 0 || refusal.HasIssueAt(c.Malformed, "/keys")
	if tagged := c.Tag != nil && *c.Tag != "" || refusal.HasIssueAt(c.Malformed, "/tag"); named == tagged {
		issues = append(issues, document.Issue{Message: "send either keys, of one item or more, or a tag"})
	}
	seen := map[string]bool{}
	for i, key := range c.Keys[:min(len(c.Keys), MaxOperations)] {
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
	var parts []write
	if c.Tag == nil {
		for _, key := range c.Keys {
			t, found := b.typeOf(key)
			if !found {
				return nil, fault.New(fault.NotFound, "there is no flag, config or log level %s", terminal.Quote(key))
			}
			parts = append(parts, c.part(t, key))
		}
		return parts, nil
	}
	if err := b.chargeBytes(searchCharge); err != nil {
		return nil, err
	}
	paths, err := b.tagged(*c.Tag)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		folder, key, _ := workspace.SplitPath(path)
		t, _ := folder.Type()
		parts = append(parts, c.part(t, key))
	}
	if len(parts) == 0 {
		return nil, fault.New(fault.Unprocessable, "there is nothing to copy: no flag, config or log level has the tag %s", terminal.Quote(*c.Tag))
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
