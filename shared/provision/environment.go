package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// Read reads the workspace's documents.
func (w *Workspace) Read(ctx context.Context) (*workspace.Workspace, error) {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	ws, _ := workspace.Read(filesOf(s))
	return ws, nil
}

// EnvironmentEdit changes what the workspace file says of one environment. What
// is empty or nil stays as it is.
type EnvironmentEdit struct {
	Name                string
	Add                 bool
	Type                string
	Protected, Archived *bool
	// Position is its place among the environments of its type, from 1; 0 leaves it. They are
	// listed by type first.
	Position int
	// Review is what its changes need, with Reviewed; nil is nothing.
	Reviewed bool
	Review   *workspace.Review
}

// did ends the commit's message.
func (e EnvironmentEdit) did() string {
	say := func(is *bool, yes, no string) string {
		switch {
		case is == nil:
			return ""
		case *is:
			return yes
		}
		return no
	}
	switch {
	case e.Add:
		return "added"
	case e.Reviewed && e.Review == nil:
		return "no longer reviewed"
	case e.Reviewed:
		return "reviewed"
	}
	moved := ""
	if e.Position > 0 {
		moved = "moved"
	}
	return cmp.Or(say(e.Archived, "archived", "brought back"), say(e.Protected, "protected", "no longer protected"), moved, "changed")
}

// Refused is an edit that the workspace does not allow as it is, in words.
type Refused struct{ Message string }

func (r *Refused) Error() string { return r.Message }

func refused(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// ErrUnchanged: everything is so already, and nothing was written.
var ErrUnchanged = errors.New("this is so already; nothing was changed")

// EditEnvironment makes one commit that changes the workspace file. The head
// that it goes onto is read again as long as others are faster; after the first time it
// waits for its turn.
func (w *Workspace) EditEnvironment(ctx context.Context, e EnvironmentEdit, by repository.Signature) (commit string, err error) {
	turn := &repository.Turn{Now: time.Now()} // how long a row of the queue is kept, and no more
	defer turn.Leave(ctx)
	for range MaxTries {
		s, err := w.Snapshot(ctx)
		if err != nil {
			return "", err
		}
		text, err := e.apply(filesOf(s))
		if err != nil {
			return "", err
		}
		landed, err := w.Commit(ctx, s, repository.Draft{
			Changes: []repository.Change{{Path: workspace.File, Content: text}},
			Author:  by, Committer: repository.Committer(by.When), Message: "environment " + e.Name + " " + e.did() + "\n", Versions: w.Versions, Briefs: w.Briefs, Turn: turn,
		})
		if errors.Is(err, repository.ErrMoved) {
			continue
		}
		if err == nil && landed.Head == s.Head {
			return "", ErrUnchanged
		}
		if err != nil {
			return "", err
		}
		return landed.Head.Commit, nil
	}
	return "", repository.ErrBusy
}

// MaxTries bounds how often an edit that can be made on any head starts over.
const MaxTries = 10

// apply returns the workspace file as it is to be.
func (e EnvironmentEdit) apply(files map[string][]byte) ([]byte, error) {
	ws, problems := workspace.Read(files)
	for _, p := range problems {
		if p.File == workspace.File {
			return nil, refused("the workspace file cannot be edited as it is: %s", p)
		}
	}
	tree := declaration(ws)
	list := tree.Get("environments")
	known, found := ws.Environment(e.Name)
	switch {
	case e.Add && found && !known.Archived:
		return nil, refused("there is an environment %q already", e.Name)
	case e.Add && found:
		return nil, refused("the environment %q is archived; bring it back with: environment unarchive %s", e.Name, e.Name)
	case !e.Add && !found:
		return nil, refused("there is no environment %q; the workspace has %s", e.Name, nameAll(ws))
	}
	if e.Type != "" {
		if problem := workspace.TypeProblem(e.Type); problem != "" {
			return nil, refused("%s", problem)
		}
	}
	if e.Add {
		if problem := workspace.SlugProblem(e.Name); problem != "" {
			return nil, refused("%s", problem)
		}
		if len(list.Items) >= workspace.MaxEnvironments {
			return nil, refused("the workspace has %d environments, archived ones included, and can have no more; remove one that nobody uses from %s", len(list.Items), workspace.File)
		}
		list.Items = append(list.Items, e.edited(jsontree.NewString(e.Name)))
		return tree.Encode(), nil
	}
	for i, entry := range list.Items {
		if nameOf(entry) == e.Name {
			list.Items[i] = e.edited(entry)
			break
		}
	}
	if e.Position > 0 {
		e.move(ws, list)
	}
	if e.Reviewed {
		workspace.SetReview(tree, e.Name, e.Review)
		if problem := workspace.ReviewProblem(tree); problem != "" {
			return nil, refused("%s", problem)
		}
	}
	return tree.Encode(), nil
}

// move gives each environment of the type its position.
func (e EnvironmentEdit) move(ws *workspace.Workspace, list *jsontree.Node) {
	known, _ := ws.Environment(e.Name)
	var names []string
	for _, other := range ws.Environments {
		if other.Type == known.Type && other.Name != e.Name {
			names = append(names, other.Name)
		}
	}
	names = slices.Insert(names, min(e.Position-1, len(names)), e.Name)
	for i, entry := range list.Items {
		if at := slices.Index(names, nameOf(entry)); at >= 0 {
			list.Items[i] = asObject(entry)
			list.Items[i].Set("position", jsontree.NewInt(int64(at+1)))
		}
	}
}

// asObject is an entry with members, of which a bare name has one.
func asObject(entry *jsontree.Node) *jsontree.Node {
	if _, bare := entry.Text(); bare {
		return jsontree.NewObject(jsontree.Field("name", entry))
	}
	return entry
}

func nameAll(ws *workspace.Workspace) string {
	var names []string
	for _, e := range ws.Environments {
		if e.Archived {
			names = append(names, e.Name+" (archived)")
		} else {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// declaration is the workspace file, or for a workspace without one a new one
// that declares what its documents name: else the first one that is added would
// make all others unknown.
func declaration(ws *workspace.Workspace) *jsontree.Node {
	if ws.Declared {
		return ws.Declaration.Tree.Clone()
	}
	list := jsontree.NewArray()
	for _, e := range ws.Environments {
		list.Items = append(list.Items, jsontree.NewString(e.Name))
	}
	tree := jsontree.NewObject(jsontree.Field("environments", list))
	if len(ws.Items) == 0 {
		workspace.GuardReferences(tree)
	}
	return tree
}

func nameOf(entry *jsontree.Node) string {
	if name, bare := entry.Text(); bare {
		return name
	}
	name, _ := entry.Get("name").Text()
	return name
}

// edited is an entry with the changes. A bare name stays one while it says all.
func (e EnvironmentEdit) edited(entry *jsontree.Node) *jsontree.Node {
	object := asObject(entry)
	if e.Type != "" {
		object.Delete("position") // which was among others
		object.Set("environmentType", jsontree.NewString(e.Type))
	}
	for name, value := range map[string]*bool{"protected": e.Protected, "archived": e.Archived} {
		if was, _ := object.Get(name).Bool(); value != nil && was != *value {
			object.Set(name, jsontree.NewBool(*value))
		}
	}
	if len(object.Members) == 1 {
		return entry
	}
	return object
}
