package pull

import (
	"maps"
	"slices"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// declare adds the environments that documents have entries for and that are
// not listed: the API leaves archived ones out, and svc verify wants them
// declared.
func declare(declaration *jsontree.Node, files map[string]file) {
	list := declaration.Get("environments")
	known := map[string]bool{}
	for _, e := range list.Items {
		name, _ := e.Get("name").Text()
		known[name] = true
	}
	archived := map[string]bool{}
	for path, f := range files {
		entries := f.tree.Get("environments")
		if t, _ := typeAt(path); path == workspace.File || t == workspace.SchemaType || entries == nil {
			continue
		}
		for _, e := range entries.Items {
			if name, ok := e.Get("id").Text(); ok && !known[name] && workspace.SlugProblem(name) == "" {
				archived[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(archived)) {
		list.Items = append(list.Items, jsontree.NewObject(
			jsontree.Field("name", jsontree.NewString(name)), jsontree.Field("archived", jsontree.NewBool(true))))
	}
}

// keepOthers takes over from the directory's workspace file what the API does
// not tell: its members beside environments.
func (p *Plan) keepOthers(declaration *jsontree.Node) {
	tree, err := jsontree.Parse(p.local.Files[workspace.File])
	if err != nil || tree.Kind != jsontree.Object {
		return
	}
	for _, m := range tree.Members {
		if m.Name != "environments" {
			declaration.Set(m.Name, m.Value)
		}
	}
}

// sameEnvironments reports whether two workspace files declare the same. That a
// file knows more archived ones is no difference.
func sameEnvironments(local, pulled *jsontree.Node) bool {
	a, okA := environments(local)
	b, okB := environments(pulled)
	for name, e := range a {
		if _, both := b[name]; e.Archived && !both {
			b[name] = e
		}
	}
	return okA && okB && maps.EqualFunc(a, b, func(x, y workspace.Environment) bool { return x == y || x.Archived && y.Archived })
}

func environments(tree *jsontree.Node) (byName map[string]workspace.Environment, ok bool) {
	ws, problems := workspace.Read(map[string][]byte{workspace.File: tree.Encode()})
	byName = map[string]workspace.Environment{}
	for _, e := range ws.Environments {
		byName[e.Name] = e
	}
	return byName, len(problems) == 0
}

func (p *Plan) findOnlyHere(files map[string]file) {
	for _, path := range slices.Sorted(maps.Keys(p.local.Files)) {
		_, there := files[path]
		_, pulled := p.last.Files[path]
		if isDocument(path) && !there && !pulled && !slices.Contains(p.Omitted, path) {
			p.OnlyHere = append(p.OnlyHere, path)
		}
	}
}
