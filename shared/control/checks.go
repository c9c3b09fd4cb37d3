package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// unknownTier stands for a tier that cannot be read: the strictest.
const unknownTier access.Tier = "unknown"

// tierOf is a document's access tier. The decoded view takes anything but a
// string for a tier left out, which would open the document.
func tierOf(tree *jsontree.Node) access.Tier {
	if tree.Kind != jsontree.Object {
		return unknownTier
	}
	stored := tree.Get("access")
	if stored == nil || stored.Kind == jsontree.Null {
		return access.TierStandard
	}
	text, ok := stored.Text()
	if !ok {
		return unknownTier
	}
	return access.Tier(text)
}

// strictness is the order of the tiers.
var strictness = []access.Tier{access.TierSupport, access.TierStandard, access.TierProtectedEnv, access.TierProtectedAllEnvs, unknownTier}

// tierOf is the tier of a version of the item. A schema has the strictest of
// the configs that name it.
func (a *attempt) tierOf(tree *jsontree.Node) access.Tier {
	if a.t != Schema {
		return tierOf(tree)
	}
	strictest := -1
	for _, r := range workspace.References(a.view.ws, a.path) {
		config, _ := a.view.ws.Item(r.Type, r.Key)
		at := slices.Index(strictness, tierOf(config.Read().Tree))
		if at < 0 {
			return unknownTier
		}
		strictest = max(strictest, at)
	}
	if strictest < 0 {
		return access.TierStandard
	}
	return strictness[strictest]
}

// touchesScope is what a PATCH of a scope needs. The first document of an item
// has default rules too.
func touchesScope(a *attempt) access.Write {
	scopes := []access.Scope{a.view.scopes.Scope(a.scope)}
	if a.creates() && a.scope != document.DefaultScope {
		scopes = append(scopes, a.view.scopes.Metadata())
	}
	return access.Edit(tierOf(a.base), scopes...)
}

// touchesDifference is what a new document needs: for all that differs, and for
// both tiers when the document moves. What comes or goes differs everywhere.
func touchesDifference(a *attempt) access.Write {
	before, after := a.before(), a.edited.Tree
	switch {
	case before == nil && after == nil:
		return access.Edit(access.TierStandard)
	case before == nil, a.t == Schema:
		return access.Edit(a.tierOf(after), a.view.scopes.Metadata())
	case after == nil:
		return access.Edit(a.tierOf(before), a.view.scopes.Metadata())
	}
	names, _, _ := activity.TouchedScopes(before, after)
	var scopes []access.Scope
	for _, name := range names {
		scopes = append(scopes, a.view.scopes.Scope(name))
	}
	return access.Move(a.tierOf(before), a.tierOf(after), scopes...)
}

// compare answers 409: for a key that is held where an item is to be created,
// and for a token that names other content than what is stored.
func (a *attempt) compare(ctx context.Context) error {
	if err := a.holds(ctx); err != nil {
		return err
	}
	if a.creates() && (a.problem != nil || a.edited.Tree != nil) {
		return a.free()
	}
	return nil
}

// holds compares the token. One that names a commit without the item holds as
// long as there is none.
func (a *attempt) holds(ctx context.Context) error {
	if a.token == nil || *a.token == a.last || *a.token == a.snapshot.Head.Commit {
		return nil
	}
	if !fullSHA.MatchString(*a.token) {
		return &stale{a, nil}
	}
	_, seen, err := a.repo.At(ctx, a.entry.Head, a.path, *a.token)
	switch {
	case errors.Is(err, repository.ErrAbsent) && !a.exists:
		return nil
	case errors.Is(err, repository.ErrUnknownCommit), errors.Is(err, repository.ErrAbsent):
		return &stale{a, nil}
	case err != nil:
		return storageFault(err)
	case a.exists && bytes.Equal(seen, a.file.Text):
		return nil
	}
	return &stale{a, seen}
}

var fullSHA = regexp.MustCompile(`^[0-9a-f]{40}$`)

// free says that nothing holds the key.
func (a *attempt) free() error {
	t, held, found := a.view.holder(a.t, a.key)
	if !found {
		return nil
	}
	among := "over flags, configs, segments and log levels"
	if t == Schema {
		among = "over schemas, and a schema that is there is replaced with expectedCommitSha"
	}
	return fault.New(fault.Conflict,
		"the key %s is held by the %s %s; keys are unique %s, whatever their case", terminal.Quote(a.key), t.Noun(), terminal.Quote(held), among).
		With(map[string]any{"code": codeExists, "collidingType": string(t), "collidingKey": held})
}

// validate answers 400 for a document that is wrong by itself, or whose values
// break the schema that it is bound to.
func (a *attempt) validate(context.Context) error {
	if problem := edit.StorageProblem(a.edited.Tree); problem != "" {
		return invalid(fault.BadRequest, codeValidation, "the document would not be valid", []document.Issue{{Message: problem}})
	}
	if a.t == Schema {
		_, issues := document.CompileSchema(a.edited.Tree)
		return invalid(fault.BadRequest, codeValidation, "this would be no schema", issues)
	}
	find := func(tree *jsontree.Node) []document.Issue {
		return slices.Concat(document.Validate(tree), sameMember(tree, "", "key", a.key), sameMember(tree, "", "type", string(a.t)))
	}
	issues := a.fresh(find(a.edited.Tree), find)
	if err := invalid(fault.BadRequest, codeValidation, "the document would not be valid", issues); err != nil {
		return err
	}
	return a.fitSchema()
}

// verify answers 422 for a document that would break the workspace. What was
// broken before is nobody's fault now, but for a schema that is missing or cannot be used:
// under it no value is written, since nobody can say whether it fits.
func (a *attempt) verify(context.Context) error {
	if a.t == Schema {
		return a.verifyBound()
	}
	find := func(tree *jsontree.Node) []document.Issue { return workspace.VerifyItem(a.view.ws, a.item(tree)) }
	issues := find(a.edited.Tree)
	if before := a.before(); before != nil && before.Kind == jsontree.Object {
		issues = document.NewIssues(find(before), issues)
	}
	if a.setsValues() {
		for _, issue := range workspace.UnusableSchema(a.view.ws, a.item(a.edited.Tree)) {
			if !slices.Contains(issues, issue) {
				issues = append(issues, issue)
			}
		}
	}
	return invalid(fault.Unprocessable, codeVerify, "the workspace would not be sound", issues)
}

// setsValues says whether a write sets values, or binds those that are there to
// a schema: it changes more than the rest.
func (a *attempt) setsValues() bool {
	before := a.before()
	return before == nil || slices.ContainsFunc(
		[]string{"type", "valueType", "schemaKey", "default", "environments", "variants"},
		func(name string) bool { return !jsontree.Equal(before.Get(name), a.edited.Tree.Get(name)) })
}

// fresh are those issues of the new document that the write answers for; find
// finds those of the document before.
func (a *attempt) fresh(issues []document.Issue, find func(*jsontree.Node) []document.Issue) []document.Issue {
	if before := a.before(); before != nil && !a.checkAll && len(issues) > 0 {
		return document.NewIssues(find(before), issues)
	}
	return issues
}

// fitSchema holds a config's values against the schema of the config. The
// value that a PATCH sends is always its own fault, also where one that broke
// the schema in the same way stood before.
func (a *attempt) fitSchema() error {
	find := func(tree *jsontree.Node) []document.Issue { return workspace.SchemaIssues(a.view.ws, a.item(tree)) }
	all := find(a.edited.Tree)
	issues := a.fresh(all, find)
	if !a.checkAll && len(all) > 0 {
		written := a.fallbackPointer()
		for _, issue := range all {
			if strings.HasPrefix(issue.Pointer, written) && !slices.Contains(issues, issue) {
				issues = append(issues, issue)
			}
		}
	}
	if len(issues) == 0 {
		return nil
	}
	key := document.View(a.edited.Tree).SchemaKey
	return fault.New(fault.BadRequest, "the schema %s does not allow this%s", terminal.Quote(key), located(issues)).
		With(map[string]any{"code": codeSchema, "schemaKey": key, "violations": issues})
}

// fallbackPointer leads to the value that a PATCH has set.
func (a *attempt) fallbackPointer() string {
	scope := "/default"
	for i, e := range document.View(a.edited.Tree).Environments {
		if a.scope != document.DefaultScope && e.ID == a.scope {
			scope = fmt.Sprintf("/environments/%d", i)
			break
		}
	}
	return fmt.Sprintf("%s/rules/%d/value", scope, len(a.edited.Rules)-1)
}

// smallGrowth is how much a document may grow by a toggle or a rule.
const smallGrowth = 4 << 10

// fits answers 422 for a document that grows where all documents together have
// as many bytes as whoever serves them can hold. One that shrinks is always
// taken, and the last eighth is kept for small changes of what is there: a full
// workspace must not keep a flag from being switched off.
func (a *attempt) fits(context.Context) error {
	most := int64(repository.MaxTexts)
	if set := a.service.settings.MaxTexts; set > 0 {
		most = min(most, set)
	}
	text, total := int64(len(a.text())), int64(0)
	growth := text
	if a.exists {
		growth -= int64(len(a.file.Text))
	}
	if growth <= 0 {
		return nil
	}
	if !a.exists || growth > smallGrowth {
		most -= most / 8
	}
	for _, f := range a.snapshot.Files {
		if f.Path != a.path {
			total += int64(len(f.Text))
		}
	}
	if total+text <= most {
		return nil
	}
	return invalid(fault.Unprocessable, codeVerify, "the workspace is full", []document.Issue{{Message: fmt.Sprintf(
		"its documents would have %d bytes together with this one, and %d are the most that is served: make others smaller, or this one", total+text, most)}})
}

// fitsExpressions answers 422 for a document that brings in regular expressions
// where all documents together have as many as are served.
func (a *attempt) fitsExpressions(context.Context) error {
	if a.t == Schema {
		return nil
	}
	of := func(tree *jsontree.Node) expression.Set {
		item := a.item(tree)
		_, expressions := workspace.Unservable(&item)
		return expressions
	}
	set := of(a.edited.Tree)
	if before := a.before(); set.IsEmpty() || before != nil && before.Kind == jsontree.Object && set.Within(of(before)) {
		return nil
	}
	total, _ := a.view.expressions(a.path)
	if err := total.Add(set); err != nil {
		return invalid(fault.Unprocessable, codeVerify, "the workspace is full", []document.Issue{{Message: err.Error()}})
	}
	return nil
}
