package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// file is a file as the workspace has it.
type file struct {
	commit string // of the item; "" of the workspace file
	tree   *jsontree.Node
}

// fetcher reads a workspace.
type fetcher struct {
	api      *remote.Client
	progress func(done, total int)
	commit   string   // that was read
	leftOut  []string // paths of what this system cannot have as files
}

// system is the one whose names files have.
var system = runtime.GOOS

// Bounds of what is taken of a workspace: of bytes, of the values that stand in them, which
// may be two bytes and take a hundred in memory, and of pages, each of which may take its time.
const (
	maxBytes  = 64 << 20
	maxValues = 4 << 20
	maxPages  = 500
	maxTime   = 15 * time.Minute
)

var (
	errTooLong  = fmt.Errorf("the server takes more than %d pages or %v for its documents, which is the most that is waited for", maxPages, maxTime)
	errTooLarge = fmt.Errorf("the documents that the server sends are more than the %d MiB that are taken of one", maxBytes>>20)
)

// Files reads a workspace as the files of a config directory, by path, and the paths
// of what the workspace itself cannot read.
func Files(ctx context.Context, api *remote.Client) (files map[string][]byte, omitted []string, err error) {
	f := &fetcher{api: api, progress: func(int, int) {}}
	fetched, omitted, _, err := f.fetch(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	declare(fetched[workspace.File].tree, fetched)
	files = make(map[string][]byte, len(fetched))
	for path, file := range fetched {
		files[path] = file.tree.Encode()
	}
	return files, omitted, nil
}

// maxRounds is how often a workspace that changes meanwhile is looked at again.
const maxRounds = 8

var errRestless = errors.New("the workspace kept changing while it was read; try again in a moment")

// fetch reads everything as it is at one commit, the paths of what the workspace itself
// cannot read, and the commit's tag; nothing where the tag still stands.
func (f *fetcher) fetch(ctx context.Context, tag string) (files map[string]file, omitted []string, current string, err error) {
	for range maxRounds {
		files, omitted, current, err = f.export(ctx, tag)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil || files == nil {
			return nil, nil, current, err
		}
		files[workspace.File], err = f.declaration(ctx)
		return files, omitted, current, err
	}
	return nil, nil, "", errRestless
}

var errMoved = errors.New("a later page is of another commit")

func (f *fetcher) export(ctx context.Context, tag string) (files map[string]file, omitted []string, current string, err error) {
	files, folded := map[string]file{}, map[string]string{} // keys by paths in lower case
	commit, cursor, bytes, values := "", "", 0, 0
	f.leftOut = nil
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooLong)
	defer cancel()
	for pages := 0; ; pages++ {
		if pages == maxPages {
			return nil, nil, "", errTooLong
		}
		text, of, err := f.api.Export(ctx, cursor, tag)
		if errors.Is(context.Cause(ctx), errTooLong) {
			err = errTooLong
		}
		if err != nil || text == nil {
			return nil, nil, of, err
		}
		if bytes += len(text); bytes > maxBytes {
			return nil, nil, "", errTooLarge
		}
		page, err := readPage(text, maxValues-values)
		switch {
		case err != nil:
			return nil, nil, "", err
		case commit == "":
			commit, current, tag = page.commit, of, ""
		case page.commit != commit:
			return nil, nil, "", errMoved
		}
		for _, d := range page.documents {
			path := workspace.Path(d.t, d.key)
			problem := workspace.FileNameProblem(d.key, system)
			if problem != "" && document.KeyProblem(d.key) == "" {
				f.leftOut = append(f.leftOut, path)
				continue
			}
			if other, taken := folded[strings.ToLower(path)]; taken && other != d.key {
				problem = fmt.Sprintf("it differs from %q in case only, and they are one file on Windows and macOS", other)
			}
			if problem != "" {
				return nil, nil, "", fmt.Errorf("the workspace has a %s with the key %q, which cannot be a file here: %s", d.t.Noun(), d.key, problem)
			}
			files[path], folded[strings.ToLower(path)] = d.file, d.key
		}
		omitted = append(omitted, page.omitted...)
		values += page.values
		read := len(files) + len(f.leftOut)
		f.progress(read, page.total)
		if cursor = page.next; cursor != "" && len(page.documents) > 0 && read < page.total {
			continue
		}
		if cursor != "" || read != page.total {
			return nil, nil, "", remote.NoAnswer("/export", "it holds other documents than it counts")
		}
		f.commit = commit
		return files, omitted, current, nil
	}
}

// page is one of an export.
type page struct {
	commit, next string
	total        int
	values       int
	documents    []exported
	omitted      []string // paths
}

type exported struct {
	t   document.Type
	key string
	file
}

// readPage reads what must be there. An answer without the documents says nothing of
// the workspace, and must not be taken for one that holds nothing.
func readPage(text []byte, values int) (*page, error) {
	bad := func(why string) (*page, error) { return nil, remote.NoAnswer("/export", why) }
	tree, err := jsontree.ParseWithin(text, values)
	if err != nil || tree.Kind != jsontree.Object {
		return bad(fmt.Sprintf("it is not a JSON object, or there are more than %d values in all", maxValues))
	}
	p := &page{}
	list := tree.Get("documents")
	if list == nil || list.Kind != jsontree.Array {
		return bad(`it lacks the list "documents"`)
	}
	commit, said := tree.Get("commitSha").Text()
	if total := tree.Get("total"); !said || total == nil || json.Unmarshal(total.Compact(), &p.total) != nil {
		return bad("it does not say of which commit it is, or how many documents there are")
	}
	p.commit, p.values = commit, tree.Values()
	p.next, _ = tree.Get("nextCursor").Text()
	for _, n := range list.Items {
		t, _ := n.Get("type").Text()
		key, keyed := n.Get("key").Text()
		sha, dated := n.Get("commitSha").Text()
		d := exported{document.Type(t), key, file{sha, n.Get("document")}}
		if !keyed || !dated || d.tree == nil || workspace.ItemFolder(d.t) == "" {
			return bad("a document lacks its type, its key or its commit")
		}
		p.documents = append(p.documents, d)
	}
	for _, n := range tree.Get("omitted").Elements() {
		t, _ := n.Get("type").Text()
		key, _ := n.Get("key").Text()
		if key == "" || workspace.ItemFolder(document.Type(t)) == "" {
			return bad("what it omits lacks its type or its key")
		}
		p.omitted = append(p.omitted, workspace.Path(document.Type(t), key))
	}
	return p, nil
}

// typeAt is the type and the key of the item at a path.
func typeAt(path string) (document.Type, string) {
	folder, key, _ := workspace.SplitPath(path)
	return folder.ItemType(), key
}

// declaration makes the workspace file.
func (f *fetcher) declaration(ctx context.Context) (file, error) {
	environments, err := f.api.Environments(ctx)
	if err != nil {
		return file{}, err
	}
	for _, e := range environments {
		// Old names may have capitals, and are served as they are.
		if problem := workspace.SlugProblem(strings.ToLower(e.Name)); problem != "" {
			return file{}, fmt.Errorf("the workspace has an environment that cannot be declared here: %s", problem)
		}
	}
	text, err := json.Marshal(map[string]any{"environments": environments})
	if err != nil {
		return file{}, err
	}
	tree, err := jsontree.Parse(text)
	return file{tree: tree}, err
}
