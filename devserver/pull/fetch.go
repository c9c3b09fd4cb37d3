package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// file is a file as the workspace has it.
type file struct {
	commit string
	tree   *jsontree.Node // nil when what was pulled last is still right
	// part says that a file which says more is as good.
	part bool
}

// fetcher reads a workspace.
type fetcher struct {
	api      *remote.Client
	progress func(done, total int)
	// unchanged says whether a path of a commit lies in the directory already.
	unchanged func(path, commit string) bool

	files        map[string]file
	descriptions map[string]string // of segments
}

// maxRounds is how often a workspace that changes meanwhile is looked at again.
const maxRounds = 8

var errRestless = errors.New("the workspace kept changing while it was read; try again in a moment")

// fetch reads what is new, until what is listed is what was read.
func (f *fetcher) fetch(ctx context.Context) error {
	f.files = map[string]file{}
	for range maxRounds {
		listed, err := f.list(ctx)
		if err != nil {
			return err
		}
		for path := range f.files {
			if _, there := listed[path]; !there {
				delete(f.files, path)
			}
		}
		var news []string
		for _, path := range slices.Sorted(maps.Keys(listed)) {
			if known, there := f.files[path]; !there || known.commit != listed[path] {
				news = append(news, path)
			}
		}
		if len(news) == 0 {
			return f.declaration(ctx)
		}
		if err := f.read(ctx, news, listed); err != nil {
			return err
		}
	}
	return errRestless
}

func (f *fetcher) read(ctx context.Context, paths []string, listed map[string]string) error {
	for i, path := range paths {
		f.progress(i, len(paths))
		if f.unchanged(path, listed[path]) {
			f.files[path] = file{commit: listed[path]}
			continue
		}
		got, err := f.item(ctx, path, listed[path])
		if remote.NotFound(err) { // deleted since: the next list tells
			continue
		}
		if err != nil {
			return err
		}
		f.files[path] = got
	}
	f.progress(len(paths), len(paths))
	return nil
}

// list is the commit of every document, by path.
func (f *fetcher) list(ctx context.Context) (map[string]string, error) {
	type row struct{ Key, CommitSHA, Description string }
	listed := map[string]string{}
	names := fileNames{}
	f.descriptions = map[string]string{}
	for _, kind := range []struct {
		path, member string
		t            document.Type
	}{
		{"/flags", "flags", document.Flag}, {"/configs", "configs", document.Config},
		{"/log-levels", "logLevels", document.LogLevel}, {"/segments", "segments", document.Segment},
	} {
		var rows []row
		if err := f.api.List(ctx, kind.path, nil, kind.member, &rows); err != nil {
			return nil, err
		}
		for _, r := range rows {
			path := workspace.Path(kind.t, r.Key)
			if problem := names.problem(path, r.Key); problem != "" {
				return nil, fmt.Errorf("the workspace has a %s with the key %q, which cannot be a file here: %s", kind.t.Noun(), r.Key, problem)
			}
			listed[path] = r.CommitSHA
			if kind.t == document.Segment {
				f.descriptions[r.Key] = r.Description
			}
		}
	}
	return listed, nil
}

// fileNames are the paths that keys of a server have become, in lower case, and
// the keys.
type fileNames map[string]string

// problem says why a key cannot be a file beside those before it, or "".
func (n fileNames) problem(path, key string) string {
	if problem := workspace.FileNameProblem(key); problem != "" {
		return problem
	}
	folded := strings.ToLower(path)
	if other, taken := n[folded]; taken && other != key {
		return fmt.Sprintf("it differs from %q in case only, and they are one file on Windows and macOS", other)
	}
	n[folded] = key
	return ""
}

var endpoints = map[document.Type]string{document.Flag: "/flags/", document.Config: "/configs/", document.LogLevel: "/log-levels/"}

func (f *fetcher) item(ctx context.Context, path, commit string) (file, error) {
	folder, key, _ := workspace.SplitPath(path)
	t, _ := folder.Type()
	if t == document.Segment {
		return f.segment(ctx, key)
	}
	body, err := f.api.Document(ctx, endpoints[t]+url.PathEscape(key)+"/document")
	if err != nil {
		return file{}, err
	}
	answer, err := jsontree.Parse(body)
	if err != nil || answer.Get("document") == nil {
		return file{}, fmt.Errorf("the %s %q: this is not an answer of the API; check the address", t.Noun(), key)
	}
	sha, _ := answer.Get("commitSha").Text()
	return file{commit: sha, tree: answer.Get("document")}, nil
}

// segment makes a segment's document from its detail.
func (f *fetcher) segment(ctx context.Context, key string) (file, error) {
	body, err := f.api.Document(ctx, "/segments/"+url.PathEscape(key))
	if err != nil {
		return file{}, err
	}
	detail, err := jsontree.Parse(body)
	if err != nil || detail.Get("default") == nil {
		return file{}, fmt.Errorf("the segment %q: this is not an answer of the API; check the address", key)
	}
	doc := jsontree.NewObject(
		jsontree.Field("key", jsontree.NewString(key)),
		jsontree.Field("type", jsontree.NewString(string(document.Segment))),
		jsontree.Field("valueType", jsontree.NewString(string(document.BoolValue))))
	if name, ok := detail.Get("name").Text(); ok && name != "" {
		doc.Set("name", jsontree.NewString(name))
	}
	if description := f.descriptions[key]; description != "" {
		doc.Set("description", jsontree.NewString(description))
	}
	doc.Set("default", detail.Get("default"))
	sha, _ := detail.Get("commitSha").Text()
	return file{commit: sha, tree: doc, part: true}, nil
}

// declaration makes the workspace file.
func (f *fetcher) declaration(ctx context.Context) error {
	var answer struct {
		Environments []struct {
			Name            string `json:"name"`
			EnvironmentType string `json:"environmentType"`
			Protected       bool   `json:"protected"`
		} `json:"environments"`
	}
	if err := f.api.List(ctx, "/environments", nil, "environments", &answer.Environments); err != nil {
		return err
	}
	for _, e := range answer.Environments {
		// Old names may have capitals, and are served as they are.
		if problem := workspace.SlugProblem(strings.ToLower(e.Name)); problem != "" {
			return fmt.Errorf("the workspace has an environment that cannot be declared here: %s", problem)
		}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	tree, err := jsontree.Parse(text)
	if err != nil {
		return err
	}
	f.files[workspace.File] = file{tree: tree, part: true}
	return nil
}
