package formattest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/devserver/sample"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/backup"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/webhook"
)

var record = flag.Bool("record", false, "record the present formats, where testdata lacks them")

// noon is when keys are revoked.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// store is where a workspace is stored.
type store interface {
	// create makes a workspace of the sample directory.
	create(t *testing.T)
	issueKey(t *testing.T, q access.KeyRequest) access.Key
	revokeKey(t *testing.T, key access.Key)
	// events counts the entries of the audit trail.
	events(t *testing.T) int
	// webhooks has work done on the workspace's.
	webhooks(t *testing.T, work func(*webhook.Manager) error)
	// open serves it, until the function that it returns is called.
	open(t *testing.T) (handler http.Handler, end func())
	// expires reports whether an answer may be another after some months.
	expires(path string) bool
	// dump returns everything by name, and restore stores it.
	dump(t *testing.T) map[string][]byte
	restore(t *testing.T, files map[string][]byte)
}

// recording is what an archive tells besides what is stored.
type recording struct {
	Keys   map[string]string // by what they are for
	Events int               // of the audit trail
	// Webhooks are how many there are: in archives of backups since format 2, as change requests.
	Webhooks int `json:",omitempty"`
	Answers  []answer
}

type answer struct {
	Path, Key string
	Status    int
	Body      any
}

const recordingName = "recording.json"

// testFormats holds a kind of store against the archives of all its formats.
func testFormats(t *testing.T, kind string, present int, newStore func(t *testing.T) store) {
	for format := 1; format <= present; format++ {
		path := filepath.Join("testdata", fmt.Sprintf("%s-%d.tar.gz", kind, format))
		t.Run(fmt.Sprint("format ", format), func(t *testing.T) {
			if _, err := os.Stat(path); *record && format == present && errors.Is(err, fs.ErrNotExist) {
				s := newStore(t)
				told := fill(t, s)
				pack(t, path, told, s.dump(t))
			}
			told, files := unpack(t, path)
			s := newStore(t)
			s.restore(t, files)
			told.holds(t, s)
			told.goesOn(t, s)
		})
	}
}

// questions are what is asked of a workspace, by whom.
var questions = []struct{ path, key string }{
	{"/v1/whoami", "user"}, {"/v1/whoami", "service"}, {"/v1/whoami", "revoked"}, {"/v1/workspaces", "user"},
	{"/v1/environments", "user"}, {"/v1/flags", "user"}, {"/v1/flags/new-checkout", "user"},
	{"/v1/flags/new-checkout/history", "user"}, {"/v1/flags/dark-mode/document", "user"}, {"/v1/flags/search.suggestions", "user"},
	{"/v1/configs", "user"}, {"/v1/log-levels", "user"}, {"/v1/segments", "user"}, {"/v1/schemas", "user"},
	{"/v1/change-requests", "user"}, {"/v1/change-requests/1", "service"}, {"/v1/activity?limit=100", "user"}, {"/v1/export", "user"}, {"/v1/contexts?type=user&query=ada", "user"},
	{"/api/v2/configs/eval-with-context/" + ada, "public"}, {"/api/v2/configs", "secret"},
}

// ada is base64 of {"user":{"key":"ada"}}.
const ada = "eyJ1c2VyIjp7ImtleSI6ImFkYSJ9fQ=="

const telemetry = `{"instanceHash": "i", "batchId": "b", "events": [{"exampleContexts": {"examples": [
	{"contextSet": {"contexts": [{"type": "user", "values": {"key": "ada", "name": "Ada", "plan": "pro"}}]}}]}}]}`

// fill does a bit of everything to a new workspace, and notes what is answered then.
func fill(t *testing.T, s store) recording {
	t.Helper()
	s.create(t)
	key := func(q access.KeyRequest) string { return s.issueKey(t, q).Reveal() }
	revoked := s.issueKey(t, access.KeyRequest{Kind: access.KindUser, Name: "gone", Roles: []string{"engineer"}})
	s.revokeKey(t, revoked)
	told := recording{Keys: map[string]string{
		"user":    key(access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: "ada@example.com", Roles: []string{"protected_engineer"}}),
		"service": key(access.KeyRequest{Kind: access.KindServiceAccount, Name: "ci", Roles: []string{"engineer"}}),
		"public":  key(access.KeyRequest{Kind: access.KindPublicSDK, Name: "pages", Environment: "production"}),
		"secret":  key(access.KeyRequest{Kind: access.KindSecretSDK, Name: "servers", Environment: "production"}),
		"revoked": revoked.Reveal(),
	}}
	s.webhooks(t, func(m *webhook.Manager) error {
		m.Now = time.Now
		name, address := "chat", "https://hooks.example.com/secret"
		_, _, err := m.Create(t.Context(), webhook.Edit{Name: &name, Address: &address, Environments: &[]string{"production"}})
		return err
	})
	told.Webhooks = 1
	handler, end := s.open(t)
	defer end()
	for _, write := range []struct{ method, path, key, body string }{
		{"PATCH", "/v1/flags/new-checkout/environments/production", "user", `{"enabled": true}`},
		{"POST", "/v1/flags", "service", `{"key": "dark-mode", "description": "A dark theme", "tags": ["look"]}`},
		{"PATCH", "/v1/flags/dark-mode/environments/production", "user", `{"rollout": [{"value": true, "percent": 25}, {"value": false, "percent": 75}]}`},
		{"DELETE", "/v1/flags/search.suggestions", "user", ""},
		{"PATCH", "/v1/log-levels/storefront", "service", `{"level": "DEBUG", "target": "com.acme"}`},
		{"POST", "/api/v1/telemetry/", "public", telemetry},
		{"POST", "/v1/change-requests", "service", `{"title": "To all", "operations": [{"op": "patch", "type": "feature_flag", "key": "dark-mode", "environment": "production", "body": {"value": true, "replaceTargeting": true}}]}`},
		{"POST", "/v1/change-requests/1/comments", "user", `{"text": "Why?"}`},
	} {
		if a := ask(t, handler, write.method, write.path, told.Keys[write.key], write.body); a.Status >= 300 {
			t.Fatalf("%s %s: %d %v", write.method, write.path, a.Status, a.Body)
		}
	}
	for _, q := range questions {
		a := ask(t, handler, "GET", q.path, told.Keys[q.key], "")
		a.Path, a.Key = q.path, q.key
		told.Answers = append(told.Answers, a)
	}
	told.Events = s.events(t)
	return told
}

// holds asks again.
func (told recording) holds(t *testing.T, s store) {
	t.Helper()
	if len(told.Answers) < 15 || told.Events < 6 {
		t.Fatalf("only %d answers and %d events were recorded", len(told.Answers), told.Events)
	}
	handler, end := s.open(t)
	defer end()
	for _, then := range told.Answers {
		now := ask(t, handler, "GET", then.Path, told.Keys[then.Key], "")
		if now.Status != then.Status {
			t.Errorf("%s as %s: %d, and then %d: %v", then.Path, then.Key, now.Status, then.Status, now.Body)
		} else if s.expires(then.Path) {
			continue
		} else if where := lost(then.Body, now.Body, ""); where != "" {
			t.Errorf("%s as %s: %s is another:\nthen %v\nnow  %v", then.Path, then.Key, where, then.Body, now.Body)
		}
	}
	if n := s.events(t); n != told.Events {
		t.Errorf("%d events, and then %d", n, told.Events)
	}
	s.webhooks(t, func(m *webhook.Manager) error {
		all, err := m.List(t.Context())
		if len(all) != told.Webhooks || len(all) > 0 && (all[0].Name != "chat" || all[0].Environments[0] != "production") {
			t.Errorf("the webhooks are %+v, and then %d", all, told.Webhooks)
		}
		return err
	})
}

// goesOn writes, and looks whether it is there when it is opened again.
func (told recording) goesOn(t *testing.T, s store) {
	t.Helper()
	handler, end := s.open(t)
	path := "/v1/flags/new-checkout/environments/production"
	if a := ask(t, handler, "PATCH", path, told.Keys["user"], `{"enabled": false}`); a.Status != 200 || a.Body.(map[string]any)["changed"] != true {
		t.Errorf("a write: %d %v", a.Status, a.Body)
	}
	end()
	s.revokeKey(t, keyOf(t, told.Keys["service"]))
	handler, end = s.open(t)
	defer end()
	if a := ask(t, handler, "GET", "/v1/flags/new-checkout/history", told.Keys["user"], ""); len(a.Body.(map[string]any)["history"].([]any)) != 3 {
		t.Errorf("the history: %v", a.Body)
	}
	if a := ask(t, handler, "GET", "/v1/whoami", told.Keys["service"], ""); a.Status != 401 {
		t.Errorf("a key that was revoked: %d", a.Status)
	}
	if n := s.events(t); n != told.Events+1 {
		t.Errorf("%d events after one more than %d", n, told.Events)
	}
}

func keyOf(t *testing.T, text string) access.Key {
	t.Helper()
	key := must.Get(access.ParseKey(text))(t)
	return key
}

// lost returns the place of something that was answered then and is not now.
func lost(then, now any, at string) string {
	switch then := then.(type) {
	case map[string]any:
		fields, _ := now.(map[string]any)
		for name, value := range then {
			// The words of a change are chosen when it is read.
			if name == "requestId" || name == "lastEvaluatedAt" || name == "messages" {
				continue
			}
			if where := lost(value, fields[name], at+"/"+name); where != "" {
				return where
			}
		}
		return ""
	case []any:
		items, _ := now.([]any)
		if len(items) != len(then) {
			return at
		}
		for i := range then {
			if where := lost(then[i], items[i], fmt.Sprintf("%s/%d", at, i)); where != "" {
				return where
			}
		}
		return ""
	}
	if reflect.DeepEqual(then, now) {
		return ""
	}
	return at
}

func ask(t *testing.T, handler http.Handler, method, path, key, body string) (a answer) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	if strings.HasPrefix(path, "/api/") {
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+key)))
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if a.Status = w.Code; w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &a.Body); err != nil {
			t.Fatalf("%s %s: %v\n%s", method, path, err, w.Body)
		}
	}
	return a
}

func pack(t *testing.T, path string, told recording, files map[string][]byte) {
	t.Helper()
	text := must.Get(json.MarshalIndent(told, "", " "))(t)
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	files[recordingName] = text
	for name, content := range files {
		must.Do(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}))
		must.Get(archive.Write(content))(t)
	}
	must.Do(t, errors.Join(archive.Close(), zipped.Close()))
	must.Do(t, os.WriteFile(path, out.Bytes(), 0o644))
}

func unpack(t *testing.T, path string) (told recording, files map[string][]byte) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	zipped := must.Get(gzip.NewReader(file))(t)
	archive := tar.NewReader(zipped)
	files = map[string][]byte{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Do(t, err)
		files[header.Name] = must.Get(io.ReadAll(archive))(t)
	}
	must.Do(t, json.Unmarshal(files[recordingName], &told))
	delete(files, recordingName)
	return told, files
}

// TestDataDirectories of svc api.
func TestDataDirectories(t *testing.T) {
	testFormats(t, "directory", local.Format, func(t *testing.T) store { return directory(filepath.Join(t.TempDir(), "data")) })
}

// directory is a data directory, by its path.
type directory string

func samples() map[string][]byte {
	files := map[string][]byte{}
	for _, f := range sample.All() {
		files[f.Path] = f.Content
	}
	return files
}

func (d directory) create(t *testing.T) {
	must.Get(embedded.Create(t.Context(), string(d), embedded.Creation{Name: "shop", Files: samples(), By: "Ada", Source: "the samples"}))(t)
}

func (d directory) issueKey(t *testing.T, q access.KeyRequest) access.Key {
	key, _, err := embedded.IssueKey(t.Context(), string(d), "Ada", q)
	must.Do(t, err)
	return key
}

func (d directory) revokeKey(t *testing.T, key access.Key) {
	registry := must.Get(local.OpenRegistry(string(d)))(t)
	defer registry.Close()
	must.Get(registry.By("Ada").RevokeKey(t.Context(), key.ID(), noon))(t)
}

func (d directory) events(t *testing.T) int {
	events := must.Get(embedded.Audit(t.Context(), string(d), 0))(t)
	return len(events)
}

func (d directory) webhooks(t *testing.T, work func(*webhook.Manager) error) {
	must.Do(t, embedded.Webhooks(t.Context(), string(d), "Ada", work))
}

func (d directory) open(t *testing.T) (http.Handler, func()) {
	s := must.Get(embedded.Open(context.Background(), string(d), embedded.Options{PublicURL: "https://svc.test", Logger: slog.New(slog.DiscardHandler)}))(t)
	return s.Handler(), func() { must.Do(t, s.Close()) }
}

// expires: the days count on which a server runs.
func (d directory) expires(string) bool { return false }

func (d directory) dump(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	must.Do(t, fs.WalkDir(os.DirFS(string(d)), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files[path], err = os.ReadFile(filepath.Join(string(d), path))
		}
		return err
	}))
	return files
}

func (d directory) restore(t *testing.T, files map[string][]byte) {
	must.Do(t, os.MkdirAll(filepath.Join(string(d), "repository.git", "refs", "heads"), 0o700))
	for path, content := range files {
		path = filepath.Join(string(d), filepath.FromSlash(path))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, content, 0o600))
	}
}

// TestBackups of a hosted workspace and of a data directory.
func TestBackups(t *testing.T) {
	t.Run("hosted", func(t *testing.T) {
		testFormats(t, "backup-hosted", backup.Format, func(t *testing.T) store { return hostedBackup{newHosted(t)} })
	})
	t.Run("directory", func(t *testing.T) {
		testFormats(t, "backup-directory", backup.Format, func(t *testing.T) store {
			return directoryBackup{directory(filepath.Join(t.TempDir(), "data"))}
		})
	})
}

const backupName = "backup.tar"

// hostedBackup is what svcadmin backup makes of a workspace.
type hostedBackup struct{ hosted }

func (h hostedBackup) dump(t *testing.T) map[string][]byte {
	var b bytes.Buffer
	must.Get(h.workspace(t).Backup(t.Context(), &b, t.TempDir(), nil))(t)
	return map[string][]byte{backupName: b.Bytes()}
}

func (h hostedBackup) restore(t *testing.T, files map[string][]byte) {
	must.Get(h.stores.Restore(t.Context(), bytes.NewReader(files[backupName]), admin.Restoration{Dir: t.TempDir()}))(t)
}

// directoryBackup is what svc backup makes of a data directory.
type directoryBackup struct{ directory }

func (d directoryBackup) dump(t *testing.T) map[string][]byte {
	var b bytes.Buffer
	must.Get(backup.Write(t.Context(), string(d.directory), &b, t.TempDir()))(t)
	return map[string][]byte{backupName: b.Bytes()}
}

func (d directoryBackup) restore(t *testing.T, files map[string][]byte) {
	must.Do(t, os.MkdirAll(filepath.Dir(string(d.directory)), 0o700))
	must.Get(backup.Restore(t.Context(), bytes.NewReader(files[backupName]), string(d.directory)))(t)
}
