package change

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/manifest"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// ManifestFlag is the body of a request to create or to change a flag of the manifest.
type ManifestFlag struct {
	Request
	Key  string
	Type string
	// Name is nil where it is left out: a change leaves it as it is then, because the
	// CLI knows of none. A description that is left out is none: the CLI leaves out an
	// empty one.
	Name         *string
	Description  string
	DefaultValue *jsontree.Node // nil when the body has none; null is a value
}

// ManifestResult is the answer to such a request.
type ManifestResult struct {
	Flag      *manifest.Flag `json:"flag"`
	UpdatedAt string         `json:"updatedAt"`
}

// CreateManifestFlag creates a flag whose default rules serve the default value.
func (s *Writer) CreateManifestFlag(ctx context.Context, f ManifestFlag) (*ManifestResult, error) {
	tree, err := f.document(s.service.settings.SchemaAddress)
	w := creates(document.Flag, f.Request, f.Key, tree, err)
	var made *manifest.Flag
	w.edit = func(a *attempt) (*edit.Edited, error) {
		var err error
		made, err = a.inManifest(ctx, a.base)
		return &edit.Edited{Tree: a.base, Changed: true}, err
	}
	return carryOutOne(ctx, s, f.Request, w, func(out *outcome) *ManifestResult {
		return &ManifestResult{made, project.Date(out.result.when)}
	})
}

// document is that of a new flag.
func (f ManifestFlag) document(schema string) (*jsontree.Node, error) {
	issues := f.issues()
	valueType := manifest.Type(f.Type).ValueType()
	if problem := document.KeyProblem(f.Key); problem != "" {
		issues = append(issues, document.Issue{Pointer: "/key", Message: problem})
	}
	if _, problem := edit.TypedValue(valueType, f.DefaultValue); problem != "" && valueType != "" && !isNull(f.DefaultValue) {
		issues = append(issues, document.Issue{Pointer: "/defaultValue", Message: problem})
	}
	if len(issues) > 0 {
		return nil, &edit.RequestError{Issues: issues}
	}
	creation := edit.Creation{Key: f.Key, ValueType: string(valueType), Value: f.DefaultValue, Name: textOr(f.Name, ""), Description: f.Description, Schema: schema}
	if valueType != document.BoolValue {
		return edit.New(document.Flag, creation)
	}
	creation.Value = nil // it is created switched off
	tree, err := edit.New(document.Flag, creation)
	if err != nil {
		return nil, err
	}
	edited, err := edit.SetValue(tree, edit.Place{Scope: document.DefaultScope}, f.DefaultValue)
	if err != nil {
		return nil, err
	}
	return edited.Tree, nil
}

// issues are what is wrong with a request, whatever it is for.
func (f ManifestFlag) issues() []document.Issue {
	var issues []document.Issue
	if manifest.Type(f.Type).ValueType() == "" {
		issues = append(issues, document.Issue{Pointer: "/type", Message: "the type is one of boolean, string, integer and object; a flag of another type is created with POST /v1/flags"})
	}
	if isNull(f.DefaultValue) {
		issues = append(issues, document.Issue{Pointer: "/defaultValue", Message: "a default value is not null"})
	}
	return issues
}

// isNull reports whether a value is null, which the CLI takes for none.
func isNull(value *jsontree.Node) bool { return value != nil && value.Kind == jsontree.Null }

// ChangeManifestFlag changes what a manifest tells of a flag, and nothing else: a
// default value that the default rules serve already leaves them as they are, and
// another one becomes their fallback. It is applied to the flag as it is by then.
func (s *Writer) ChangeManifestFlag(ctx context.Context, key string, f ManifestFlag) (*ManifestResult, error) {
	issues := f.issues()
	if f.Key != key {
		issues = append(issues, document.Issue{Pointer: "/key", Message: fmt.Sprintf("the key must be %s, as the address says", terminal.Quote(key))})
	}
	var made *manifest.Flag
	w := write{
		t: document.Flag, key: key,
		issues: f.with(issues),
		edit: func(a *attempt) (*edit.Edited, error) {
			tree, err := f.change(ctx, a)
			if err == nil {
				made, err = a.inManifest(ctx, tree)
			}
			if err != nil || document.SameDocument(a.base, tree) {
				return &edit.Edited{Tree: a.base}, err
			}
			return &edit.Edited{Tree: tree, Changed: true}, nil
		},
	}
	return carryOutOne(ctx, s, f.Request, w, func(out *outcome) *ManifestResult {
		at := out.result.when
		if !out.attempt.changed() {
			at = out.attempt.file.Last.Author.When
		}
		return &ManifestResult{made, project.Date(at)}
	})
}

// change is the document as it is to be.
func (f ManifestFlag) change(ctx context.Context, a *attempt) (*jsontree.Node, error) {
	before, err := a.inManifest(ctx, a.base)
	if err != nil {
		return nil, err
	}
	if stored := document.View(a.base).ValueType; before == nil || string(before.Type) != f.Type {
		return nil, unchangeable("type", "the type of a flag cannot be changed: this one is %s, not %s", terminal.Quote(cmp.Or(string(manifest.TypeOf(stored)), string(stored))), terminal.Quote(f.Type))
	}
	tree := edit.SetDescription(a.base, f.Name, f.Description)
	if f.DefaultValue == nil {
		return tree, nil
	}
	if served, err := jsontree.Parse(before.DefaultValue); err != nil || jsontree.Equal(served, f.DefaultValue) {
		return tree, err
	}
	if fallback := document.StoredFallback(document.StoredRules(a.base.Get("default"))); fallback != nil && holdsSecret(fallback) {
		return nil, unchangeable("defaultValue", "the default rules serve a value that is confidential, encrypted or provided, which no manifest tells or replaces; change it with PATCH /v1/flags/%s/environments/default", a.write.key)
	}
	edited, err := edit.SetValue(tree, edit.Place{Scope: document.DefaultScope, Now: a.batch.now()}, f.DefaultValue)
	if issues := requestIssues(err); len(issues) > 0 {
		for i := range issues {
			issues[i].Pointer = strings.Replace(issues[i].Pointer, "/value", "/defaultValue", 1)
		}
		return nil, refusal.Malformed(issues...)
	}
	if err != nil {
		return nil, err
	}
	return edited.Tree, nil
}

// holdsSecret reports whether a rule serves a value that is told to nobody.
func holdsSecret(rule *jsontree.Node) bool {
	value := document.ReadRules([]*jsontree.Node{rule})[0].Value
	if value.Weighted == nil {
		return value.Secret()
	}
	return slices.ContainsFunc(value.Weighted.Arms, func(arm document.Arm) bool { return arm.Value.Secret() })
}

// unchangeable refuses what the flag does not allow as it is.
func unchangeable(field, format string, args ...any) error {
	f := fault.New(fault.Conflict, format, args...)
	return f.With(map[string]any{"issues": []document.Issue{{Pointer: "/" + field, Message: f.Message}}})
}

// inManifest is the flag that a document makes in a manifest, nil for none.
func (a *attempt) inManifest(ctx context.Context, tree *jsontree.Node) (*manifest.Flag, error) {
	if tree == nil {
		return nil, nil
	}
	view := document.View(tree)
	outline := manifest.Outline{Key: a.write.key, Name: view.Name, Description: view.Description, ValueType: view.ValueType}
	made, err := manifest.One(ctx, outline, document.Encode(tree), &workspace.Workspace{Items: a.batch.head.View.Workspace().Items}, a.batch.service.settings.Now())
	return made, repository.Fault(err)
}

// ManifestDeletion is the answer to the deletion of a flag.
type ManifestDeletion struct {
	Message    string `json:"message"`
	ArchivedAt string `json:"archivedAt"`
}

// DeleteManifestFlag deletes a flag, of whatever type.
func (s *Writer) DeleteManifestFlag(ctx context.Context, key string, r Request) (*ManifestDeletion, error) {
	return carryOutOne(ctx, s, r, deletion(document.Flag, key, Deletion{Request: r}), func(out *outcome) *ManifestDeletion {
		return &ManifestDeletion{
			Message: fmt.Sprintf("the flag %s was deleted by the commit %s; POST /v1/flags/%s/revert brings it back, with that commitSha and the mode undo",
				terminal.Quote(key), out.written.CommitSHA, key),
			ArchivedAt: project.Date(out.result.when),
		}
	})
}
