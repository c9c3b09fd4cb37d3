package functions

import (
	"fmt"
	"slices"
	"testing"

	"svc.example/svc/shared/testing/iam"
)

var names = iam.Names{"Table": "table", "Bucket": "bucket", "MaintenanceQueue": "queue", "MaintenanceDeadLetters": "dead"}

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
	writers = []string{"flags", "configs", "loglevels", "segments", "changes"}
	rest    = slices.Concat(readers, writers)
	others  = []string{"delivery", "telemetry", "maintenance", "reference"}
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
	{"read a head with its secret", about("GetItem", "head/w"), nil},
	{"query a head", about("Query", "head/w"), nil},
	{"read a head without its secret", of(about("GetItem", "head/w"), "pk", "sk", "commit", "sequence"), []string{
		"workspace", "segments", "changes", "activity", "contexts", "flags", "configs", "loglevels", "delivery", "telemetry", "maintenance"}},
	{"authenticate a key", of(about("BatchGetItem", "head/w", "access/w"), "pk", "sk", "commit", "doc", "version"), slices.Concat(rest, []string{"delivery", "telemetry"})},
	{"note that a key was used", about("UpdateItem", "used/w"), slices.Concat(rest, []string{"delivery", "telemetry"})},
	{"delete that a key was used", about("DeleteItem", "used/w"), nil},
	{"read what was done to keys", about("Query", "audit/w"), nil},
	{"forget what was done to keys", about("DeleteItem", "audit/w"), nil},
	{"look for a request that has landed", about("BatchGetItem", "head/w", "access/w", "once/w"), append(slices.Clone(writers), "contexts")},
	{"remember a request that lands", inTransaction(about("PutItem", "once/w")), writers},
	{"remember a request by itself", about("PutItem", "once/w"), nil},
	{"forget a request that has landed", about("DeleteItem", "once/w"), nil},
	{"see who waits to write", about("Query", "queue/w"), writers},
	{"wait to write", inTransaction(about("PutItem", "queue/w")), writers},
	{"take a write out of the queue", inTransaction(about("DeleteItem", "queue/w")), writers},
	{"take a write out of the queue by itself", about("DeleteItem", "queue/w"), nil},
	{"list keys and principals", about("Query", "access/w"), nil},
	{"read the history", about("Query", "log/w/i"), but("reference")},
	{"read the history of a file", about("Query", "item/w/i/feature-flags/a.json"), but("telemetry", "reference", "delivery")},
	{"read what telemetry has saved", about("BatchGetItem", "telemetry/w/known"), []string{"contexts", "telemetry"}},
	{"read saved contexts", about("Query", "telemetry/w/seen/h", "telemetry/w/known"), []string{"contexts", "flags", "configs", "segments", "changes"}},
	{"read evaluations", about("Query", "telemetry/w/tallies/3"), []string{"contexts", "flags", "configs"}},
	{"read when items were evaluated last", about("BatchGetItem", "telemetry/w/evaluated"), []string{"contexts", "telemetry", "flags", "configs"}},
	{"forget evaluations", about("DeleteItem", "telemetry/w/tallies/3"), []string{"telemetry"}},
	{"read usage", about("Query", "telemetry/w/usage/2026-11"), []string{"contexts"}},
	{"forget a context", inTransaction(about("DeleteItem", "telemetry/w/context/h", "telemetry/w/seen/h", "telemetry/w/pair/2026-11/h")), []string{"contexts", "telemetry"}},
	{"forget usage", inTransaction(about("DeleteItem", "telemetry/w/usage/2026-11")), []string{"telemetry"}},
	{"list the workspaces", about("Query", "workspaces"), []string{"maintenance"}},
	{"scan", about("Scan"), nil},

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
	{"write a large commit's rows before the head moves", about("BatchWriteItem", "item/w/i/a", "rest/w/i", "index/w"), []string{"changes", "maintenance"}},
	{"change the list of packs", inTransaction(about("UpdateItem", "packs/w")), []string{"maintenance"}},
	{"change the list of packs without holding the head", about("UpdateItem", "packs/w"), nil},
	{"make a key", inTransaction(about("PutItem", "access/w")), nil},
	{"revoke a key", about("UpdateItem", "access/w"), nil},
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
	{"drop all messages", queue("PurgeQueue", "queue"), nil},
}

func TestEachFunctionMayAskWhatItMustAndNoMore(t *testing.T) {
	policies, err := iam.Policies("../template.yaml", names)
	must(t, err)
	for _, c := range rightsOf {
		for _, group := range all {
			if got, want := policies[group].Allows(c.request), slices.Contains(c.may, group); got != want {
				t.Errorf("%s may %s: %v, want %v (%s)", group, c.what, got, want, fmt.Sprint(c.request))
			}
		}
	}
}
