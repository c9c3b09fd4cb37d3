package pull

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/git"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// PushOptions are how a push goes about it.
type PushOptions struct {
	// Only names the paths whose changes are pushed; nil is all.
	Only []string
	// Delete deletes in the workspace what was deleted here.
	Delete  bool
	Message string // of the commit
	Guard   string // that it names; "" for none
	DryRun  bool
}

// Push is what was changed here since the last pull, paths in order.
type Push struct {
	Changed, Added, Deleted []string
	// LeftAlone were deleted here, and stay in the workspace without Delete.
	LeftAlone []string
	// Declaration says that the workspace file was changed here, which is not pushed.
	Declaration bool
	// Overlooked are files that may have been meant to be documents.
	Overlooked []workspace.Problem

	api        *remote.Client
	dir        string
	options    PushOptions
	last       state
	files      map[string][]byte
	body       []byte
	operations []string                  // the path that each is about
	created    map[string]*jsontree.Node // documents that take an operation to be created, and one to be put
}

// Pushed is what came of a push.
type Pushed struct {
	CommitSHA string
	Items     []PushedItem // in the order of the change set
	Warnings  []workspace.Problem
}

// PushedItem is what changed of an item, in words.
type PushedItem struct {
	Path     string
	Changed  bool
	Messages []string
}

// Unverified says that svc verify refuses the directory.
type Unverified struct{ Problems []workspace.Problem }

func (u *Unverified) Error() string {
	return fmt.Sprintf("svc verify refuses the directory: %d problems", len(u.Problems))
}

// Refused says why the workspace takes nothing of a push.
type Refused struct {
	*remote.Refusal
	Problems []workspace.Problem // where in which file; none where the refusal names no place
}

func (r *Refused) Unwrap() error { return r.Refusal }

// NewPush compares a directory with what was pulled into it. It changes nothing.
func NewPush(ctx context.Context, api *remote.Client, dir string, o PushOptions) (*Push, error) {
	if _, err := git.Locate(dir); err != nil {
		return nil, err
	}
	p := &Push{api: api, dir: dir, options: o, Overlooked: datadir.Overlooked(dir)}
	var err error
	if p.last, err = readState(dir); err != nil {
		return nil, err
	}
	if p.last.WorkspaceID == "" {
		return nil, errors.New("nothing was pulled into the directory, so nobody can tell what was changed in it; svc pull first")
	}
	if p.last.foreign {
		return nil, errors.New("what " + StateName + " notes of the last pull was not written by you on this machine, so nobody can tell what was changed since; svc pull first")
	}
	state := datadir.Look(dir)
	p.files = state.Files
	_, problems := workspace.ReadAndVerify(p.files)
	wrong := slices.DeleteFunc(slices.Concat(state.Problems, problems, p.Overlooked), func(p workspace.Problem) bool { return p.Severity == workspace.Warning })
	if len(wrong) > 0 {
		return nil, &Unverified{wrong}
	}
	id, err := whose(ctx, api)
	if err != nil {
		return nil, err
	}
	if id != p.last.WorkspaceID {
		return nil, fmt.Errorf("the directory was pulled from the workspace %s, and the key is one of the workspace %s", p.last.WorkspaceID, id)
	}
	if err := p.compare(); err != nil {
		return nil, err
	}
	var unpullable []string
	for _, path := range p.Added {
		if _, key, ok := workspace.SplitPath(path); ok && workspace.FileNameProblem(key, system) != "" {
			unpullable = append(unpullable, fmt.Sprintf("%s: %s; give it another key", path, workspace.FileNameProblem(key, system)))
		}
	}
	if len(unpullable) > 0 {
		return nil, listed("nothing was pushed, as no pull could write these files:", unpullable)
	}
	return p, p.encode()
}

func (p *Push) compare() error {
	asked := func(path string) bool { return p.options.Only == nil || slices.Contains(p.options.Only, path) }
	for _, path := range slices.Sorted(maps.Keys(p.files)) {
		was, pulled := p.last.Files[path]
		switch {
		case pulled && was.SHA256 == sum(p.files[path]):
		case path == workspace.File:
			p.Declaration = true
		case !asked(path):
		case pulled:
			p.Changed = append(p.Changed, path)
		default:
			p.Added = append(p.Added, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.last.Files)) {
		_, there := p.files[path]
		switch {
		case there || !asked(path):
		case path == workspace.File:
			p.Declaration = true
		case p.options.Delete:
			p.Deleted = append(p.Deleted, path)
		default:
			p.LeftAlone = append(p.LeftAlone, path)
		}
	}
	for _, path := range p.options.Only {
		if !slices.Contains(slices.Concat(p.Changed, p.Added, p.Deleted, p.LeftAlone), path) {
			if path == workspace.File {
				return fmt.Errorf("%s is not pushed: environments are made where the workspace is run", path)
			}
			if _, pulled := p.last.Files[path]; !pulled && p.files[path] == nil {
				return fmt.Errorf("%s is no document of the directory", path)
			}
		}
	}
	return nil
}

// Nothing reports whether there is nothing to push.
func (p *Push) Nothing() bool { return len(p.operations) == 0 }

// operation is one of a change set.
type operation struct {
	Op       string         `json:"op"`
	Type     document.Type  `json:"type"`
	Key      string         `json:"key,omitempty"`
	Token    string         `json:"expectedCommitSha,omitempty"`
	Body     *jsontree.Node `json:"body,omitempty"`
	Document *jsontree.Node `json:"document,omitempty"`
}

// order is that of types: what others name comes first, and is deleted last.
var order = []document.Type{workspace.SchemaType, document.Segment, document.Config, document.Flag, document.LogLevel}

func byType(a, b string) int {
	of := func(path string) int { t, _ := typeAt(path); return slices.Index(order, t) }
	return cmp.Or(cmp.Compare(of(a), of(b)), strings.Compare(a, b))
}

// Bounds of a change set.
const (
	maxOperations = 2000
	maxBody       = 5 << 20 // bytes
)

// encode makes the change set.
func (p *Push) encode() error {
	var all []operation
	p.created = map[string]*jsontree.Node{}
	add := func(path string, o operation) {
		o.Type, o.Key = typeAt(path)
		if o.Op == "create" {
			o.Key = "" // it is in the body
		}
		all, p.operations = append(all, o), append(p.operations, path)
	}
	for _, path := range slices.SortedFunc(slices.Values(slices.Concat(p.Changed, p.Added)), byType) {
		tree, err := jsontree.Parse(p.files[path])
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		token := p.last.Files[path].CommitSHA
		if _, pulled := p.last.Files[path]; !pulled {
			first, refusesAnother := creation(path, tree)
			if !refusesAnother {
				// Nobody had made it when the directory was pulled: with the token of that
				// commit, the put refuses one that somebody has made since.
				token = p.last.CommitSHA
			}
			if t, _ := typeAt(path); t != workspace.SchemaType {
				p.created[path] = tree
			}
			add(path, first)
		}
		add(path, operation{Op: "put", Token: token, Document: tree})
	}
	for _, path := range slices.Backward(slices.SortedFunc(slices.Values(p.Deleted), byType)) {
		add(path, operation{Op: "delete", Token: p.last.Files[path].CommitSHA})
	}
	if len(all) == 0 {
		return nil
	}
	var err error
	p.body, err = json.Marshal(struct {
		Message    string      `json:"message,omitempty"`
		Guard      string      `json:"guard,omitempty"`
		Operations []operation `json:"operations"`
	}{p.options.Message, p.options.Guard, all})
	if err == nil && (len(all) > maxOperations || len(p.body) > maxBody) {
		err = fmt.Errorf("the push has %d operations and %d bytes, and a change set may have %d and %d; name files to push fewer at a time (schemas and segments first), or git push the directory's files into the workspace's repository",
			len(all), len(p.body), maxOperations, maxBody)
	}
	return err
}

// creation makes the item that a put replaces after it, and reports whether it refuses one
// that is there already: what a schema or a log level is first made with takes either.
func creation(path string, tree *jsontree.Node) (first operation, refusesAnother bool) {
	t, key := typeAt(path)
	named := jsontree.Field("key", jsontree.NewString(key))
	text, _ := tree.Get("valueType").Text()
	valueType := jsontree.NewString(text)
	switch served := served(tree, document.ValueType(text).Canonical()); t {
	case document.Flag:
		body := jsontree.NewObject(named, jsontree.Field("type", valueType))
		if served.Kind != jsontree.Bool || document.ValueType(text).Canonical() == document.JSONValue {
			body.Set("value", served)
		}
		return operation{Op: "create", Body: body}, true
	case document.Config:
		return operation{Op: "create", Body: jsontree.NewObject(named, jsontree.Field("valueType", valueType), jsontree.Field("value", served))}, true
	case document.Segment:
		return operation{Op: "create", Body: jsontree.NewObject(named)}, true
	case document.LogLevel:
		return operation{Op: "patch", Body: jsontree.NewObject(jsontree.Field("level", served))}, false
	}
	return operation{Op: "put", Document: tree}, false
}

// served is what a document serves to everybody else or, where that is no plain
// value, any value of its type.
func served(tree *jsontree.Node, t document.ValueType) *jsontree.Node {
	value := cmp.Or(plain[t], jsontree.NewString(""))
	rules := tree.Get("default").Get("rules").Elements()
	if len(rules) == 0 {
		return value
	}
	fallback := rules[len(rules)-1].Get("value")
	typed, _ := fallback.Get("type").Text()
	content := fallback.Get("value")
	if content == nil || document.ValueType(typed).Canonical() != t || len(fallback.Members) != 2 || content.Kind != value.Kind && t != document.JSONValue {
		return value
	}
	return content
}

// plain is a value of each type; a string is "".
var plain = map[document.ValueType]*jsontree.Node{
	document.BoolValue: jsontree.NewBool(false), document.IntValue: jsontree.NewInt(0), document.DoubleValue: jsontree.NewInt(0),
	document.StringListValue: jsontree.NewArray(), document.JSONValue: jsontree.NewObject(),
	document.DurationValue: jsontree.NewString("PT0S"), document.LogLevelValue: jsontree.NewString("INFO"),
}

// Send sends what was changed, and remembers what came of it.
func (p *Push) Send(ctx context.Context) (*Pushed, error) {
	answer, err := p.api.Change(ctx, remote.ChangeSet{Body: p.body, DryRun: p.options.DryRun, Repeatable: true})
	var refusal *remote.Refusal
	if err != nil && errors.As(err, &refusal) && !errors.As(err, new(*remote.Unknown)) {
		return nil, &Refused{refusal, p.located(refusal.Issues, workspace.Error)}
	}
	if err != nil {
		return nil, err
	}
	pushed := &Pushed{CommitSHA: answer.CommitSHA, Warnings: p.located(answer.Warnings, workspace.Warning)}
	for _, r := range answer.Results {
		if r.Index < 0 || r.Index >= len(p.operations) {
			continue
		}
		if n := len(pushed.Items); n == 0 || pushed.Items[n-1].Path != p.operations[r.Index] { // created, and then put
			pushed.Items = append(pushed.Items, PushedItem{Path: p.operations[r.Index]})
		}
		item := &pushed.Items[len(pushed.Items)-1]
		item.Changed = item.Changed || r.Changed
		if p.created[item.Path] != nil {
			continue // the words are of a document in between, which nobody gets to see
		}
		for _, m := range r.Messages {
			item.Messages = append(item.Messages, m.Message)
		}
	}
	for i := range pushed.Items {
		item := &pushed.Items[i]
		if tree := p.created[item.Path]; tree != nil {
			for _, m := range activity.Diff(nil, tree) {
				item.Messages = append(item.Messages, m.Message)
			}
		}
	}
	if p.options.DryRun {
		return pushed, nil
	}
	if err := p.remember(ctx, pushed); err != nil {
		return pushed, fmt.Errorf("it was pushed, and cannot be remembered here, which the next svc pull mends: %w", err)
	}
	return pushed, nil
}

// remember notes what came of the items. Of one that somebody has pulled meanwhile
// more is known already.
func (p *Push) remember(ctx context.Context, pushed *Pushed) error {
	lock, err := datadir.Lock(ctx, p.dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	next, err := readState(p.dir)
	if err != nil {
		return err
	}
	next.Tag = ""
	for _, item := range pushed.Items {
		was := next.Files[item.Path]
		if was != p.last.Files[item.Path] || next.WorkspaceID != p.last.WorkspaceID {
			continue
		}
		if item.Changed {
			was.CommitSHA = pushed.CommitSHA
		}
		if was.SHA256 = sum(p.files[item.Path]); p.files[item.Path] != nil {
			next.Files[item.Path] = was
		} else {
			delete(next.Files, item.Path)
		}
	}
	edit, err := next.edit()
	if err != nil {
		return err
	}
	return datadir.Write(ctx, p.dir, []datadir.Edit{edit})
}

// located says of issues of the change set in which files they are.
func (p *Push) located(issues []document.Issue, severity workspace.Severity) []workspace.Problem {
	var problems []workspace.Problem
	for _, issue := range issues {
		problem := workspace.Problem{Severity: severity, File: "the change set", Pointer: issue.Pointer, Message: issue.Message}
		rest, inOperation := strings.CutPrefix(issue.Pointer, "/operations/")
		number, rest, _ := strings.Cut(rest, "/")
		if index, err := strconv.Atoi(number); inOperation && err == nil && index >= 0 && index < len(p.operations) {
			problem.File, problem.Pointer = p.operations[index], ""
			if part, of, _ := strings.Cut(rest, "/"); part == "document" && of != "" {
				problem.Pointer = "/" + of
				if tree, err := jsontree.Parse(p.files[problem.File]); err == nil {
					if n := tree.Nearest(problem.Pointer); n != nil && n.Offset >= 0 {
						problem.Line, problem.Column = jsontree.Position(p.files[problem.File], n.Offset)
					}
				}
			}
		}
		if !slices.Contains(problems, problem) { // of creating it, and of replacing it
			problems = append(problems, problem)
		}
	}
	return problems
}
