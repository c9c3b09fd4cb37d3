package apitest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/functions"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/faultproxy"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// usedByLambda are the rights that Lambda itself uses with a function's role: it
// takes messages off the queue for the function.
var usedByLambda = regexp.MustCompile(`^TakeMessages: `)

// TestThePoliciesAllowWhatIsSentAndNoMore sends every kind of request, and runs every
// step of maintenance, under the policies of the template: what is sent is allowed, and
// what is allowed is sent.
func TestThePoliciesAllowWhatIsSentAndNoMore(t *testing.T) {
	t.Parallel()
	e := newEverything(t)
	e.reads()
	e.writes()
	e.changeSets()
	e.requests("/v1/change-requests", "proposal")
	e.guards()
	e.applications()
	e.contexts()
	e.signedIn()
	e.killed()
	e.crowd()
	e.maintenance()
	for _, list := range [][]endpoints.Endpoint{httpapi.Endpoints(), httpapi.PageEndpoints(), endpoints.ForApplications, endpoints.ForPeople} {
		for _, endpoint := range list {
			if !e.asked[endpoint.Operation] {
				t.Errorf("no request asks for %s (%s %s)", endpoint.Operation, endpoint.Method, endpoint.Path)
			}
		}
	}
	for _, right := range e.judge.unused() {
		if !usedByLambda.MatchString(right) {
			t.Errorf("no function uses the right %s", right)
		}
	}
}

// everything asks for all that there is to ask.
type everything struct {
	*testing.T
	*service
	judge          *judge
	clock          *faultproxy.Clock // the bucket's
	api            http.Handler
	invoke         functions.Invoke
	asked          map[string]bool
	public, secret string
	session        string // in the browser; "" for none
	serial         int
}

func newEverything(t *testing.T) *everything {
	t.Helper()
	files := apiload.Fixture()
	h := create(t, files, 1)
	e := &everything{T: t, service: h, asked: map[string]bool{}}
	e.clock = must.Get(faultproxy.StartClock(h.S3, 0))(t)
	t.Cleanup(func() { e.clock.Close() })
	h.S3, h.SQS = e.clock.URL(), standin.SQS(t)
	config := must.Get(standin.Config(background(t), h.SQS))(t)
	for _, queue := range []*string{&h.Queue, &h.DeadLetters, &h.WebhookQueue} {
		made := must.Get(sqs.NewFromConfig(config).CreateQueue(background(t), &sqs.CreateQueueInput{QueueName: aws.String(standin.Name())}))(t)
		*queue = *made.QueueUrl
	}
	h.WebhookAllow = "127.0.0.0/8,::1"
	e.judge = h.newJudge(t)
	h.SignIn = fmt.Sprintf(`{"issuer": %q, "clientId": "svc", "clientSecret": "s", "rolesClaim": "groups", "roles": {"platform": ["engineer"]}}`, issuer(t))
	e.api, e.invoke = e.instance(nil)
	for kind, key := range map[access.Kind]*string{access.KindPublicSDK: &e.public, access.KindSecretSDK: &e.secret} {
		made, _, err := h.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: kind, Name: "app", Environment: "production"})
		must.Do(t, err)
		*key = made.Reveal()
	}
	return e
}

// crowd writes by several instances at once, so that they wait for each other.
func (e *everything) crowd() {
	e.Helper()
	var all sync.WaitGroup
	for writer := range 4 {
		api, _ := e.instance(nil)
		all.Go(func() {
			for n := range 6 {
				r := httptest.NewRequest("PATCH", "/v1/configs/timeout/environments/default", strings.NewReader(fmt.Sprintf(`{"value": %d}`, 1000*(writer+1)+n)))
				r.Header.Set("Authorization", "Bearer "+e.keys[0])
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				if api.ServeHTTP(w, r); w.Code != 200 {
					e.Errorf("one of many writers: %d %s", w.Code, w.Body)
				}
			}
		})
	}
	all.Wait()
}

// instance is an instance of each function that has read nothing.
func (e *everything) instance(broken func(*middleware.Stack) error) (http.Handler, functions.Invoke) {
	e.Helper()
	change := func(function string, c *aws.Config) {
		e.judge.watch(function, c)
		c.DisableClockSkewCorrection = true // the bucket has another clock than who checks signatures
		if broken != nil {
			c.RetryMaxAttempts = 1
			c.APIOptions = append(c.APIOptions, broken)
		}
	}
	api := must.Get(e.New(background(e), change, slog.New(slog.DiscardHandler)))(e)
	invoke := must.Get(e.Functions(background(e), change, slog.New(slog.NewTextHandler(e.Output(), nil))))(e)
	return api, invoke
}

// request is one that an endpoint takes.
type request struct {
	path, body string
	header     http.Header
	status     int // 0: any that is no error
}

// ask sends a request to an endpoint, and returns the answer.
func (e *everything) ask(operation string, r request) string {
	e.Helper()
	return e.askBy(e.api, operation, r)
}

func (e *everything) askBy(api http.Handler, operation string, r request) string {
	e.Helper()
	all := slices.Concat(httpapi.Endpoints(), httpapi.PageEndpoints(), endpoints.ForApplications, endpoints.ForPeople)
	i := slices.IndexFunc(all, func(endpoint endpoints.Endpoint) bool { return endpoint.Operation == operation })
	if i < 0 {
		e.Fatalf("there is no endpoint %s", operation)
	}
	path := r.path
	if path == "" {
		path = all[i].Path
	}
	sent := httptest.NewRequestWithContext(background(e), all[i].Method, path, strings.NewReader(r.body))
	switch page := strings.HasPrefix(path, httpapi.ConsolePath); {
	case page:
		asPage(sent, e.session)
	case all[i].Keys == endpoints.Management:
		sent.Header.Set("Authorization", "Bearer "+e.keys[0])
	case all[i].Keys == endpoints.PublicSDK:
		sent.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+e.public)))
	case all[i].Keys == endpoints.SecretSDK, all[i].Keys == endpoints.AnySDK:
		sent.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+e.secret)))
	}
	for name, values := range r.header {
		sent.Header[name] = values
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, sent)
	if w.Code != r.status && (r.status != 0 || w.Code >= 400) {
		e.Errorf("%s: %s %s: %d %s", operation, all[i].Method, path, w.Code, w.Body)
	}
	e.asked[operation] = true
	for _, cookie := range w.Result().Cookies() {
		if cookie.Name == httpapi.SessionCookie {
			e.session = cookie.Value
		}
	}
	return w.Body.String()
}

// asPage makes a request one of the console's page.
func asPage(r *http.Request, session string) {
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set(httpapi.PageHeader, "1")
	if session != "" {
		r.AddCookie(&http.Cookie{Name: httpapi.SessionCookie, Value: session})
	}
}

// issuer tells of itself, and signs nobody in.
func issuer(t *testing.T) string {
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer": %[1]q, "authorization_endpoint": "%[1]s/auth", "token_endpoint": "%[1]s/token", "jwks_uri": "%[1]s/keys"}`, server.URL)
	})
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// oneTime is a key that signs an administrator in, once.
func (h *service) oneTime(t testing.TB, name string) string {
	t.Helper()
	key, _, err := h.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindOneTime, Name: name, Email: name + "@example.com", Roles: []string{"admin", "protected_engineer"}, Expires: access.OneTimeFor})
	must.Do(t, err)
	return key.Reveal()
}

// signedIn signs somebody in, and asks for all that the console's page asks for.
func (e *everything) signedIn() {
	key := e.oneTime(e, "grace")
	e.ask("getSession", request{})
	e.ask("signIn", request{body: fmt.Sprintf(`{"oneTimeKey": %q}`, key)})
	if e.session == "" {
		e.Fatal("the browser got no session")
	}
	e.ask("signIn", request{body: fmt.Sprintf(`{"oneTimeKey": %q}`, key), status: 401}) // it is spent
	if row := e.ask("getSession", request{}); !strings.Contains(row, e.workspace.ID) || !strings.Contains(row, `"administers":true`) {
		e.Errorf("who is signed in: %s", row)
	}
	e.ask("linkIdentity", request{})
	e.ask("beginSignIn", request{body: fmt.Sprintf(`{"workspace": %q}`, e.workspace.ID)})
	for body, status := range map[string]int{`{}`: 400, `{"workspace": "shop"}`: 400, `{"workspace": "0000000000000000"}`: 404} {
		e.ask("beginSignIn", request{body: body, status: status})
	}
	e.ask("signIn", request{body: `{"oneTimeKey": "svc_ot_"}`, status: 401})
	var principal, made struct{ ID string }
	must.Do(e, json.Unmarshal([]byte(e.ask("addPrincipal", request{body: `{"type": "service_account", "name": "ci", "roles": ["engineer"]}`})), &principal))
	at := func(id string) string { return "/console/api/settings/principals/" + id }
	e.ask("listPrincipals", request{})
	e.ask("changePrincipal", request{path: at(principal.ID), body: `{"roles": ["protected_engineer"]}`})
	must.Do(e, json.Unmarshal([]byte(e.ask("createKey", request{body: fmt.Sprintf(`{"kind": "service_account", "name": "ci", "principalId": %q}`, principal.ID)})), &made))
	e.ask("listKeys", request{})
	e.ask("rotateKey", request{path: "/console/api/settings/keys/" + made.ID + "/rotation", body: `{"overlapHours": 1}`})
	e.ask("revokeKey", request{path: "/console/api/settings/keys/" + made.ID})
	e.webhooks(func() {
		e.ask("createChangeRequest", request{path: "/console/api/v1/change-requests", body: `{"title": "Hear of it", "operations": [{"op": "create", "type": "feature_flag", "body": {"key": "heard-of"}}]}`})
		e.ask("addEnvironment", request{body: `{"name": "preview"}`})
		e.ask("changeEnvironment", request{path: "/console/api/settings/environments/preview", body: `{"protected": true}`})
	})
	e.ask("listAllEnvironments", request{})
	e.ask("getSignIn", request{})
	must.Do(e, json.Unmarshal([]byte(e.ask("addPrincipal", request{body: `{"type": "user", "name": "Linus", "email": "linus@example.com", "roles": ["engineer"]}`})), &principal))
	e.ask("makeSignInAddress", request{path: at(principal.ID) + "/address"})
	e.ask("endSessions", request{path: at(principal.ID) + "/sessions"})
	e.ask("makeSignInAddress", request{path: at(principal.ID) + "/address"}) // in the place of what has ended
	if trail := e.ask("listAudit", request{}); !strings.Contains(trail, "signed in by one-time address") || !strings.Contains(trail, "environment added: preview") {
		e.Errorf("the trail is %s", trail)
	}
	// What the page asks of the REST API, by the session alone.
	const api = "/console/api"
	e.ask("listFlags", request{path: api + "/v1/flags"})
	e.ask("updateFlagEnvironment", request{path: api + "/v1/flags/redesign/environments/staging", body: `{"enabled": true}`})
	e.ask("listContexts", request{path: api + "/v1/contexts"})
	e.ask("applyChanges", request{path: api + "/v1/changes", body: creations("page", 3)})
	e.requests(api+"/v1/change-requests", "page-proposal")
	e.ask("listFlags", request{path: "/v1/flags", header: http.Header{"Authorization": nil, "Cookie": {httpapi.SessionCookie + "=" + e.session}}, status: 401})
	ended := e.session
	e.ask("signOut", request{})
	e.session = ended
	e.ask("getSession", request{})
	e.session = ""
}

// write sends a write three ways: as a dry run, under an Idempotency-Key, and once
// more under the key to an instance that has read nothing.
func (e *everything) write(operation, path, body string) (commit string) {
	e.Helper()
	e.serial++
	once := http.Header{"Idempotency-Key": {fmt.Sprint("once-", e.serial)}}
	e.ask(operation, request{path: path + "?dryRun=true", body: body})
	first := e.ask(operation, request{path: path, body: body, header: once})
	api, _ := e.instance(nil)
	if again := e.askBy(api, operation, request{path: path, body: body, header: once}); again != first {
		e.Errorf("%s %s: the first answer is %s, the next one %s", operation, path, first, again)
	}
	var told struct{ CommitSHA string }
	must.Do(e, json.Unmarshal([]byte(first), &told))
	return told.CommitSHA
}

// reads asks for all that can be read, from an instance that has read nothing yet.
func (e *everything) reads() {
	for _, operation := range []string{"getWhoami", "getWorkspace", "listWorkspaces", "listEnvironments", "exportDocuments", "listFlags", "getManifest", "listConfigs", "listLogLevels",
		"listSegments", "listSchemas", "listContexts", "getOpenAPI", "getDocs", "getStoredConfigSchema"} {
		e.ask(operation, request{})
	}
	e.ask("listDifferences", request{path: "/v1/environments/production/differences?from=staging"})
	e.ask("evaluateContext", request{body: `{"environment": "production", "context": {"user": {"key": "u-1"}}, "explain": true}`})
	e.ask("leadToConsole", request{path: "/"})
	e.ask("openConsole", request{})
	page := e.ask("getConsole", request{})
	e.ask("getConsole", request{path: "/console/" + regexp.MustCompile(`[0-9a-f]{16}/[^"]+`).FindString(page)})
	e.ask("getDocsFile", request{path: regexp.MustCompile(`docs/[0-9a-f]{16,}/[^"]+`).ReplaceAllString(regexp.MustCompile(`docs/[0-9a-f]{16,}/[^"]+`).FindString(e.ask("getDocs", request{})), "/v1/$0")})
}

// writes writes items of each kind in each way, and reads what became of them.
func (e *everything) writes() {
	for _, kind := range []struct{ of, list, create, more, pause string }{
		{"Flag", "/v1/flags/", `{"key": "made-flag"}`, `{"enabled": true}`, `{}`},
		{"Config", "/v1/configs/", `{"key": "made-config", "valueType": "int", "value": 1}`, `{"value": 2}`, `{"serve": 3}`},
		{"Segment", "/v1/segments/", `{"key": "made-segment", "default": {"rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["beta"]}}], "value": {"type": "bool", "value": true}}]}}`, "", ""},
	} {
		path := kind.list + "made-" + strings.ToLower(kind.of)
		e.write("create"+kind.of, strings.TrimSuffix(kind.list, "/"), kind.create)
		change := e.replace(kind.of, path)
		if kind.more != "" {
			change = e.write("update"+kind.of+"Environment", path+"/environments/default", kind.more)
			e.ask("get"+kind.of+"Evaluations", request{path: path + "/evaluations"})
			e.write("pause"+kind.of, path+"/environments/production/pause", kind.pause)
			e.write("resume"+kind.of, path+"/environments/production/resume", `{}`)
		}
		e.write("revert"+kind.of, path+"/revert", fmt.Sprintf(`{"mode": "undo", "commitSha": %q}`, change))
		e.write("revert"+kind.of, path+"/revert", fmt.Sprintf(`{"mode": "restore", "commitSha": %q}`, change))
		e.ask("get"+kind.of, request{path: path})
		e.ask("get"+kind.of+"History", request{path: path + "/history"})
		e.ask("get"+kind.of+"Document", request{path: path + "/document?at=" + change[:10]})
		e.ask("listActivity", request{path: "/v1/activity?limit=100"})
		deleted := e.write("delete"+kind.of, path, "")
		e.write("revert"+kind.of, path+"/revert", fmt.Sprintf(`{"mode": "undo", "commitSha": %q}`, deleted))
	}
	logs := "/v1/log-levels/log-level.made"
	e.write("updateLogLevel", logs, `{"environment": "production", "level": "DEBUG"}`)
	change := e.write("updateLogLevel", logs, `{"environment": "production", "level": "WARN"}`)
	e.replace("LogLevel", logs)
	e.write("revertLogLevel", logs+"/revert", fmt.Sprintf(`{"mode": "restore", "commitSha": %q}`, change))
	e.write("deleteLogLevel", logs, "")
	e.write("replaceSchemaDocument", "/v1/schemas/made/document", `{"document": {"type": "object"}}`)
	e.ask("getSchemaDocument", request{path: "/v1/schemas/made/document"})
	e.write("deleteSchema", "/v1/schemas/made", "")
	const manifest = "/openfeature/v0/manifest/flags"
	e.ask("createManifestFlag", request{path: manifest, body: `{"key": "from-the-cli", "type": "boolean", "defaultValue": true}`})
	e.ask("replaceManifestFlag", request{path: manifest + "/from-the-cli", body: `{"key": "from-the-cli", "type": "boolean", "defaultValue": false}`})
	e.ask("deleteManifestFlag", request{path: manifest + "/from-the-cli"})
	// A rollout that comes back reads the item's history.
	for _, body := range []string{`{"rollout": [{"value": true, "percent": 50}, {"value": false, "percent": 50}]}`, `{"enabled": false}`, `{"rollout": [{"value": true, "percent": 50}, {"value": false, "percent": 50}]}`} {
		e.write("updateFlagEnvironment", "/v1/flags/redesign/environments/staging", body)
	}
	// Enough that a snapshot is due.
	for i := range manyToggles {
		e.ask("updateFlagEnvironment", request{path: "/v1/flags/made-flag/environments/staging", body: fmt.Sprintf(`{"enabled": %t}`, i%2 == 0)})
	}
}

// replace reads a document, and writes it back with a tag.
func (e *everything) replace(kind, path string) (commit string) {
	e.Helper()
	var read struct {
		CommitSHA string
		Document  map[string]any
	}
	must.Do(e, json.Unmarshal([]byte(e.ask("get"+kind+"Document", request{path: path + "/document"})), &read))
	read.Document["tags"] = []string{"changed"}
	body := must.Get(json.Marshal(map[string]any{"document": read.Document, "expectedCommitSha": read.CommitSHA}))(e)
	return e.write("replace"+kind+"Document", path+"/document", string(body))
}

// changeSets sends one of a few documents, one of more than a transaction holds, and one
// whose files are too many for a row.
func (e *everything) changeSets() {
	e.write("applyChanges", "/v1/changes", creations("few", 3))
	e.write("applyChanges", "/v1/changes", creations("many", 120))
	e.ask("applyChanges", request{path: "/v1/changes", body: longKeys()})
}

// requests proposes changes, approves and applies them, by keys and from the console's page.
func (e *everything) requests(base, flag string) {
	e.Helper()
	key, _, err := e.workspace.IssueKey(background(e), "", access.KeyRequest{Kind: access.KindUser, Name: "approver", Email: "approver@example.com", Roles: []string{"protected_engineer"}})
	must.Do(e, err)
	other := http.Header{"Authorization": {"Bearer " + key.Reveal()}}
	body := fmt.Sprintf(`{"title": "Launch", "operations": [{"op": "create", "type": "feature_flag", "body": {"key": %q}}]}`, flag)
	once := http.Header{"Idempotency-Key": {"propose-" + flag}}
	e.ask("createChangeRequest", request{path: base + "?dryRun=true&impact=true", body: body})
	var made struct{ ID string }
	first := e.ask("createChangeRequest", request{path: base, body: body, header: once})
	must.Do(e, json.Unmarshal([]byte(first), &made))
	if again := e.ask("createChangeRequest", request{path: base, body: body, header: once}); again != first {
		e.Errorf("proposed again: %s", again)
	}
	at, api := base+"/"+made.ID, "/v1/change-requests/"+made.ID
	e.ask("listChangeRequests", request{path: base + "?state=open"})
	e.ask("updateChangeRequest", request{path: at, body: `{"description": "At last."}`})
	e.ask("commentOnChangeRequest", request{path: at + "/comments", body: `{"text": "Hm."}`})
	var shown struct{ Preview struct{ Digest string } }
	must.Do(e, json.Unmarshal([]byte(e.ask("getChangeRequest", request{path: at + "?impact=true"})), &shown))
	digest := fmt.Sprintf(`{"digest": %q}`, shown.Preview.Digest)
	e.ask("approveChangeRequest", request{path: api + "/approvals", body: digest, header: other})
	e.ask("withdrawApproval", request{path: api + "/approvals", header: other})
	e.ask("approveChangeRequest", request{path: api + "/approvals", body: digest, header: other})
	if applied := e.ask("applyChangeRequest", request{path: at + "/apply"}); !strings.Contains(applied, `"state":"applied"`) {
		e.Errorf("%s", applied)
	}
	e.ask("applyChangeRequest", request{path: at + "/apply"})
	e.ask("listChangeRequests", request{path: base})
	must.Do(e, json.Unmarshal([]byte(e.ask("createChangeRequest", request{path: base, body: strings.Replace(body, flag, flag+"-2", 1)})), &made))
	e.ask("closeChangeRequest", request{path: base + "/" + made.ID + "/close"})
}

// guards are alerts, of one of which a commit is taken back.
func (e *everything) guards() {
	key, _, err := e.workspace.IssueKey(background(e), "", access.KeyRequest{Kind: access.KindGuard, Name: "watch", Roles: []string{"protected_engineer"}})
	must.Do(e, err)
	by := http.Header{"Authorization": {"Bearer " + key.Reveal()}}
	e.ask("takeSNS", request{body: `{"Type": "Notification"}`, header: by, status: 403})
	alert := request{header: by, body: fmt.Sprintf(`{"version": "4", "alerts": [{"status": "firing", "startsAt": %q}]}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))}
	value := func(n int, guard string) {
		e.ask("updateConfigEnvironment", request{path: "/v1/configs/timeout/environments/default", body: fmt.Sprintf(`{"value": %d%s}`, n, guard)})
	}
	value(4321, `, "guard": "watch"`)
	if told := e.ask("takeAlertmanager", alert); !strings.Contains(told, `"changed":true`) {
		e.Errorf("the alert: %s", told)
	}
	e.ask("takeAlertmanager", alert)
	value(4322, `, "guard": "watch"`)
	value(4323, "")
	alert.status = 409
	e.ask("takeAlertmanager", alert)
}

// applications are polls and telemetry.
func (e *everything) applications() {
	public := http.Header{"X-Api-Key": {e.public}}
	e.ask("getHealth", request{})
	e.ask("evaluate", request{path: poll})
	e.ask("getDocuments", request{})
	e.ask("describeKey", request{})
	e.ask("evaluateFlags", request{body: `{"context": {"targetingKey": "u-1"}}`, header: public})
	e.ask("evaluateFlag", request{path: "/ofrep/v1/evaluate/flags/redesign", body: `{"context": {}}`, header: public})
	for _, events := range []string{
		`{"summaries": {"summaries": [{"key": "redesign", "counters": [{"count": 3, "selectedValue": {"bool": false}}]}]}}`,
		seen(time.Now().Add(-48 * time.Hour)), seen(time.Now()),
		shapes("first", telemetry.MaxShapeTypes), shapes("second", telemetry.MaxShapeTypes), // the first ones make room
	} {
		e.serial++
		e.ask("reportContexts", request{path: "/api/v1/telemetry/", body: fmt.Sprintf(`{"instanceHash": "i", "batchId": "b-%d", "events": [%s]}`, e.serial, events)})
	}
	counts := `{"summaries": {"summaries": [{"key": "redesign", "counters": [{"count": 3, "selectedValue": {"bool": false}}]}]}}`
	relayed := fmt.Sprintf(`{"instanceHash": "i", "batchId": "relayed", "reports": ["%s", "%s"], "events": [%s, %s]}`, strings.Repeat("1", 64), strings.Repeat("2", 64), counts, counts)
	secret := http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("1:"+e.secret))}}
	e.ask("reportContexts", request{path: "/api/v1/telemetry/", body: relayed, header: secret})
}

// shapes are of so many types of context.
func shapes(name string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"name": "%s-%d", "fieldTypes": {"key": 2}}`, name, i))
	}
	return `{"contextShapes": {"shapes": [` + strings.Join(all, ",") + `]}}`
}

// seen is a context that was seen at a time.
func seen(at time.Time) string {
	return fmt.Sprintf(`{"exampleContexts": {"examples": [{"timestamp": %d, "contextSet": {"contexts": [{"type": "user", "values": {"key": "u-7", "name": "Ada"}}]}}]}}`, at.UnixMilli())
}

// contexts reads what telemetry has saved, and forgets it.
func (e *everything) contexts() {
	api, _ := e.instance(nil)
	e.askBy(api, "listFlags", request{})
	e.askBy(api, "listConfigs", request{})
	for _, item := range []string{"Flag", "Config"} {
		e.ask("get"+item+"Evaluations", request{path: map[string]string{"Flag": "/v1/flags/redesign", "Config": "/v1/configs/timeout"}[item] + "/evaluations?days=60"})
	}
	const impact = "?dryRun=true&impact=true"
	e.ask("updateFlagEnvironment", request{path: "/v1/flags/redesign/environments/production" + impact, body: `{"enabled": true, "replaceTargeting": true}`})
	e.ask("updateConfigEnvironment", request{path: "/v1/configs/timeout/environments/production" + impact, body: `{"value": 7, "replaceTargeting": true}`})
	e.ask("deleteSegment", request{path: "/v1/segments/made-segment" + impact})
	e.ask("applyChanges", request{path: "/v1/changes" + impact, body: creations("impact", 2)})
	e.ask("listContexts", request{path: "/v1/contexts?query=ada"})
	e.ask("exportContexts", request{path: "/v1/contexts/export?environment=production"})
	e.ask("deleteContext", request{path: "/v1/contexts/user/u-7", header: http.Header{"Idempotency-Key": {"forget"}}})
	e.ask("deleteContext", request{path: "/v1/contexts/user/u-7", header: http.Header{"Idempotency-Key": {"forget"}}, status: 404})
}

// killed has large change sets end before each of their requests, and after each, or in a
// short run at every fifth: each set is there in full or not at all, and so once what was
// answered. Rows of every kind are left
// over; and one of the largest sets ends before its head moves.
func (e *everything) killed() {
	e.Helper()
	const documents = 120
	outcomes := map[int]int{}
	for _, after := range []bool{false, true} {
		for step, landed := int64(0), false; !landed; step += int64(each(5, 1)) {
			var n atomic.Int64
			n.Store(step)
			prefix := fmt.Sprintf("killed-%t-%d", after, step)
			landed = e.killedAt(creations(prefix, documents), func(string) (dies, afterwards bool) {
				return n.Add(-1) < 0, after && n.Load() == -1
			})
			there := strings.Count(e.ask("listFlags", request{}), `"key":"`+prefix+"-")
			if there != 0 && there != documents || landed && there == 0 {
				e.Errorf("killed at request %d (after it: %t): %d of %d flags are there", step, after, there, documents)
			}
			outcomes[there]++
		}
	}
	if outcomes[0] == 0 || outcomes[documents] < 2 {
		e.Errorf("by how many flags were there: %v", outcomes)
	}
	e.killedAt(longKeys(), func(operation string) (dies, afterwards bool) { return operation == "TransactWriteItems", false })
}

// killedAt sends a change set to an instance that dies at a request of its own, or
// after it, and reports whether it has lived.
func (e *everything) killedAt(set string, at func(operation string) (dies, afterwards bool)) (landed bool) {
	e.Helper()
	api, _ := e.instance(func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("Kill", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (out middleware.DeserializeOutput, m middleware.Metadata, err error) {
			dies, afterwards := at(middleware.GetOperationName(ctx))
			if !dies || afterwards {
				out, m, err = next.HandleDeserialize(ctx, in)
			}
			if dies {
				err = errors.New("killed")
			}
			return out, m, err
		}), middleware.After)
	})
	r := httptest.NewRequestWithContext(background(e), "POST", "/v1/changes", strings.NewReader(set))
	r.Header.Set("Authorization", "Bearer "+e.keys[0])
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w.Code == http.StatusOK
}

// creations is a change set that creates so many flags.
func creations(prefix string, n int) string {
	var operations []string
	for i := range n {
		operations = append(operations, fmt.Sprintf(`{"op":"create","type":"feature_flag","body":{"key":"%s-%d"}}`, prefix, i))
	}
	return `{"operations":[` + strings.Join(operations, ",") + `]}`
}

// maxOperations is how many a change set has at most. So many, of keys as long as these
// are, are more than the row of a commit holds.
const maxOperations = 2000

func longKeys() string {
	var operations []string
	for range maxOperations {
		key := rand.Text() + rand.Text() + rand.Text() + rand.Text() + rand.Text() + rand.Text() + rand.Text()
		operations = append(operations, fmt.Sprintf(`{"op":"create","type":"feature_flag","body":{"key":%q}}`, key))
	}
	return `{"operations":[` + strings.Join(operations, ",") + `]}`
}

// webhooks has some made, told of what happens, and deleted: by a receiver that does not take
// anything at first.
func (e *everything) webhooks(happens func()) {
	var down atomic.Bool
	got, proposed := map[string]int{}, false
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got[r.Header.Get("Webhook-Id")]++; down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		text, _ := io.ReadAll(r.Body)
		proposed = proposed || strings.Contains(string(text), `"title":"Hear of it","kind":"created"`)
	}))
	defer receiver.Close()
	var made struct{ ID, Secret string }
	must.Do(e, json.Unmarshal([]byte(e.ask("createWebhook", request{body: fmt.Sprintf(`{"name": "receiver", "address": "%s/hidden", "kinds": ["change", "audit", "request"]}`, receiver.URL)})), &made))
	at := "/console/api/settings/webhooks/" + made.ID
	e.ask("changeWebhook", request{path: at, body: `{"tags": [], "form": "standard"}`})
	e.ask("rotateWebhook", request{path: at + "/rotation", body: `{"overlapHours": 1}`})
	if a := e.ask("testWebhook", request{path: at + "/test"}); !strings.Contains(a, `"status":200`) {
		e.Errorf("a test: %s", a)
	}
	message := must.Get(json.Marshal(map[string]any{"Records": []map[string]string{{"messageId": "m", "body": fmt.Sprintf(`{"workspace":"requests/%s"}`, e.workspace.ID)}, {"messageId": "n", "body": "not understood"}}}))(e)
	tell := func() {
		e.Helper()
		if answer, err := e.invoke(background(e), "webhooks", message); err != nil || string(answer) != `{"batchItemFailures":[{"itemIdentifier":"n"}]}` {
			e.Errorf("webhooks: %s, %v", answer, err)
		}
	}
	tell()
	down.Store(true)
	happens()
	tell()
	if detail := e.ask("getWebhook", request{path: at}); !strings.Contains(detail, `"problem":"the answer is 502"`) || strings.Contains(detail, "hidden") {
		e.Errorf("a receiver that is down: %s", detail)
	}
	down.Store(false)
	time.Sleep(10 * time.Second) // the first wait
	tell()
	if list := e.ask("listWebhooks", request{}); !strings.Contains(list, `"waiting":0,"parked":0`) {
		e.Errorf("a receiver that is back: %s", list)
	}
	if len(got) < 6 || !proposed {
		e.Errorf("%d were sent, a change request: %v", len(got), proposed)
	}
	e.ask("redeliver", request{path: at + "/deliveries/msg_none", status: 404})
	down.Store(true)
	e.ask("changeEnvironment", request{path: "/console/api/settings/environments/preview", body: `{"protected": false}`})
	tell()
	e.ask("deleteWebhook", request{path: at}) // and what waits for it
}

// maintenance runs until nothing is left to do: it merges, and days later deletes what
// was merged and what is left over.
func (e *everything) maintenance() {
	message := must.Get(json.Marshal(map[string]any{"Records": []map[string]string{{"messageId": "m", "body": fmt.Sprintf(`{"workspace": %q}`, e.workspace.ID)}, {"messageId": "n", "body": "not understood"}}}))(e)
	if _, err := e.invoke(background(e), "maintenance", []byte(`{}`)); err != nil { // as the schedule does
		e.Error(err)
	}
	for day := range 4 {
		if day == 2 { // the rows of before are left over from now on
			must.Get(e.workspace.Reindex(background(e), "", admin.Checking{Dir: e.TempDir()}))(e)
		}
		answer, err := e.invoke(background(e), "maintenance", message)
		if err != nil || string(answer) != `{"batchItemFailures":[]}` {
			e.Errorf("maintenance: %s, %v", answer, err)
		}
		e.clock.Pass(25 * time.Hour)
		for i := range 2 { // commits, so that there is something to do
			e.ask("updateFlagEnvironment", request{path: "/v1/flags/made-flag/environments/staging", body: fmt.Sprintf(`{"enabled": %t}`, i%2 == 0)})
		}
	}
}
