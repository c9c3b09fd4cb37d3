package functions

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"svc.example/svc/shared/console"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/testing/iam"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/template"
)

const path = "../template.yaml"

func read(t *testing.T) *template.Template {
	t.Helper()
	got := must.Get(template.Read(path))(t)
	return got
}

func functions(t *testing.T) map[string]template.Function {
	t.Helper()
	got := must.Get(read(t).Functions())(t)
	return got
}

var record = flag.Bool("record", false, "write the routes of the table of endpoints into the template")

const (
	routesBegin = "  # The routes of the API and of shared/endpoints. Written by: go test ./functions -run Routes -record\n\n"
	routesEnd   = "  # The end of the routes.\n"
)

func TestTheRoutesAreThoseOfTheEndpoints(t *testing.T) {
	integrations := map[string]string{}
	for id, f := range functions(t) {
		integrations[f.Group()] = strings.TrimSuffix(id, "Function") + "Integration"
	}
	var want strings.Builder
	for _, r := range endpoints.Routes(httpapi.Endpoints()) {
		name := "" // V1FlagsKey. A route that gets another name cannot be deployed beside the old one
		for _, word := range strings.FieldsFunc(strings.TrimPrefix(r.Key, "ANY"), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		fmt.Fprintf(&want, "  %sRoute:\n    Type: AWS::ApiGatewayV2::Route\n    Properties:\n      ApiId: !Ref Api\n      RouteKey: %s\n      Target: !Sub integrations/${%s}\n\n", name, r.Key, integrations[r.Function])
	}
	text := must.Get(os.ReadFile(path))(t)
	before, rest, begins := strings.Cut(string(text), routesBegin)
	got, after, ends := strings.Cut(rest, routesEnd)
	if !begins || !ends {
		t.Fatalf("%s has no section of routes, between the lines\n%s%s", path, routesBegin, routesEnd)
	}
	if *record {
		must.Do(t, os.WriteFile(path, []byte(before+routesBegin+want.String()+routesEnd+after), 0o666))
		return
	}
	if got != want.String() {
		t.Errorf("the routes are not those of the table of endpoints; write them:\n  go test ./functions -run Routes -record\n%s", want.String())
	}
	if routes, err := read(t).Routes(); err != nil || len(routes) != len(endpoints.Routes(httpapi.Endpoints())) {
		t.Errorf("%d routes for %d of the table of endpoints, %v", len(routes), len(endpoints.Routes(httpapi.Endpoints())), err)
	}
}

func TestTheGatewayMayInvokeWhatItRoutesTo(t *testing.T) {
	all := read(t)
	routes := must.Get(all.Routes())(t)
	may := map[string]bool{}
	for id, r := range all.Resources {
		if r.Type != "AWS::Lambda::Permission" {
			continue
		}
		if r.Properties["Principal"] != "apigateway.amazonaws.com" || !strings.HasSuffix(fmt.Sprint(template.At(r.Properties["SourceArn"], "Fn::Sub")), ":${Api}/*") {
			t.Errorf("%s lets others in than our gateway", id)
		}
		function, _ := strings.CutSuffix(fmt.Sprint(template.At(r.Properties["FunctionName"], "Ref")), ".Alias")
		may[function] = true
	}
	for _, r := range routes {
		if !may[r.Function] {
			t.Errorf("%s: the gateway may not invoke %s", r.Key, r.Function)
		}
	}
}

func TestEveryFolderIsAFunction(t *testing.T) {
	var got []string
	for _, f := range functions(t) {
		got = append(got, f.Group())
	}
	slices.Sort(got)
	entries := must.Get(os.ReadDir("."))(t)
	var want []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "internal" {
			want = append(want, e.Name())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the template has %v, the folder %v", got, want)
	}
}

// What changes rows, and what notes the use of a key.
var (
	writeRows = []string{"dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
	noteUses  = []string{"dynamodb:UpdateItem"} // on which day a key was used last
)

// inBucket is a resource of a policy: objects of the bucket that the functions have.
func inBucket(path string) string {
	return `{"Fn::Sub":["arn:${AWS::Partition}:s3:::${Name}` + path + `",{"Name":{"Fn::If":["OwnBucket",{"Ref":"Bucket"},{"Ref":"ExistingBucket"}]}}]}`
}

func TestRightsAreBoundToTheirPlace(t *testing.T) {
	known := map[string][]string{ // an action's service, and what it may be about
		"dynamodb": {`{"Fn::Sub":["arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}",{"Name":{"Fn::If":["OwnTable",{"Ref":"Table"},{"Ref":"ExistingTable"}]}}]}`},
		"s3":       {inBucket(""), inBucket("/workspaces/*"), inBucket("/maintenance/*"), inBucket("/workspaces/*/objects/pack/*"), inBucket("/workspaces/*/snapshots/*")},
		"sqs":      {`{"Fn::GetAtt":["MaintenanceQueue","Arn"]}`, `{"Fn::GetAtt":["MaintenanceDeadLetters","Arn"]}`, `{"Fn::GetAtt":["WebhooksQueue","Arn"]}`},
	}
	for id, f := range functions(t) {
		for _, s := range f.Policies {
			for _, action := range s.Actions {
				service, _, _ := strings.Cut(action, ":")
				for _, resource := range s.Resources {
					text, err := json.Marshal(resource)
					if err != nil || !slices.Contains(known[service], string(text)) {
						t.Errorf("%s: %s is about %s", id, action, text)
					}
					if strings.Contains(string(text), "maintenance/*") && f.Group() != "maintenance" {
						t.Errorf("%s may touch what maintenance keeps", id)
					}
				}
				if slices.Contains(writeRows, action) {
					checkKeys(t, id, f, s)
				}
			}
		}
	}
}

// checkKeys holds a statement that lets rows be written to the rows' keys: nobody but the
// console's function and an operator writes keys and principals, nobody but these and that of
// change requests the audit trail, and nobody
// but an operator workspaces' names.
func checkKeys(t *testing.T, id string, f template.Function, s template.Statement) {
	t.Helper()
	keys, _ := template.At(s.Condition, "ForAllValues:StringLike", "dynamodb:LeadingKeys").([]any)
	if len(keys) == 0 {
		t.Errorf("%s: %s lets any row be written", id, s.Sid)
	}
	for _, k := range keys {
		if k == "used/*" && len(keys) == 1 && slices.Equal(s.Actions, noteUses) && f.Group() != "maintenance" {
			continue
		}
		if k == "webhook/*" && len(keys) == 1 && (f.Group() == "console" || f.Group() == "webhooks") {
			continue
		}
		if slices.Contains(tellers, f.Group()) {
			switch {
			case k == "access/*" && f.Group() == "console", k == "audit/*":
				if template.At(s.Condition, "ForAnyValue:StringEquals", "dynamodb:EnclosingOperation") == nil || len(keys) > 1 {
					t.Errorf("%s: %s lets rows %s be written without the head", id, s.Sid, k)
				}
				continue
			}
		}
		ours := k == "telemetry/*"
		if ours != (f.Group() == "telemetry") || strings.HasPrefix(fmt.Sprint(k), "access") || strings.HasPrefix(fmt.Sprint(k), "audit") || k == "*" || strings.HasPrefix(fmt.Sprint(k), "workspaces") {
			t.Errorf("%s: %s lets rows %s be written", id, s.Sid, k)
		}
	}
}

func TestTheGatewayLetsMoreThroughThanAKeyMaySend(t *testing.T) {
	parameters := read(t).Parameters
	value := func(name string) int { n, _ := template.At(parameters, name, "Default").(int); return n }
	for _, c := range []struct {
		limit, throttle  string
		perSecond, burst int
	}{
		{"Limit", "Throttle", 5, 25},
		{"PollLimit", "PollThrottle", 50, 200},
		{"TelemetryLimit", "TelemetryThrottle", 5, 50},
	} {
		perSecond, burst := value(c.limit+"PerSecond"), value(c.limit+"Burst")
		if perSecond != c.perSecond || burst != c.burst {
			t.Errorf("%s: %d a second and %d at once, want %d and %d", c.limit, perSecond, burst, c.perSecond, c.burst)
		}
		if value(c.throttle+"Rate") < perSecond || value(c.throttle+"Burst") < burst {
			t.Errorf("%s: the gateway would throttle a single key, in its own words", c.throttle)
		}
	}
}

// TestAFloodTakesNothingFromOtherRoutes: what anybody may ask without a key,
// what applications poll, their telemetry and the REST API are throttled apart.
func TestAFloodTakesNothingFromOtherRoutes(t *testing.T) {
	all := read(t)
	stage := all.Resources["Stage"]
	if name := stage.Properties["StageName"]; name != "$default" {
		t.Errorf("the paths begin with the stage's name %v, which package gateway does not take off", name)
	}
	settings, _ := stage.Properties["RouteSettings"].(map[string]any)
	depends, _ := json.Marshal(stage.DependsOn)
	routes := must.Get(all.Routes())(t)
	ids := map[string]string{}
	for _, r := range routes {
		ids[r.Key] = r.ID
	}
	for _, r := range endpoints.Routes(httpapi.Endpoints()) {
		own := template.At(settings, r.Key)
		rate, burst := fmt.Sprint(template.At(own, "ThrottlingRateLimit")), fmt.Sprint(template.At(own, "ThrottlingBurstLimit"))
		switch {
		case r.Limit == endpoints.Anonymous:
			if n, ok := template.At(own, "ThrottlingRateLimit").(int); !ok || n > 50 {
				t.Errorf("%s, which needs no key, is throttled at %s", r.Key, rate)
			}
		case r.Limit != endpoints.Requests:
			if rate != fmt.Sprintf("map[Ref:%sThrottleRate]", r.Limit) || burst != fmt.Sprintf("map[Ref:%sThrottleBurst]", r.Limit) {
				t.Errorf("%s is throttled at %s, %s", r.Key, rate, burst)
			}
		case own != nil:
			t.Errorf("%s has settings of its own; the REST API has the stage's", r.Key)
		}
		if own != nil && !strings.Contains(string(depends), `"`+ids[r.Key]+`"`) {
			t.Errorf("the stage has settings for %s, and does not wait for %s", r.Key, ids[r.Key])
		}
	}
	for key := range settings {
		if ids[key] == "" {
			t.Errorf("the stage has settings for %s, which is no route: the deployment would fail", key)
		}
	}
}

// TestAWholeOfficeCanOpenTheConsole at once, with nothing of it in its browsers: a page
// of which the throttle cuts off the script stays empty.
func TestAWholeOfficeCanOpenTheConsole(t *testing.T) {
	page := httptest.NewRecorder()
	router.New(console.Routes(false, ""), http.NotFoundHandler()).ServeHTTP(page, httptest.NewRequest("GET", "/console/", nil))
	loads := map[string]int{"$default": 1, "ANY /console": 1, "ANY /console/{path+}": len(regexp.MustCompile(`(?:src|href)="[0-9a-f]{16}/`).FindAllString(page.Body.String(), -1))}
	if loads["ANY /console/{path+}"] != 3 {
		t.Errorf("the page loads %d files, and the comment in the template says three", loads["ANY /console/{path+}"])
	}
	const people = 50
	for route, requests := range loads {
		if burst, _ := template.At(read(t).Resources["Stage"].Properties["RouteSettings"], route, "ThrottlingBurstLimit").(int); burst < people*requests {
			t.Errorf("%s lets %d requests through at once, and %d people send %d each", route, burst, people, requests)
		}
	}
}

func TestWhatIsStoredIsKept(t *testing.T) {
	all := read(t)
	table, bucket := all.Resources["Table"].Properties, all.Resources["Bucket"].Properties
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"the table is paid by request", table["BillingMode"], "PAY_PER_REQUEST"},
		{"the table can be taken back in time", template.At(table, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), true},
		{"the table is encrypted", template.At(table, "SSESpecification", "SSEEnabled"), true},
		{"the table is not deleted by mistake", table["DeletionProtectionEnabled"], true},
		{"the table has the keys that the ledger uses", fmt.Sprint(table["KeySchema"]), "[map[AttributeName:pk KeyType:HASH] map[AttributeName:sk KeyType:RANGE]]"},
		{"the bucket keeps versions", template.At(bucket, "VersioningConfiguration", "Status"), "Enabled"},
		{"the bucket blocks public access", len(template.At(bucket, "PublicAccessBlockConfiguration").(map[string]any)), 4},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	for name, on := range template.At(bucket, "PublicAccessBlockConfiguration").(map[string]any) {
		if on != true {
			t.Errorf("%s is %v", name, on)
		}
	}
	if template.At(bucket, "BucketEncryption") == nil {
		t.Error("the bucket is not encrypted")
	}
}

func TestAFunctionEndsBeforeTheGatewayGivesUp(t *testing.T) {
	for id, f := range functions(t) {
		if most := 29; f.Group() != "maintenance" && f.Group() != "webhooks" && (f.Timeout > most || f.Timeout < 5) {
			t.Errorf("%s may run for %d s", id, f.Timeout)
		}
		if f.Memory < 128 {
			t.Errorf("%s has %d MB", id, f.Memory)
		}
	}
}

// TestWhatThePipeTellsWebhooksOf: a message for each commit and each event of a change request,
// and none for what the function itself writes.
func TestWhatThePipeTellsWebhooksOf(t *testing.T) {
	type prefixes []struct{ Prefix string }
	var patterns []map[string]struct{ S prefixes }
	filters, _ := template.At(read(t).Resources["WebhooksPipe"].Properties, "SourceParameters", "FilterCriteria", "Filters").([]any)
	for _, f := range filters {
		var pattern struct {
			DynamoDB struct {
				Keys map[string]struct{ S prefixes }
			}
		}
		text, _ := template.At(f, "Pattern").(string)
		must.Do(t, json.Unmarshal([]byte(text), &pattern))
		patterns = append(patterns, pattern.DynamoDB.Keys)
	}
	for _, c := range []struct {
		pk, sk string
		told   bool
	}{
		{"head/w", "head", true}, {"requests/w", "event/0000000001", true},
		{"requests/w", "count", false}, {"requests/w", "open/0000000001", false}, {"requests/w", "once/x", false},
		{"webhook/w", "hook/x/state", false}, {"access/w", "head/x", false}, {"log/w/i", "event/1", false},
	} {
		told := slices.ContainsFunc(patterns, func(keys map[string]struct{ S prefixes }) bool {
			for name, of := range keys {
				value := map[string]string{"pk": c.pk, "sk": c.sk}[name]
				if !slices.ContainsFunc(of.S, func(p struct{ Prefix string }) bool { return p.Prefix != "" && strings.HasPrefix(value, p.Prefix) }) {
					return false
				}
			}
			return len(keys) > 0
		})
		if told != c.told {
			t.Errorf("%s %s: told %v, want %v", c.pk, c.sk, told, c.told)
		}
	}
}

var names = iam.Names{"Table": "table", "Bucket": "bucket", "MaintenanceQueue": "queue", "MaintenanceDeadLetters": "dead", "WebhooksQueue": "webhooks", "WebhooksDeadLetters": "dead"}

// about is a request about rows of some partitions.
func about(action string, partitions ...string) iam.Request {
	return iam.Request{Action: "dynamodb:" + action, Resource: "arn:aws:dynamodb:local:000000000000:table/table",
		Keys: map[string][]string{"dynamodb:LeadingKeys": partitions}}
}

// of limits a request to attributes.
func of(r iam.Request, attributes ...string) iam.Request {
	r.Keys["dynamodb:Attributes"], r.Keys["dynamodb:Select"] = attributes, []string{"SPECIFIC_ATTRIBUTES"}
	return r
}

// inTransaction is an item of a transaction.
func inTransaction(r iam.Request) iam.Request {
	r.Keys["dynamodb:EnclosingOperation"] = []string{"TransactWriteItems"}
	return r
}

// returning is a write that asks for what the row was, or has become.
func returning(r iam.Request, values string) iam.Request {
	r.Keys["dynamodb:ReturnValues"] = []string{values}
	return r
}

// isNew makes the writing of an object fail where there is one.
func isNew(r iam.Request) iam.Request {
	r.Keys = map[string][]string{"s3:if-none-match": {"*"}}
	return r
}

func object(action, key string) iam.Request {
	return iam.Request{Action: "s3:" + action, Resource: "arn:aws:s3:::bucket/" + key}
}

func queue(action, name string) iam.Request {
	return iam.Request{Action: "sqs:" + action, Resource: "arn:aws:sqs:local:000000000000:" + name}
}

var (
	readers = []string{"workspace", "activity", "contexts"}
	writers = []string{"flags", "configs", "loglevels", "segments", "changes", "changerequests", "console"}
	signers = []string{"console"}                   // sign people in, and have their settings
	tellers = []string{"changerequests", "console"} // tell the audit trail
	rest    = slices.Concat(readers, writers)
	others  = []string{"delivery", "telemetry", "maintenance", "reference", "webhooks"}
	all     = slices.Concat(rest, others)
)

// but is all groups except some.
func but(groups ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(g string) bool { return slices.Contains(groups, g) })
}

const pack = "workspaces/w/objects/pack/pack-1.pack"

// What the groups may ask of AWS: those listed may, the others may not. That they
// may ask all that they do ask, and nothing that they do not, infra/apitest shows;
// this is about who may what, and about what nobody may.
var rightsOf = []struct {
	what    string
	request iam.Request
	may     []string
}{
	{"read the secret of a head with all else", about("BatchGetItem", "head/w", "access/w"), rest},
	{"read the secret of a head", of(about("BatchGetItem", "head/w"), "pk", "sk", "secret"), rest},
	{"read a head with its secret", about("GetItem", "head/w"), tellers},
	{"query a head", about("Query", "head/w"), nil},
	{"read a head without its secret", of(about("GetItem", "head/w"), "pk", "sk", "commit", "sequence"), []string{
		"workspace", "segments", "changes", "changerequests", "activity", "contexts", "flags", "configs", "loglevels", "console", "delivery", "telemetry", "maintenance", "webhooks"}},
	{"authenticate a key", of(about("BatchGetItem", "head/w", "access/w"), "pk", "sk", "commit", "doc", "version"), slices.Concat(rest, []string{"delivery", "telemetry"})},
	{"note that a key was used", about("UpdateItem", "used/w"), slices.Concat(rest, []string{"delivery", "telemetry"})},
	{"delete that a key was used", about("DeleteItem", "used/w"), nil},
	{"read what was done to keys", about("Query", "audit/w"), []string{"changerequests", "console", "webhooks"}},
	{"tell what was done to keys", inTransaction(about("PutItem", "audit/w")), tellers},
	{"tell what was done to keys by itself", about("PutItem", "audit/w"), nil},
	{"change what was done to keys", inTransaction(about("UpdateItem", "audit/w")), nil},
	{"read when keys were used", about("Query", "used/w"), signers},
	{"forget what was done to keys", about("DeleteItem", "audit/w"), nil},
	{"look for a request that has landed", about("BatchGetItem", "head/w", "access/w", "once/w"), append(slices.Clone(writers), "contexts")},
	{"remember a request that lands", inTransaction(about("PutItem", "once/w")), writers},
	{"remember a request by itself", about("PutItem", "once/w"), nil},
	{"forget a request that has landed", about("DeleteItem", "once/w"), nil},
	{"see who waits to write", about("Query", "queue/w"), writers},
	{"wait to write", inTransaction(about("PutItem", "queue/w")), writers},
	{"take a write out of the queue", inTransaction(about("DeleteItem", "queue/w")), writers},
	{"take a write out of the queue by itself", about("DeleteItem", "queue/w"), nil},
	{"list keys and principals", about("Query", "access/w"), tellers},
	{"read the history", about("Query", "log/w/i"), but("reference")},
	{"read the history of a file", about("Query", "item/w/i/feature-flags/a.json"), but("telemetry", "reference", "delivery")},
	{"read change requests", about("BatchGetItem", "requests/w"), tellers},
	{"list change requests", about("Query", "requests/w"), append(slices.Clone(tellers), "webhooks")},
	{"write a change request with what happened", inTransaction(about("PutItem", "requests/w")), tellers},
	{"write a change request by itself", about("PutItem", "requests/w"), nil},
	{"change a change request", inTransaction(about("UpdateItem", "requests/w")), nil},
	{"read what telemetry has saved", about("BatchGetItem", "telemetry/w/known"), []string{"contexts", "telemetry", "console"}},
	{"read saved contexts", about("Query", "telemetry/w/seen/h", "telemetry/w/known"), []string{"contexts", "flags", "configs", "segments", "changes", "changerequests", "console"}},
	{"read evaluations", about("Query", "telemetry/w/tallies/3"), []string{"contexts", "flags", "configs", "console"}},
	{"read when items were evaluated last", about("BatchGetItem", "telemetry/w/evaluated"), []string{"contexts", "telemetry", "flags", "configs", "console"}},
	{"forget evaluations", about("DeleteItem", "telemetry/w/tallies/3"), []string{"telemetry"}},
	{"read usage", about("Query", "telemetry/w/usage/2026-11"), []string{"contexts", "console"}},
	{"forget a context", inTransaction(about("DeleteItem", "telemetry/w/context/h", "telemetry/w/seen/h", "telemetry/w/pair/2026-11/h")), []string{"contexts", "telemetry", "console"}},
	{"forget usage", inTransaction(about("DeleteItem", "telemetry/w/usage/2026-11")), []string{"telemetry"}},
	{"list the workspaces", about("Query", "workspaces"), []string{"maintenance"}},
	{"scan", about("Scan"), nil},
	{"read webhooks", about("Query", "webhook/w"), []string{"console", "webhooks"}},
	{"write down where a webhook stands", about("UpdateItem", "webhook/w"), []string{"console", "webhooks"}},
	{"write down what waits for a webhook", inTransaction(about("PutItem", "webhook/w")), []string{"console", "webhooks"}},

	{"delete a commit's row", about("DeleteItem", "log/w/i"), nil},
	{"delete a commit's row in a transaction", inTransaction(about("DeleteItem", "log/w/i")), nil},
	{"delete a row of a large commit", about("DeleteItem", "item/w/i/a"), []string{"maintenance"}},
	{"delete commits' rows in a batch", about("BatchWriteItem", "log/w/i"), []string{"maintenance"}},
	{"delete commits' rows among others", about("BatchWriteItem", "item/w/i/a", "log/w/i"), []string{"maintenance"}},
	{"change a commit's row", about("UpdateItem", "log/w/i"), []string{"maintenance"}},
	{"write a commit's row without moving the head", about("PutItem", "log/w/i"), nil},
	{"write a commit's row with the head", inTransaction(about("PutItem", "log/w/i")), writers},
	{"delete a commit's name", about("BatchWriteItem", "ids/w/i"), []string{"maintenance"}},
	{"delete a head", inTransaction(about("DeleteItem", "head/w")), nil},
	{"overwrite a head", inTransaction(about("PutItem", "head/w")), nil},
	{"move the head", of(inTransaction(about("UpdateItem", "head/w")), "pk", "sk", "commit", "sequence", "access", "fence", "index", "baseName", "baseSequence", "baseFollow", "baseBytes", "versions"), writers},
	{"raise the fence", of(about("UpdateItem", "head/w"), "pk", "sk", "fence", "format"), []string{"maintenance"}},
	{"raise the fence and read the whole head", returning(of(about("UpdateItem", "head/w"), "pk", "sk", "fence", "format"), "ALL_NEW"), nil},
	{"raise the fence and read what the head was", returning(of(about("UpdateItem", "head/w"), "pk", "sk", "fence", "format"), "ALL_OLD"), nil},
	{"hold the head while the list of packs changes", of(inTransaction(about("ConditionCheckItem", "head/w")), "pk", "sk", "index", "fence", "format"), []string{"maintenance"}},
	{"ask whether the secret is a guess", of(inTransaction(about("ConditionCheckItem", "head/w")), "pk", "sk", "secret"), nil},
	{"ask whether the head is a guess, and read it", returning(of(inTransaction(about("ConditionCheckItem", "head/w")), "pk", "sk", "fence"), "ALL_OLD"), nil},
	{"move the head without the commit's rows", of(about("UpdateItem", "head/w"), "pk", "sk", "commit", "sequence"), nil},
	{"change the secret", of(inTransaction(about("UpdateItem", "head/w")), "pk", "sk", "commit", "secret"), nil},
	{"change a head without saying what", inTransaction(about("UpdateItem", "head/w")), nil},
	{"end the workspace's bill", of(inTransaction(about("UpdateItem", "head/w")), "pk", "sk", "billingInactive"), nil},
	{"write a large commit's rows before the head moves", about("BatchWriteItem", "item/w/i/a", "rest/w/i", "index/w"), []string{"changes", "changerequests", "console", "maintenance"}},
	{"change the list of packs", inTransaction(about("UpdateItem", "packs/w")), []string{"maintenance"}},
	{"change the list of packs without holding the head", about("UpdateItem", "packs/w"), nil},
	{"put a key in the place of another", inTransaction(about("PutItem", "access/w")), nil},
	{"make or revoke a key", of(inTransaction(about("UpdateItem", "access/w")), "pk", "sk", "doc", "version", "made"), signers},
	{"make or revoke a key that no head tells of", of(about("UpdateItem", "access/w"), "pk", "sk", "doc", "version", "made"), nil},
	{"make room for a session", inTransaction(about("DeleteItem", "access/w")), signers},
	{"delete a key that no head tells of", about("DeleteItem", "access/w"), nil},
	{"tell of keys", of(inTransaction(about("UpdateItem", "head/w")), "pk", "sk", "access", "recent", "format"), tellers},
	{"rename a workspace", of(inTransaction(about("UpdateItem", "head/w")), "pk", "sk", "access", "name"), nil},
	{"rename a workspace in the list", inTransaction(about("UpdateItem", "workspaces")), nil},
	{"list another workspace", inTransaction(about("PutItem", "workspaces")), nil},
	{"save telemetry", inTransaction(about("PutItem", "telemetry/w/pair/2026-11/h")), []string{"telemetry"}},
	{"save telemetry together", about("BatchWriteItem", "telemetry/w/batch/h"), []string{"telemetry"}},

	{"read a pack", object("GetObject", pack), but("reference")},
	{"store a pack", isNew(object("PutObject", pack)), slices.Concat(writers, []string{"maintenance"})},
	{"write over a pack", object("PutObject", pack), nil},
	{"store a snapshot", isNew(object("PutObject", "workspaces/w/snapshots/1")), writers},
	{"write over a snapshot", object("PutObject", "workspaces/w/snapshots/1"), nil},
	{"replace the repository's settings", isNew(object("PutObject", "workspaces/w/config")), nil},
	{"delete a pack", object("DeleteObject", pack), []string{"maintenance"}},
	{"delete the repository's HEAD", object("DeleteObject", "workspaces/w/HEAD"), nil},
	{"read the book of maintenance", object("GetObject", "maintenance/w.json"), []string{"maintenance"}},
	{"write the book of maintenance", object("PutObject", "maintenance/w.json"), []string{"maintenance"}},
	{"write elsewhere in the bucket", object("PutObject", "other"), nil},

	{"ask for maintenance", queue("SendMessage", "queue"), []string{"maintenance"}},
	{"take a message of maintenance", queue("ReceiveMessage", "queue"), []string{"maintenance"}},
	{"set a message aside", queue("SendMessage", "dead"), []string{"maintenance"}},
	{"take messages that were set aside", queue("ReceiveMessage", "dead"), nil},
	{"have a message of webhooks come later", queue("SendMessage", "webhooks"), []string{"webhooks"}},
	{"take a message of webhooks", queue("ReceiveMessage", "webhooks"), []string{"webhooks"}},
	{"drop all messages", queue("PurgeQueue", "queue"), nil},
}

func TestEachFunctionMayAskWhatItMustAndNoMore(t *testing.T) {
	policies := must.Get(iam.Policies("../template.yaml", names))(t)
	for _, c := range rightsOf {
		for _, group := range all {
			if got, want := policies[group].Allows(c.request), slices.Contains(c.may, group); got != want {
				t.Errorf("%s may %s: %v, want %v (%s)", group, c.what, got, want, fmt.Sprint(c.request))
			}
		}
	}
}
