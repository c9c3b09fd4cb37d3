package change

import (
	"fmt"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// check asks what the workspace says to what a batch leads to. What is wrong is
// the fault of the last operation on the item where it stands.
func (b *batch) check() {
	if len(b.plan.final) == 0 {
		return
	}
	b.after = b.head.View.Workspace()
	if len(b.plan.final) > 1 || b.plan.final[0].write.t == workspace.SchemaType {
		b.after = b.workspace()
	}
	verify := workspace.NewVerification(b.after)
	if len(b.plan.final) > 1 {
		verify.Together()
	}
	var named []string // by others, maybe
	for _, a := range b.plan.final {
		if a.gone || a.write.t == workspace.SchemaType || a.write.t == document.Flag && b.after.Prerequisites() {
			named = append(named, a.path)
		}
	}
	references := workspace.References(b.after, named...)
	for _, a := range b.plan.final {
		var err error
		switch {
		case a.gone:
			err = a.unreferenced(references[a.path])
		case a.write.t == workspace.SchemaType:
			err = a.verifyBound(references[a.path])
		default:
			if err = a.verify(verify); err == nil {
				err = a.verifyAsked(references[a.path])
			}
		}
		if err != nil {
			b.plan.refuseItem(a, err)
		}
	}
	b.fits()
	b.fitsExpressions()
}

// verifyAsked notes who asks what a flag serves, and answers 422 for another type of its
// values.
func (a *attempt) verifyAsked(found []workspace.Reference) error {
	if len(found) == 0 {
		return nil
	}
	var names []string
	for _, r := range found {
		if name := r.Type.Noun() + " " + terminal.Quote(r.Key); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 10
	words := strings.Join(names[:min(len(names), most)], ", the ")
	if more := len(names) - most; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	if before := a.original(); before != nil && !jsontree.Equal(before.Get("valueType"), a.tree().Get("valueType")) {
		return refusal.Invalid(fault.Unprocessable, refusal.CodeVerify, "verification failed", []document.Issue{{Code: problem.PrerequisiteValue, Pointer: "/valueType",
			Message: "others compare the values of this flag, whose type cannot change meanwhile: the " + words}})
	}
	for _, r := range found[:min(len(found), maxReferences)] {
		a.dependents = append(a.dependents, reference(r))
	}
	a.warnings = append(a.warnings, document.Issue{Code: problem.Prerequisite, Message: "others ask what this flag serves, and change with it: the " + words})
	return nil
}

// workspace is the workspace as it would be after the batch.
func (b *batch) workspace() *workspace.Workspace {
	after := *b.head.View.Workspace()
	after.Items = slices.DeleteFunc(slices.Clone(after.Items), func(i workspace.Stored) bool { return b.byPath[i.Path] != nil })
	after.Schemas = slices.DeleteFunc(slices.Clone(after.Schemas), func(s workspace.Schema) bool { return b.byPath[s.Path] != nil })
	for path, a := range b.byPath {
		switch {
		case a.gone:
		case a.write.t == workspace.SchemaType:
			after.Schemas = append(after.Schemas, workspace.Decode(path, a.text()).Part.Schemas...)
		default:
			after.Items = append(after.Items, workspace.Stored{Path: path, Key: a.write.key, Text: a.text()})
		}
	}
	slices.SortStableFunc(after.Items, func(x, y workspace.Stored) int { return strings.Compare(x.Path, y.Path) })
	slices.SortStableFunc(after.Schemas, func(x, y workspace.Schema) int { return strings.Compare(x.Path, y.Path) })
	return &after
}

// verify answers 400 for values that break the schema that they are bound to, and
// 422 for a document that would break the workspace. What was broken before is
// nobody's fault now, but for a schema that cannot be used: under it no value is
// written, since nobody can say whether it fits. One that is missing is a warning.
func (a *attempt) verify(verification *workspace.Verification) error {
	tree, before := a.tree(), a.original()
	if before != nil && before.Kind != jsontree.Object {
		before = nil
	}
	item := a.item(tree)
	if err := a.fitSchema(item, before); err != nil {
		return err
	}
	issues := verification.Of(item)
	if before != nil && len(issues) > 0 {
		issues = document.NewIssues(workspace.NewVerification(a.batch.head.View.Workspace()).Of(a.item(before)), issues)
	}
	if setsValues(before, tree) {
		for _, issue := range workspace.UnusableSchema(a.batch.after, item) {
			switch {
			case slices.Contains(issues, issue):
			case issue.Code == problem.UnknownSchema:
				a.warnings = append(a.warnings, issue)
			default:
				issues = append(issues, issue)
			}
		}
	}
	return refusal.Invalid(fault.Unprocessable, refusal.CodeVerify, "verification failed", issues)
}

// setsValues reports whether a write sets values, or binds those that are there to
// a schema: it changes more than the rest.
func setsValues(before, after *jsontree.Node) bool {
	return before == nil || slices.ContainsFunc(
		[]string{"type", "valueType", "schemaKey", "default", "environments", "variants"},
		func(name string) bool { return !jsontree.Equal(before.Get(name), after.Get(name)) })
}

// fitSchema holds a config's values against the schema of the config. The
// value that a PATCH sends is always its own fault, also where one that broke
// the schema in the same way stood before.
func (a *attempt) fitSchema(item workspace.Item, before *jsontree.Node) error {
	written := a.written(item.Tree)
	all := workspace.SchemaIssues(a.batch.after, item, &a.batch.checked, written)
	issues := all
	if before != nil && !a.strict && len(all) > 0 {
		issues = document.NewIssues(workspace.SchemaIssues(a.batch.head.View.Workspace(), a.item(before), &a.batch.checked, nowhere), all)
		for _, scope := range a.scopes {
			written := fallbackPointer(item.Tree, scope)
			for _, issue := range all {
				if strings.HasPrefix(issue.Pointer, written) && !slices.Contains(issues, issue) {
					issues = append(issues, issue)
				}
			}
		}
	}
	if a.batch.checked.Exceeded() {
		return tooManySteps()
	}
	if len(issues) == 0 {
		return nil
	}
	key := item.View.SchemaKey
	return fault.New(fault.BadRequest, "the schema %s does not allow this%s", terminal.Quote(key), refusal.Located(issues)).
		With(map[string]any{"code": refusal.CodeSchema, "schemaKey": key, "violations": issues})
}

// tooManySteps refuses what could not be held against schemas to the end.
func tooManySteps() error {
	return refusal.Invalid(fault.Unprocessable, refusal.CodeVerify, "the values cannot be checked", []document.Issue{{Message: fmt.Sprintf(
		"all that have to be held against schemas take more than %d steps together: make the schema simpler, or bind fewer and smaller configs to it", document.MaxAllSteps)}})
}

// smallGrowth is how much documents may grow by a toggle or a rule.
const smallGrowth = 4 << 10

// fits answers 422 for documents that grow where all documents together have as
// many bytes as a server of them can hold. What shrinks is always taken, and
// the last eighth is kept for small changes of what is there: a full workspace
// must not keep a flag from being switched off.
func (b *batch) fits() {
	most := int64(repository.MaxTexts)
	if set := b.service.settings.MaxTexts; set > 0 {
		most = min(most, set)
	}
	growth, created := int64(0), false
	for _, a := range b.plan.final {
		growth += a.growth()
		created = created || !a.existed
	}
	if growth <= 0 {
		return
	}
	if created || growth > smallGrowth {
		most -= most / 8
	}
	total := int64(0)
	for _, f := range b.head.Snapshot.Files {
		total += int64(len(f.Text))
	}
	if total+growth <= most {
		return
	}
	for _, a := range b.plan.final {
		if total += a.growth(); a.growth() > 0 && total > most {
			b.plan.refuse(a.index, refusal.Invalid(fault.Unprocessable, refusal.CodeVerify, "the workspace is full", []document.Issue{{Message: fmt.Sprintf(
				"its documents would have %d bytes together with this one, and %d are the most that is served: make others smaller, or this one", total, most)}}))
			return
		}
	}
}

// growth is how many bytes the item has more than before the batch.
func (a *attempt) growth() int64 {
	grown := int64(len(a.text()))
	if a.existed {
		grown -= int64(len(a.file.Text))
	}
	return grown
}

// fitsExpressions answers 422 for documents that bring in regular expressions
// where all documents together have as many as are served.
func (b *batch) fitsExpressions() {
	var added []*attempt
	var sets []expression.Set
	var kept []expression.Set // of documents that bring in none
	for _, a := range b.plan.final {
		if a.write.t == workspace.SchemaType || a.gone {
			continue
		}
		of := func(tree *jsontree.Node) expression.Set {
			item := a.item(tree)
			_, expressions := workspace.Unservable(&item)
			return expressions
		}
		set := of(a.tree())
		if set.IsEmpty() {
			continue
		}
		if before := a.original(); before != nil && before.Kind == jsontree.Object && set.Within(of(before)) {
			kept = append(kept, set)
			continue
		}
		added, sets = append(added, a), append(sets, set)
	}
	if len(added) == 0 {
		return
	}
	total, _ := b.head.View.Expressions(func(path string) bool { return b.byPath[path] != nil })
	for _, set := range kept {
		_ = total.Add(set) // which stands already, full or not
	}
	for i, set := range sets {
		if err := total.Add(set); err != nil {
			b.plan.refuse(added[i].index, refusal.Invalid(fault.Unprocessable, refusal.CodeVerify, "the workspace is full", []document.Issue{{Message: err.Error()}}))
		}
	}
}
