package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/standin"
)

// service is a workspace of the hosted service.
type service struct {
	instance.Site
	counter   *counter
	documents int
	key       string
	sdk       string // a public key of an application
	server    string // a secret one
	serial    int
}

// open starts the stores and makes a workspace.
func open(ctx context.Context, documents int) (*service, error) {
	s := &service{documents: documents, counter: newCounter(instance.Waits), Site: instance.Site{Table: standin.Name(), Bucket: standin.Name()}}
	var err error
	if s.DynamoDB, err = standin.StartDynamoDB(); err != nil {
		return nil, err
	}
	if s.S3, err = standin.StartS3(); err != nil {
		return nil, err
	}
	_, objects, err := s.Clients(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.Bucket}); err != nil {
		return nil, err
	}
	setenv := func(variable, value string) { _ = os.Setenv(variable, value) } // which takes any name
	cfg, err := standin.OperatorConfig(ctx, setenv, s.DynamoDB, s.S3)
	if err != nil {
		return nil, err
	}
	stores := admin.Open(cfg, s.Table, s.Bucket)
	if err := stores.CreateTable(ctx); err != nil {
		return nil, err
	}
	return s, s.fill(ctx, stores)
}

func (s *service) fill(ctx context.Context, stores *admin.Stores) error {
	source := source.Source{Name: "the benchmark's files", Files: map[string][]byte{"svc.json": []byte(`{"environments": ["staging", "production"]}`)}}
	for i := range s.documents {
		source.Files["feature-flags/"+name(i)+".json"] = document(i, 0)
	}
	w, err := stores.Create(ctx, admin.Creation{Name: "cost", Source: &source, Author: signature()})
	if err != nil {
		return err
	}
	key, _, err := w.IssueKey(ctx, "", access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: "ada@example.com", Roles: []string{"protected_engineer"}})
	if err != nil {
		return err
	}
	sdk, _, err := w.IssueKey(ctx, "", access.KeyRequest{Kind: access.KindPublicSDK, Name: "web", Environment: "production"})
	if err != nil {
		return err
	}
	server, _, err := w.IssueKey(ctx, "", access.KeyRequest{Kind: access.KindSecretSDK, Name: "shop", Environment: "production"})
	s.key, s.sdk, s.server = key.Reveal(), sdk.Reveal(), server.Reveal()
	return err
}

func signature() repository.Signature {
	return repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now()}
}

func name(i int) string { return fmt.Sprintf("flag-%05d", i) }

// document is a flag of the usual size.
func document(i, version int) []byte {
	return fmt.Appendf(nil, `{
  "key": %q,
  "type": "feature_flag",
  "valueType": "bool",
  "description": "what the flag is for, in a sentence or two, for whoever finds it a year from now; version %d",
  "access": "standard",
  "tags": ["checkout", "web"],
  "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]},
  "environments": [{"id": "production", "rules": [
    {"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["pro", "team"]}}], "value": {"type": "bool", "value": true}},
    {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}],
  "variants": [{"value": {"type": "bool", "value": false}}, {"value": {"type": "bool", "value": true}}]
}
`, name(i), version)
}

// new is a new instance whose requests count.
func (s *service) new(ctx context.Context) (http.Handler, error) {
	return s.New(ctx, func(_ string, c *aws.Config) { c.APIOptions = append(c.APIOptions, s.counter.options()...) }, slog.New(slog.DiscardHandler))
}

const (
	poll    = "/api/v2/configs/eval-with-context/e30"
	configs = "/api/v2/configs"
	reports = "/api/v1/telemetry/"
)

// ask sends a request and returns the answer.
func (s *service) ask(api http.Handler, method, path, body string) ([]byte, error) {
	w, err := s.answer(api, method, path, body, nil)
	if err != nil {
		return nil, err
	}
	return w.Body.Bytes(), nil
}

// answer sends a request with more headers.
func (s *service) answer(api http.Handler, method, path, body string, more http.Header) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.key)
	for of, key := range map[string]string{poll: s.sdk, configs: s.server, reports: s.sdk} {
		if path == of {
			r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+key)))
		}
	}
	maps.Copy(r.Header, more)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	if w.Code/100 != 2 && w.Code != http.StatusNotModified {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	s.counter.answer(w.Body.Len())
	return w, nil
}

// toggle changes a flag.
func (s *service) toggle(api http.Handler) error {
	s.serial++
	body := fmt.Sprintf(`{"enabled": %t}`, s.serial/s.documents%2 == 0)
	_, err := s.ask(api, "PATCH", "/v1/flags/"+name(s.serial%s.documents)+"/environments/staging", body)
	return err
}

// What traffic is made of.
const (
	aWrite      = "a write (one flag toggled)"
	aPoll       = "a poll, nothing new (304)"
	oneFlag     = "a read of one flag"
	allFlags    = "the list of all flags"
	flagHistory = "the history of a flag"
	newInstance = "a read of a new instance"
)

// measure goes through what clients ask for.
func (s *service) measure(ctx context.Context, commits int) ([]row, error) {
	writer, err := s.new(ctx)
	if err != nil {
		return nil, err
	}
	reader, err := s.new(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.ask(reader, "GET", "/v1/flags", ""); err != nil {
		return nil, err
	}
	m := &measurements{service: s}
	get := func(path string) func() error {
		return func() error { _, err := s.ask(reader, "GET", path, ""); return err }
	}
	m.add(aWrite, commits, func() error { return s.toggle(writer) })
	m.add(fmt.Sprintf("a read after %d commits elsewhere", commits), 1, get("/v1/flags"))
	again := s.unchanged(reader)
	if err := again(); err != nil { // which is sent everything
		return nil, err
	}
	m.add(aPoll, 20, again)
	m.add(oneFlag, 20, get("/v1/flags/"+name(1)))
	m.add(allFlags, 20, get("/v1/flags"))
	m.add(flagHistory, 20, get("/v1/flags/"+name(1)+"/history?limit=20"))
	m.add("a page of the feed", 20, get("/v1/activity?limit=20"))
	first, err := s.oldest(reader)
	if err != nil {
		return nil, err
	}
	m.add("a flag at a past commit", 20, get("/v1/flags/"+name(1)+"/document?at="+first))
	m.add(newInstance, 10, func() error {
		api, err := s.new(ctx)
		if err == nil {
			_, err = s.ask(api, "GET", "/v1/flags", "")
		}
		return err
	})
	return m.rows, m.err
}

// unchanged polls with the ETag of the poll before.
func (s *service) unchanged(api http.Handler) func() error {
	header := http.Header{}
	return func() error {
		w, err := s.answer(api, "GET", poll, "", header)
		if err == nil {
			header.Set("If-None-Match", w.Header().Get("ETag"))
		}
		return err
	}
}

// fullAnswers measures what applications are sent when something is new, or
// when they begin.
func (s *service) fullAnswers(ctx context.Context) ([]row, error) {
	api, err := s.new(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.ask(api, "GET", poll, ""); err != nil {
		return nil, err
	}
	m := &measurements{service: s}
	for _, q := range []struct{ what, path, encoding string }{
		{"a poll, %d flags", poll, "identity"},
		{"a poll, %d flags, gzip", poll, "gzip"},
		{"all documents, %d flags, gzip", configs, "gzip"},
	} {
		m.add(fmt.Sprintf(q.what, s.documents), 5, func() error {
			_, err := s.answer(api, "GET", q.path, "", http.Header{"Accept-Encoding": {q.encoding}})
			return err
		})
	}
	return m.rows, m.err
}

// telemetry measures what reports of contexts take.
func (s *service) telemetry(ctx context.Context) ([]row, error) {
	api, err := s.new(ctx)
	if err != nil {
		return nil, err
	}
	report := func(number, contexts, from int) error {
		var examples []string
		for i := range contexts {
			examples = append(examples, fmt.Sprintf(`{"timestamp":%d,"contextSet":{"contexts":[{"type":"user","values":{"key":{"string":"user-%06d"},"plan":{"string":"pro"},"country":{"string":"DE"}}}]}}`, time.Now().UnixMilli(), from+i))
		}
		body := fmt.Sprintf(`{"instanceHash":"i-%d","events":[{"exampleContexts":{"examples":[%s]}}]}`, number, strings.Join(examples, ","))
		_, err := s.answer(api, "POST", reports, body, http.Header{"Content-Type": {"application/json"}})
		return err
	}
	m, number := &measurements{service: s}, 0
	if err := report(0, 1, 0); err != nil { // the first of all notes what types there are
		return nil, err
	}
	for _, contexts := range []int{1, 30} {
		last := 0
		m.add(fmt.Sprintf("telemetry, new contexts: %d", contexts), 5, func() error { number++; last = 1000 * number; return report(number, contexts, last) })
		m.add(fmt.Sprintf("telemetry, seen again: %d", contexts), 5, func() error { number++; return report(number, contexts, last) })
	}
	return m.rows, m.err
}

func (s *service) oldest(api http.Handler) (string, error) {
	text, err := s.ask(api, "GET", "/v1/flags/"+name(1)+"/history", "")
	var told struct{ History []struct{ SHA string } }
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&told)
	}
	if err != nil || len(told.History) == 0 {
		return "", fmt.Errorf("the history of a flag is %s: %w", text, err)
	}
	return told.History[len(told.History)-1].SHA, nil
}

// measurements are rows of the table, until something fails.
type measurements struct {
	*service
	rows []row
	err  error
}

// add measures an operation that is done n times.
func (m *measurements) add(what string, n int, do func() error) {
	if m.err != nil {
		return
	}
	m.counter.take(1)
	var rounds float64
	for range n {
		if m.err = do(); m.err != nil {
			return
		}
		rounds += float64(m.counter.rounds.Take())
	}
	u := m.counter.take(n)
	u.rounds = rounds / float64(n)
	m.rows = append(m.rows, row{what, u})
}
