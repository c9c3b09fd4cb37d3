package pull_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/devserver/pull"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/testing/must"
)

var ctx = context.Background()

// fake is an API with flags, other documents and environments, and a directory that
// is pulled into.
type fake struct {
	*testing.T
	workspace    string
	flags        map[string]string // key to document
	commits      map[string]int
	others       []string // entries of the export
	omitted      string   // entries of what it leaves out
	environments string
	head         int
	paged        int               // how many documents a page has; 0 for all
	answers      map[string]string // path to an answer in the place of the right one
	reads        []string          // path and status
	changes      func(w http.ResponseWriter, r *http.Request, body []byte)
	onRead       func(path string)
	dir          string
	api          *remote.Client
}

func newFake(t *testing.T) *fake {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	f := &fake{T: t, workspace: "ws", flags: map[string]string{}, commits: map[string]int{}, dir: filepath.Join(t.TempDir(), "out"),
		environments: `{"name":"production","environmentType":"production","protected":true}`}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	var err error
	if f.api, err = remote.New(server.URL+"/v1", "key"); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fake) set(key, document string) {
	f.flags[key] = document
	f.commits[key]++
	f.head++
}

func (f *fake) remove(key string) {
	delete(f.flags, key)
	f.head++
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	if f.onRead != nil {
		f.onRead(path)
	}
	status := 200
	defer func() { f.reads = append(f.reads, fmt.Sprint(path, " ", status)) }()
	switch answer, other := f.answers[path]; {
	case other:
		fmt.Fprint(w, answer)
	case path == "/changes" && f.changes != nil:
		body, _ := io.ReadAll(r.Body)
		f.changes(w, r, body)
	case path == "/whoami":
		fmt.Fprintf(w, `{"workspaceId":%q}`, f.workspace)
	case path == "/environments":
		fmt.Fprintf(w, `{"environments":[%s]}`, f.environments)
	case path == "/export":
		tag := fmt.Sprintf(`"%s-%d%s"`, f.workspace, f.head, r.URL.RawQuery)
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			status = 304
			w.WriteHeader(status)
			return
		}
		fmt.Fprint(w, f.page(r.URL.Query().Get("cursor")))
	default:
		f.Errorf("%s was read", path)
	}
}

// page is one of the export, whose cursors are numbers.
func (f *fake) page(cursor string) string {
	var documents []string
	for _, key := range slices.Sorted(maps.Keys(f.flags)) {
		name, _ := json.Marshal(key)
		documents = append(documents, fmt.Sprintf(`{"type":"feature_flag","key":%s,"commitSha":"%d","document":%s}`, name, f.commits[key], f.flags[key]))
	}
	documents = append(documents, f.others...)
	total, next := len(documents), ""
	from, _ := strconv.Atoi(cursor)
	documents = documents[min(from, total):]
	if f.paged > 0 && len(documents) > f.paged {
		documents, next = documents[:f.paged], fmt.Sprintf(`,"nextCursor":"%d"`, from+f.paged)
	}
	if f.omitted != "" && cursor == "" {
		next += `,"omitted":[` + f.omitted + `]`
	}
	return fmt.Sprintf(`{"commitSha":"%d","documents":[%s],"total":%d%s}`, f.head, strings.Join(documents, ","), total, next)
}

const beta = `{"type":"segment","key":"beta","commitSha":"s1","document":{"key":"beta","type":"segment","valueType":"bool","description":"Friends","access":"support","default":{"rules":[]}}}`

func (f *fake) plan(o pull.Options) *pull.Plan {
	f.Helper()
	f.reads = nil
	p := must.Get(pull.NewPlan(ctx, f.api, f.dir, o))(f)
	return p
}

func (f *fake) pull() *pull.Plan {
	f.Helper()
	p := f.plan(pull.Options{})
	if len(p.Changed) > 0 {
		f.Fatalf("%+v", p.Changed)
	}
	must.Do(f, p.Apply(ctx))
	return p
}

func (f *fake) file(path string) string {
	text, err := os.ReadFile(filepath.Join(f.dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must.Do(f, err)
	return string(text)
}

func (f *fake) write(path, text string) {
	f.Helper()
	name := filepath.Join(f.dir, path)
	must.Do(f, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)))
}

func flag(key, more string) string {
	return `{"key":"` + key + `","type":"feature_flag","valueType":"bool",` + more + `"default":{"rules":[]}}`
}
