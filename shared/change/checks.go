package change

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
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

// strictness orders tiers; one that is none is the strictest.
func strictness(tier access.Tier) int {
	known := []access.Tier{access.TierSupport, access.TierStandard, access.TierProtectedEnv, access.TierProtectedAllEnvs}
	if at := slices.Index(known, tier); at >= 0 {
		return at
	}
	return len(known)
}

// tierOf is the tier of a version of the item. A schema, a segment or a flag has the
// strictest of whatever names it, directly or through others: it decides what they serve.
func (a *attempt) tierOf(tree *jsontree.Node) access.Tier {
	var tiers []access.Tier
	if a.write.t != workspace.SchemaType { // which has none of its own
		tiers = append(tiers, tierOf(tree))
	}
	tiers = append(tiers, a.batch.tiersOver(a.path)...)
	if len(tiers) == 0 {
		return access.TierStandard
	}
	return slices.MaxFunc(tiers, func(x, y access.Tier) int { return strictness(x) - strictness(y) })
}

// tiersOver are the tiers of whatever names a schema, a segment or a flag, none of another
// item.
func (b *batch) tiersOver(shared string) []access.Tier {
	if !slices.Contains(b.shared, shared) {
		return nil
	}
	var tiers []access.Tier
	seen := map[string]bool{shared: true}
	for queue := []string{shared}; len(queue) > 0; queue = queue[1:] {
		for _, user := range b.usersOf(queue[0]) {
			if !seen[user] {
				seen[user] = true
				tier, _ := b.tierAt(user)
				tiers, queue = append(tiers, tier), append(queue, user)
			}
		}
	}
	return tiers
}

// touchesScope is what a PATCH of a scope needs. The first document of an item
// has default rules too.
func touchesScope(a *attempt) access.Write {
	scopes := []access.Scope{a.batch.head.View.Scopes().Scope(a.write.scope)}
	if a.creates() && a.write.scope != document.DefaultScope {
		scopes = append(scopes, a.batch.head.View.Scopes().Metadata())
	}
	return access.Edit(a.tierOf(a.base), scopes...)
}

// touchesDifference is what a new document needs: for all that differs, and for
// both tiers when the document moves. What comes or goes differs everywhere.
func touchesDifference(a *attempt) access.Write {
	before, after := a.before(), a.edited.Tree
	switch {
	case before == nil && after == nil:
		return access.Edit(access.TierStandard)
	case before == nil, a.write.t == workspace.SchemaType:
		return access.Edit(a.tierOf(after), a.batch.head.View.Scopes().Metadata())
	case after == nil:
		return access.Edit(a.tierOf(before), a.batch.head.View.Scopes().Metadata())
	}
	var scopes []access.Scope
	for _, name := range activity.TouchedScopes(before, after) {
		scopes = append(scopes, a.batch.head.View.Scopes().Scope(name))
	}
	return access.Move(a.tierOf(before), a.tierOf(after), scopes...)
}

// checkToken answers 409 for a token that names other content than what the item was before
// the batch. One that names a commit without the item holds as long as there was none.
func (a *attempt) checkToken(ctx context.Context) error {
	if a.write.token == nil || *a.write.token == a.last || *a.write.token == a.batch.head.Snapshot.Head.Commit {
		return nil
	}
	if !object.IsID(*a.write.token) {
		return a.unknownToken()
	}
	if since, err := a.untouchedSince(ctx, *a.write.token); since || err != nil {
		return err
	}
	_, seen, err := a.batch.state.Repository.At(ctx, a.batch.state.Head, a.path, *a.write.token)
	switch {
	case errors.Is(err, repository.ErrAbsent) && !a.existed:
		return nil
	case errors.Is(err, repository.ErrAbsent):
		return a.stale(nil, "the %s %s has been created since the commit in expectedCommitSha; read it and decide again")
	case errors.Is(err, repository.ErrUnknownCommit), errors.As(err, new(*workspace.Unread)):
		return a.unknownToken()
	case err != nil:
		return repository.Fault(err)
	}
	if a.batch.dryRun {
		seen = a.batch.mask(a.path, edit.Version{Text: seen, Tree: workspace.Decode(a.path, seen).Tree}, currentVersion).Text
	}
	if a.existed && a.file.Err == nil && bytes.Equal(seen, a.file.Text) {
		return nil
	}
	return a.stale(seen, "the %s %s has changed since the commit in expectedCommitSha; read it again and decide again")
}

// stale refuses a token at whose commit the item had another content, nil for none.
func (a *attempt) stale(content []byte, message string) *conflict {
	return &conflict{attempt: a, since: *a.write.token, content: content, fault: fault.New(fault.Conflict, message, a.write.t.Noun(), terminal.Quote(a.write.key)).
		With(map[string]any{"code": refusal.CodeStale, "currentCommitSha": a.last})}
}

// unknownToken refuses a token that names nothing.
func (a *attempt) unknownToken() error {
	return a.stale(nil, "expectedCommitSha names no commit that holds the %s %s; send the whole commitSha (40 hexadecimal digits) of a fresh read").fault
}

// untouchedSince reports whether the newest commits tell that nobody has touched the
// item since one of them. One who writes many items has their tokens of the same few
// commits, so these are looked up once for all.
func (a *attempt) untouchedSince(ctx context.Context, token string) (bool, error) {
	if a.batch.alone || !a.existed {
		return false, nil
	}
	if a.batch.sequences == nil {
		commits, err := a.batch.state.Repository.History(ctx, a.batch.head.Snapshot.Head, repository.Page{Limit: maxLookedThrough})
		if err != nil {
			return false, err
		}
		a.batch.sequences = map[string]int64{}
		for _, c := range commits {
			a.batch.sequences[c.SHA] = c.Sequence
		}
	}
	if sequence, known := a.batch.sequences[token]; known && a.file.Last.Sequence <= sequence {
		return true, nil
	}
	return false, a.batch.lookUp()
}

// checkKeyAvailable answers 409 for a key that is held where an item is to be created.
func (a *attempt) checkKeyAvailable(context.Context) error {
	if !a.creates() || a.problem == nil && a.edited.Tree == nil {
		return nil
	}
	t, held, found := a.batch.holder(a.write.t, a.write.key)
	if !found {
		return nil
	}
	among := "over flags, configs, segments and log levels"
	if t == workspace.SchemaType {
		among = "over schemas, and a schema that is there is replaced with expectedCommitSha"
	}
	return fault.New(fault.Conflict,
		"the key %s is held by the %s %s; keys are unique %s, whatever their case", terminal.Quote(a.write.key), t.Noun(), terminal.Quote(held), among).
		With(map[string]any{"code": refusal.CodeExists, "collidingType": string(t), "collidingKey": held})
}

// validate answers 400 for a document that is wrong by itself.
func (a *attempt) validate() error {
	tree := a.edited.Tree
	if tree == nil {
		return nil
	}
	if problem := edit.StorageProblem(tree); problem != "" {
		return refusal.Invalid(fault.BadRequest, refusal.CodeValidation, "the document would not be valid", []document.Issue{{Message: problem}})
	}
	if a.write.t == workspace.SchemaType {
		if err := a.batch.chargeBytes(schemaCharge); err != nil {
			return err
		}
		_, issues := document.CompileSchema(tree)
		return refusal.Invalid(fault.BadRequest, refusal.CodeValidation, "this is not a valid JSON Schema", issues)
	}
	find := func(tree *jsontree.Node) []document.Issue {
		return slices.Concat(document.Validate(tree), sameMember(tree, "", "key", a.write.key), sameMember(tree, "", "type", string(a.write.t)))
	}
	issues := find(tree)
	if before := a.before(); before != nil && !a.write.checkAll && len(issues) > 0 {
		issues = document.NewIssues(find(before), issues)
	}
	return refusal.Invalid(fault.BadRequest, refusal.CodeValidation, "the document would not be valid", issues)
}
