package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"svc.example/svc/devserver/inventory"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// text is an argument that is a text, "" where it is left out.
func text(arguments *jsontree.Node, name string) string {
	value, _ := arguments.Get(name).Text()
	return value
}

// query takes arguments that the API has under the same names.
func query(arguments *jsontree.Node, names ...string) url.Values {
	values := url.Values{}
	for _, name := range names {
		if value := arguments.Get(name); value != nil {
			given, isText := value.Text()
			if !isText {
				given = string(value.Compact())
			}
			values.Set(name, given)
		}
	}
	return values
}

// object makes an object of those members that are there.
func object(members ...jsontree.Member) *jsontree.Node {
	return jsontree.NewObject(slices.DeleteFunc(members, func(m jsontree.Member) bool { return m.Value == nil })...)
}

// taken is a member of a row under the same name.
func taken(row *jsontree.Node, name string) jsontree.Member {
	return jsontree.Field(name, row.Get(name))
}

func (s *server) listItems(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	var list *inventory.Listing
	var unreadable int
	if s.Directory != nil {
		ws, problems := s.Directory.read()
		list, unreadable = inventory.OfDirectory(ws), len(workspace.FatalOnly(problems))
	} else {
		var err error
		if list, err = inventory.OfWorkspace(ctx, s.API); err != nil {
			return answer{}, err
		}
	}
	environments := jsontree.NewArray()
	named := text(arguments, "environment")
	found := named == ""
	for _, e := range list.Environments {
		environments.Items = append(environments.Items, object(jsontree.Field("name", jsontree.NewString(e.Name)),
			jsontree.Field("environmentType", jsontree.NewString(e.Type)), jsontree.Field("protected", jsontree.NewBool(e.Protected))))
		found = found || e.Name == named
	}
	if !found {
		return answer{}, refuse(document.Issue{Pointer: "/environment", Message: "there is no environment " + terminal.Quote(named) + "; list_items without arguments lists them"})
	}
	rows, total, before := jsontree.NewArray(), 0, true
	after := text(arguments, "after")
	for _, item := range list.Items {
		if !matches(item, arguments) {
			continue
		}
		total++
		if after == "" || !before {
			item.Description = "" // get_item tells it
			rows.Items = append(rows.Items, node(item))
		} else if place(item.Type, item.Key) == after {
			before = false
		}
	}
	if after != "" && before {
		return answer{}, refuse(document.Issue{Pointer: "/after", Message: "it is no row of this list; take the \"after\" of the answer before, with the same other arguments"})
	}
	tree := object(jsontree.Field("environments", environments), jsontree.Field("total", jsontree.NewInt(int64(total))))
	if unreadable > 0 {
		tree.Set("unreadable", jsontree.NewString(fmt.Sprintf("%d problems keep files from being read; verify tells them", unreadable)))
	}
	tree.Set("items", rows)
	return answer{tree: tree, list: "items", next: func(shown int) []jsontree.Member {
		last := rows.Items[shown-1]
		return []jsontree.Member{jsontree.Field("after", jsontree.NewString(place(document.Type(text(last, "type")), text(last, "key"))))}
	}}, nil
}

func place(t document.Type, key string) string { return string(t) + ":" + key }

func matches(item inventory.Item, arguments *jsontree.Node) bool {
	contains := func(text string) bool {
		part, _ := arguments.Get("query").Text()
		return strings.Contains(strings.ToLower(text), strings.ToLower(part))
	}
	status, environment := document.Lifecycle(text(arguments, "status")), text(arguments, "environment")
	hasStatus := status == ""
	for name, is := range item.Statuses {
		hasStatus = hasStatus || is == status && (environment == "" || name == environment)
	}
	t, tag := text(arguments, "type"), text(arguments, "tag")
	return hasStatus && (t == "" || t == string(item.Type)) && (tag == "" || slices.Contains(item.Tags, tag)) &&
		(contains(item.Key) || contains(item.Name) || contains(item.Description) || slices.ContainsFunc(item.Tags, contains))
}

// read reads the files as they are. What cannot be read is left out.
func (d *Directory) read() (*workspace.Workspace, []workspace.Problem) {
	state := datadir.Look(d.Path)
	ws, problems := workspace.ReadServable(state.Files, nil)
	return ws, append(problems, state.Problems...)
}

// places are where the API has the items of a type.
var places = map[string]string{"feature_flag": "/flags/", "config": "/configs/", "log_level": "/log-levels/", "segment": "/segments/", "schema": "/schemas/"}

// recent is how many changes one item is told with.
const recent = "5"

func (s *server) getItem(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	t, key := text(arguments, "type"), text(arguments, "key")
	if t == string(document.LogLevel) {
		key = document.LogLevelKey(key)
	}
	if s.Directory != nil {
		return s.Directory.item(document.Type(t), key, arguments)
	}
	path := places[t] + url.PathEscape(key)
	stored, err := s.API.Tree(ctx, path+"/document", query(arguments, "at"))
	if err != nil {
		return answer{}, err
	}
	tree := object(taken(arguments, "type"), taken(arguments, "key"), taken(stored, "commitSha"))
	if arguments.Get("at") == nil && arguments.Get("pointer") == nil {
		if t == string(document.Flag) {
			detail, err := s.API.Tree(ctx, path, nil)
			if err != nil {
				return answer{}, err
			}
			tree.Set("statuses", detail.Get("environmentStatuses"))
		}
		feed, err := s.API.Tree(ctx, "/activity", url.Values{"type": {t}, "key": {key}, "limit": {recent}})
		if err != nil {
			return answer{}, err
		}
		tree.Set("changes", jsontree.NewArray(changes(feed)...))
		if feed.Get("nextCursor") != nil {
			tree.Set("moreChanges", jsontree.NewString("list_changes has them"))
		}
	}
	return withDocument(tree, stored.Get("document"), arguments)
}

// withDocument adds the document, or the part of it that is asked for.
func withDocument(tree, stored, arguments *jsontree.Node) (answer, error) {
	told, hidden := withoutSecrets(stored)
	if hidden > 0 {
		tree.Set("confidentialValuesHidden", jsontree.NewInt(int64(hidden)))
	}
	if pointer := text(arguments, "pointer"); pointer != "" {
		if told = told.At(pointer); told == nil {
			return answer{}, refuse(document.Issue{Pointer: "/pointer", Message: "the document has nothing at " + terminal.Quote(pointer)})
		}
		tree.Set("pointer", arguments.Get("pointer"))
	}
	tree.Set("document", told)
	return answer{tree: tree}, nil
}

func (d *Directory) item(t document.Type, key string, arguments *jsontree.Node) (answer, error) {
	if arguments.Get("at") != nil {
		return answer{}, refuse(document.Issue{Pointer: "/at", Message: "a directory's earlier files are in git: git show tells them"})
	}
	path := workspace.Path(t, key)
	content, found := datadir.Look(d.Path).Files[path]
	if !found {
		return answer{}, &refusal{code: "NOT_FOUND", message: fmt.Sprintf("there is no %s %s; list_items has what there is", t.Noun(), terminal.Quote(key))}
	}
	stored, err := jsontree.Parse(content)
	if err != nil {
		return answer{}, &refusal{code: "UNPROCESSABLE_CONTENT", message: fmt.Sprintf("%s is not JSON: %v", path, err)}
	}
	tree := object(taken(arguments, "type"), taken(arguments, "key"), jsontree.Field("file", jsontree.NewString(path)))
	if t == document.Flag {
		ws, _ := d.read()
		for _, item := range inventory.OfDirectory(ws).Items {
			if item.Type == t && item.Key == key && item.Statuses != nil {
				tree.Set("statuses", node(item.Statuses))
			}
		}
	}
	return withDocument(tree, stored, arguments)
}

func (s *server) explainValue(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	key, environment := text(arguments, "key"), text(arguments, "environment")
	var tree *jsontree.Node
	if s.Directory != nil {
		evaluations, err := s.Directory.Evaluate(ctx, environment, text(arguments, "at"), arguments.Get("context"), key)
		if err != nil {
			return answer{}, &refusal{code: "BAD_REQUEST", message: err.Error()}
		}
		tree = node(evaluations)
	} else {
		question := object(taken(arguments, "environment"), taken(arguments, "context"), taken(arguments, "at"),
			jsontree.Field("keys", jsontree.NewArray(arguments.Get("key"))), jsontree.Field("explain", jsontree.NewBool(true)))
		text, err := s.API.Evaluate(ctx, question.Compact())
		if err != nil {
			return answer{}, err
		}
		if tree, err = jsontree.Parse(text); err != nil {
			return answer{}, remote.NoAnswer("/evaluate", "it is not JSON")
		}
	}
	evaluation := tree.Get("evaluations").Get(key)
	if evaluation == nil {
		return answer{}, &refusal{code: "NOT_FOUND", message: "there is no flag or config " + terminal.Quote(key) + "; list_items has what there is"}
	}
	return answer{tree: object(taken(arguments, "key"), taken(tree, "environment"), taken(tree, "commitSha"), jsontree.Field("evaluation", evaluation))}, nil
}

// changes are entries of the activity feed without what nobody needs.
func changes(feed *jsontree.Node) []*jsontree.Node {
	var rows []*jsontree.Node
	for _, entry := range feed.Get("activity").Elements() {
		messages := jsontree.NewArray()
		for _, m := range entry.Get("messages").Elements() {
			messages.Items = append(messages.Items, m.Get("message"))
		}
		rows = append(rows, object(taken(entry, "sha"), taken(entry, "date"), taken(entry, "authorName"), taken(entry, "isServiceAccount"),
			taken(entry, "action"), taken(entry, "type"), taken(entry, "key"), jsontree.Field("messages", messages)))
	}
	return rows
}

func (s *server) listChanges(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	asked := query(arguments, "type", "key", "author", "environment", "since", "until", "cursor", "limit")
	if !asked.Has("limit") {
		asked.Set("limit", "20")
	}
	feed, err := s.API.Tree(ctx, "/activity", asked)
	if err != nil {
		return answer{}, err
	}
	tree := object(jsontree.Field("changes", jsontree.NewArray(changes(feed)...)), taken(feed, "nextCursor"))
	return answer{tree: tree, list: "changes", next: func(shown int) []jsontree.Member {
		// The cursor would skip those that are left out.
		return []jsontree.Member{{Name: "nextCursor"}, jsontree.Field("hint", jsontree.NewString(fmt.Sprintf("with limit %d there is a nextCursor that leads on", shown)))}
	}}, nil
}

func (s *server) findContexts(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	asked := query(arguments, "query", "type", "environment", "limit")
	asked.Set("properties", "true")
	if !asked.Has("limit") {
		asked.Set("limit", "10")
	}
	found, err := s.API.Tree(ctx, "/contexts", asked)
	if err != nil {
		return answer{}, err
	}
	return answer{tree: found, list: "contexts"}, nil
}

func (s *server) listEdits(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	edits, err := s.Directory.Edits(ctx, cmp.Or(text(arguments, "since"), "HEAD"))
	if err != nil {
		return answer{}, &refusal{code: "BAD_REQUEST", message: err.Error()}
	}
	return answer{tree: node(edits), list: "changes"}, nil
}
