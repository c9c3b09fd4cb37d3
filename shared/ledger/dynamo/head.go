package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository"
)

func headOf(i item) repository.Head {
	return repository.Head{
		Commit: textOf(i, "commit"), Sequence: numberOf(i, "sequence"),
		Access: numberOf(i, "access"), Fence: numberOf(i, "fence"), Index: textOf(i, "index"),
		Base: repository.Base{
			Name: textOf(i, "baseName"), Sequence: numberOf(i, "baseSequence"),
			Follow: numberOf(i, "baseFollow"), Bytes: numberOf(i, "baseBytes"),
		},
	}
}

// putHead puts what a write changes of a head into a row or an update.
func putHead(i item, h repository.Head) {
	i["commit"], i["sequence"], i["index"] = text(h.Commit), number(h.Sequence), text(h.Index)
	i["baseName"], i["baseSequence"] = text(h.Base.Name), number(h.Base.Sequence)
	i["baseFollow"], i["baseBytes"] = number(h.Base.Follow), number(h.Base.Bytes)
}

func workspaceOf(id access.ID, i item) control.Workspace {
	return control.Workspace{
		ID: string(id), Name: textOf(i, "name"), Secret: bytesOf(i, "secret"),
		BillingInactive: isYes(i, "billingInactive"), Provisioning: isYes(i, "provisioning"),
	}
}

func putWorkspace(i item, w control.Workspace) {
	i["name"], i["secret"] = text(w.Name), binaryValue(w.Secret)
	i["billingInactive"], i["provisioning"] = yes(w.BillingInactive), yes(w.Provisioning)
}

// change is a principal or a key whose row was written at an access version.
type change struct {
	ID      access.ID `json:"id"`
	Version int64     `json:"version"`
	// At is when a later edit saw it first, in seconds of the table's own clock;
	// 0 until then. So it is never earlier than the change itself.
	At int64 `json:"at"`
}

func recentOf(i item) ([]change, error) {
	var recent []change
	if s := textOf(i, "recent"); s != "" {
		if err := json.Unmarshal([]byte(s), &recent); err != nil {
			return nil, fmt.Errorf("%w: recent changes of the head: %w", errRow, err)
		}
	}
	return recent, nil
}

// remember is how long the head tells of a change, at least. It is far longer
// than an attempt to read can last (perTry).
const remember = time.Minute

// still is what the head goes on to tell. Without the table's time it is all.
func still(recent []change, now time.Time) []change {
	kept := make([]change, 0, len(recent)+1)
	for _, c := range recent {
		if c.At == 0 && !now.IsZero() {
			c.At = now.Unix()
		}
		if now.IsZero() || now.Unix()-c.At <= int64(remember/time.Second) {
			kept = append(kept, c)
		}
	}
	return kept
}

// get reads one row, with all its attributes or only some; nil when it is not
// there.
func (t *Table) get(ctx context.Context, what string, key item, attributes ...string) (item, error) {
	i, _, err := t.getTimed(ctx, what, key, attributes...)
	return i, err
}

// getTimed also tells the table's own time; it is zero when there is none.
func (t *Table) getTimed(ctx context.Context, what string, key item, attributes ...string) (item, time.Time, error) {
	in := &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: aws.Bool(true)}
	in.ProjectionExpression, in.ExpressionAttributeNames = projection(attributes)
	out, err := asked(ctx, what, func(ctx context.Context) (*dynamodb.GetItemOutput, error) {
		return t.client.GetItem(ctx, in)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	now, _ := middleware.GetServerTime(out.ResultMetadata)
	return out.Item, now, nil
}

// openAttributes are all that a head, a principal and a key have, but for the
// secret of the head. template.yaml lets functions that need no secret read
// these and no others.
var openAttributes = []string{
	hashKey, rangeKey, "name", "billingInactive", "provisioning",
	"commit", "sequence", "access", "index", "baseName", "baseSequence", "baseFollow", "baseBytes", "fence", "format",
	"recent", "doc", "version",
}

// OpenAttributes are what functions without a right to secrets read of a head, a
// principal and a key.
func OpenAttributes() []string { return slices.Clone(openAttributes) }

// projection asks for some attributes; nil is all of them.
func projection(attributes []string) (expression *string, names map[string]string) {
	if len(attributes) == 0 {
		return nil, nil
	}
	u := newUpdate()
	var list []string
	for _, a := range attributes {
		list = append(list, u.name(a))
	}
	return aws.String(strings.Join(list, ", ")), u.names
}

// getAll reads rows by their keys in one request, as far as one can hold them
// (100), and what it left out once more. Rows come in no order. Without
// attributes they come whole.
func (t *Table) getAll(ctx context.Context, what string, keys []item, attributes ...string) ([]item, error) {
	var found []item
	all := types.KeysAndAttributes{Keys: keys, ConsistentRead: aws.Bool(true)}
	all.ProjectionExpression, all.ExpressionAttributeNames = projection(attributes)
	open := map[string]types.KeysAndAttributes{t.name: all}
	for try := 0; len(open) > 0; try++ {
		out, err := asked(ctx, what, func(ctx context.Context) (*dynamodb.BatchGetItemOutput, error) {
			return t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: open})
		})
		if err != nil {
			return nil, err
		}
		found = append(found, out.Responses[t.name]...)
		if open = out.UnprocessedKeys; len(open) > 0 && !pause(ctx, try) {
			return nil, gaveUp(ctx, what, errUnprocessed)
		}
	}
	return found, nil
}

var errUnprocessed = fmt.Errorf("the table left a part of the request undone")

// Authenticate implements control.Authenticator.
func (t *Table) Authenticate(ctx context.Context, key access.Key) (control.Entry, error) {
	for try := 0; ; try++ {
		e, torn, err := t.authenticate(ctx, key)
		if err != nil || !torn {
			return e, err
		}
		if !pause(ctx, try) {
			return control.Entry{}, gaveUp(ctx, "authenticating a key", errTorn)
		}
	}
}

var errTorn = fmt.Errorf("the key or its principal is being changed")

// authenticate is torn when the rows of the key and the principal may be older than
// the head: whatever they allow may be over.
func (t *Table) authenticate(ctx context.Context, key access.Key) (e control.Entry, torn bool, err error) {
	ws := key.Workspace()
	wanted := []item{headKey(ws), principalKey(ws, key.Principal()), accessKeyKey(ws, key.ID())}
	found, err := t.getAll(ctx, "authenticating a key", wanted, t.attributes...)
	if err != nil {
		return e, false, err
	}
	rows := map[string]item{}
	for _, i := range found {
		rows[textOf(i, hashKey)+" "+textOf(i, rangeKey)] = i
	}
	var read [3]item
	for n, k := range wanted {
		read[n] = rows[textOf(k, hashKey)+" "+textOf(k, rangeKey)]
	}
	head := read[0]
	if head == nil {
		return e, false, control.ErrNoEntry
	}
	if err := checkFormat(ws, head); err != nil {
		return e, false, err
	}
	recent, err := recentOf(head)
	if err != nil {
		return e, false, err
	}
	for _, c := range recent {
		torn = torn || c.ID == key.Principal() && c.Version > numberOf(read[1], "version") ||
			c.ID == key.ID() && c.Version > numberOf(read[2], "version")
	}
	if torn {
		return e, true, nil
	}
	if read[1] == nil || read[2] == nil {
		return e, false, control.ErrNoEntry
	}
	e = control.Entry{Workspace: workspaceOf(ws, head), Head: headOf(head)}
	if err := decodeDoc(read[1], &e.Principal); err != nil {
		return control.Entry{}, false, err
	}
	return e, false, decodeDoc(read[2], &e.Key)
}

// decodeDoc reads a principal or a key.
func decodeDoc(i item, to any) error {
	if err := json.Unmarshal([]byte(textOf(i, "doc")), to); err != nil {
		return fmt.Errorf("%w: %s", errRow, textOf(i, rangeKey))
	}
	return nil
}
