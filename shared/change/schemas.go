package change

import (
	"fmt"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// putSchema replaces a schema, or creates one where the request has no token. In a
// change set it also creates one where the token's commit has none, and nobody has
// made one since.
func putSchema(key string, p DocumentPut) write {
	w := write{
		t: workspace.SchemaType, key: key,
		issues: p.with(p.issues(workspace.SchemaType, key)),
		token:  p.ExpectedCommitSHA,
		edit: func(a *attempt) (*edit.Edited, error) {
			if !a.creates() && jsontree.Equal(a.base, p.Document) {
				return &edit.Edited{Tree: a.base}, nil
			}
			return &edit.Edited{Tree: p.Document, Changed: true}, nil
		},
		acceptsInvalid: true,
		checkAll:       true,
	}
	problem := document.KeyProblem(key)
	if problem != "" && p.ExpectedCommitSHA == nil {
		w.issues = append(w.issues, document.Issue{Pointer: "/key", Message: problem})
	}
	if p.ExpectedCommitSHA == nil || p.anyVersion && problem == "" {
		w.first, w.onlyFirst = func() (*jsontree.Node, error) { return p.Document, nil }, !p.anyVersion
	}
	return w
}

// verifyBound answers 422 for a schema that values break which kept to it before.
// Configs that the batch writes are held against it by themselves. Confidential values
// are not: trying schemas out would reveal them, character by character.
func (a *attempt) verifyBound(bound []workspace.Reference) error {
	var issues []document.Issue
	unheld := 0
	for _, r := range bound {
		stored, _ := a.batch.after.Item(r.Type, r.Key)
		config := stored.Read()
		if w := a.batch.byPath[workspace.Path(r.Type, r.Key)]; w != nil {
			unheld += workspace.Unheld(config, w.written(config.Tree))
			continue
		}
		unheld += workspace.Unheld(config, nowhere)
		found := workspace.SchemaIssues(a.batch.after, *config, &a.batch.checked, nowhere)
		if len(found) > 0 {
			found = document.NewIssues(workspace.SchemaIssues(a.batch.head.View.Workspace(), *config, &a.batch.checked, nowhere), found)
		}
		if a.batch.checked.Exceeded() {
			return tooManySteps()
		}
		for _, issue := range found {
			issues = append(issues, document.Issue{Message: fmt.Sprintf("the config %s, at %s: %s", terminal.Quote(r.Key), issue.Pointer, issue.Message)})
		}
	}
	if unheld > 0 {
		a.warnings = append(a.warnings, document.Issue{Message: fmt.Sprintf(
			"this was not compared with the %d confidential values of the configs that name it; svc verify does", unheld)})
	}
	return refusal.Invalid(fault.Unprocessable, refusal.CodeVerify, "values that are stored would break the schema", issues)
}
