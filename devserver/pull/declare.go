package pull

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// trees are all documents of the workspace, those that were not read again
// from the directory.
func (p *Plan) trees(files map[string]file) (map[string]*jsontree.Node, error) {
	trees := map[string]*jsontree.Node{}
	for path, f := range files {
		if path == workspace.File {
			continue
		}
		trees[path] = f.tree
		if f.tree != nil {
			continue
		}
		local, err := p.in.read(path)
		if err == nil {
			trees[path], err = jsontree.Parse(local)
		}
		if err != nil {
			return nil, err
		}
	}
	return trees, nil
}

// declare adds the environments that documents have entries for and that are
// not listed: the API leaves archived ones out, and svc verify wants them
// declared.
func declare(declaration *jsontree.Node, trees map[string]*jsontree.Node) {
	list := declaration.Get("environments")
	known := map[string]bool{}
	for _, e := range list.Items {
		name, _ := e.Get("name").Text()
		known[name] = true
	}
	archived := map[string]bool{}
	for _, tree := range trees {
		entries := tree.Get("environments")
		if entries == nil {
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
	local, err := p.in.read(workspace.File)
	if err != nil || local == nil {
		return // what cannot be read is looked at where files are compared
	}
	tree, err := jsontree.Parse(local)
	if err != nil || tree.Kind != jsontree.Object {
		return
	}
	for _, m := range tree.Members {
		if m.Name != "environments" {
			declaration.Set(m.Name, m.Value)
		}
	}
}

// sameEnvironments says whether two workspace files declare the same. That a
// file knows more archived ones is no difference.
func sameEnvironments(local, pulled *jsontree.Node) bool {
	a, okA := environments(local)
	b, okB := environments(pulled)
	if !okA || !okB {
		return false
	}
	for _, e := range a {
		if e.Archived && !slices.ContainsFunc(b, func(other workspace.Environment) bool { return other.Name == e.Name }) {
			b = append(b, e)
		}
	}
	sortByName(b)
	return slices.EqualFunc(a, b, func(x, y workspace.Environment) bool {
		return x == y || x.Name == y.Name && x.Archived && y.Archived
	})
}

func environments(tree *jsontree.Node) ([]workspace.Environment, bool) {
	ws, problems := workspace.Read(map[string][]byte{workspace.File: tree.Encode()})
	list := slices.Clone(ws.Environments)
	sortByName(list)
	return list, len(problems) == 0
}

func sortByName(list []workspace.Environment) {
	slices.SortFunc(list, func(a, b workspace.Environment) int { return cmp.Compare(a.Name, b.Name) })
}

func (p *Plan) findOnlyHere(files map[string]file, last state) {
	for _, folder := range workspace.Folders {
		if _, documents := folder.Type(); !documents {
			continue
		}
		names := p.in.names(string(folder))
		slices.Sort(names)
		for _, name := range names {
			path := string(folder) + "/" + name
			_, there := files[path]
			_, pulled := last.Files[path]
			if _, _, document := workspace.SplitPath(path); document && !there && !pulled {
				p.OnlyHere = append(p.OnlyHere, path)
			}
		}
	}
}

func (p *Plan) findSchemas(trees map[string]*jsontree.Node) {
	missing := map[string]bool{}
	for _, tree := range trees {
		key, ok := tree.Get("schemaKey").Text()
		if !ok || key == "" || strings.ContainsAny(key, `/\`) {
			continue
		}
		if !p.in.exists("schemas/" + key + ".json") {
			missing[key] = true
		}
	}
	p.Schemas = slices.Sorted(maps.Keys(missing))
}
