package httpapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Changes is change sets: many operations of the other groups as one commit.
func Changes() Group {
	return Group{"changes", map[string]handler{
		"applyChanges": func(ctx context.Context, c *call) (any, error) {
			set := change.ChangeSet{Request: c.write(), Message: text(c.body, "message")}
			var err error
			if set.Operations, err = c.operationsOf(c.body.Get("operations")); err != nil {
				return nil, err
			}
			return c.session.Changes().Change(ctx, set)
		},
	}}
}

// The operations whose bodies those of a change set have, by their types.
var (
	creations = map[document.Type]string{document.Flag: "createFlag", document.Config: "createConfig", document.Segment: "createSegment"}
	patches   = map[document.Type]string{document.Flag: "updateFlagEnvironment", document.Config: "updateConfigEnvironment", document.LogLevel: "updateLogLevel"}
)

// elsewhereInPatch are the fields of a PATCH's body that stand beside the body of an
// operation, or beside all of them.
var elsewhereInPatch = []string{"expectedCommitSha", "environment", guard}

// operationOf reads an operation of a change set. What is wrong with it goes along.
func (c *call) operationOf(tree *jsontree.Node) (change.Operation, error) {
	if tree.Kind != jsontree.Object {
		return change.NoOperation([]document.Issue{{Message: "an operation is an object, not " + tree.Kind.String()}}), nil
	}
	op := text(tree, "op")
	shape := c.description.changes[op]
	if shape == nil {
		return change.NoOperation([]document.Issue{{Pointer: "/op", Message: "op is one of " + join(slices.Sorted(maps.Keys(c.description.changes)))}}), nil
	}
	issues, err := shape.checkPart(tree)
	if err != nil {
		return change.Operation{}, err
	}
	switch op {
	case "pause", "resume":
		in := change.Selection{Malformed: issues, Keys: texts(tree, "keys"), Tag: optional(tree.Get("tag").Text())}
		return change.PauseMany(in, text(tree, "environment"), pausing(change.Request{}, tree, op == "resume")), nil
	case "fold":
		return change.FoldAll(issues, text(tree, "environment")), nil
	}
	if op == "copy" {
		return change.Copy(change.Copying{Malformed: issues, From: text(tree, "from"), To: text(tree, "to"), Keys: texts(tree, "keys"), Tag: optional(tree.Get("tag").Text()), ExpectedCommitSHA: token(tree)}), nil
	}
	t, key := document.Type(text(tree, "type")), text(tree, "key")
	if op == "revert" && len(issues) == 0 && tree.Get("type") == nil && tree.Get("key") == nil {
		return change.RevertCommit(reversion(change.Request{}, tree)), nil
	}
	missing := func(name, what string) {
		if !slices.ContainsFunc(issues, func(i document.Issue) bool { return i.Pointer == "/"+name }) {
			issues = append(issues, document.Issue{Pointer: "/" + name, Message: name + " is missing: " + what})
		}
	}
	if t == "" {
		missing("type", "the item's, such as feature_flag")
	}
	if key == "" && op != "create" {
		missing("key", "the item's")
	}
	body := tree.Get("body")
	if (op == "create" || op == "patch") && (body == nil || body.Kind != jsontree.Object) {
		missing("body", "an object, as the "+op+" of the one item has it")
	}
	if op == "patch" && t != document.LogLevel && text(tree, "environment") == "" {
		missing("environment", "its name, or default")
	}
	var r change.Request
	switch op {
	case "create":
		r.Malformed, err = c.bodyIssues(creations[t], body, guard)
	case "patch":
		r.Malformed, err = c.bodyIssues(patches[t], body, elsewhereInPatch...)
	}
	if err != nil {
		return change.Operation{}, err
	}
	misplaced := slices.ContainsFunc(r.Malformed, func(i document.Issue) bool {
		return slices.Contains(elsewhereInPatch, strings.TrimPrefix(i.Pointer, "/"))
	})
	if len(issues) > 0 || misplaced {
		for _, issue := range r.Malformed {
			issue.Pointer = "/body" + issue.Pointer
			issues = append(issues, issue)
		}
		return change.NoOperation(jsontree.Bounded(issues)), nil
	}
	switch op {
	case "create":
		return change.Create(creation(t, r, body)), nil
	case "patch":
		environment := optional(tree.Get("environment").Text())
		if t == document.LogLevel {
			return change.PatchLevel(key, levelPatch(r, body, environment, token(tree))), nil
		}
		return change.Patch(t, key, *environment, valuePatch(r, body, token(tree))), nil
	case "put":
		return change.Put(t, key, documentPut(r, tree)), nil
	case "delete":
		return change.Delete(t, key, change.Deletion{ExpectedCommitSHA: token(tree)}), nil
	}
	return change.Revert(t, key, reversion(r, tree)), nil
}

// bodyIssues are what is wrong with the shape of a body, which is that of another
// operation of the API without some of its fields.
func (c *call) bodyIssues(operation string, tree *jsontree.Node, without ...string) ([]document.Issue, error) {
	if operation == "" || tree == nil || tree.Kind != jsontree.Object {
		return nil, nil // which is wrong already, or has no body
	}
	shape := *c.description.operations[operation].body
	shape.fields = slices.DeleteFunc(slices.Clone(shape.fields), func(name string) bool { return slices.Contains(without, name) })
	issues, err := shape.checkPart(tree)
	return jsontree.Bounded(issues), err
}
