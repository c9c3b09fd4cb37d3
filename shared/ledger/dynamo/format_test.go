package dynamo_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

type row = map[string]types.AttributeValue

// raw is a table as it is stored.
type raw struct {
	t      *testing.T
	client *dynamodb.Client
	name   string
}

func (r raw) rows() map[string]row {
	r.t.Helper()
	all := map[string]row{}
	pages := dynamodb.NewScanPaginator(r.client, &dynamodb.ScanInput{TableName: &r.name})
	for pages.HasMorePages() {
		page := must.Get(pages.NextPage(background))(r.t)
		for _, i := range page.Items {
			all[i["pk"].(*types.AttributeValueMemberS).Value+" "+i["sk"].(*types.AttributeValueMemberS).Value] = i
		}
	}
	return all
}

func (r raw) put(i row) {
	r.t.Helper()
	must.Get(r.client.PutItem(background, &dynamodb.PutItemInput{TableName: &r.name, Item: i}))(r.t)
}

// world is a workspace with a bit of everything.
type world struct {
	raw
	table    *dynamo.Table
	ws       access.ID
	ledger   *dynamo.Ledger
	registry *access.Registry
	key      access.Key
}

func newWorld(t *testing.T) *world {
	t.Helper()
	table, name := namedTable(t)
	w := &world{raw: raw{t, standin.DynamoDBClient(t), name}, table: table, ws: newWorkspace(t, table)}
	w.ledger, w.registry = table.Ledger(w.ws), table.Registry(w.ws)
	w.key = admit(t, table, w.ws)
	return w
}

func (w *world) head() repository.Head {
	w.t.Helper()
	return must.Get(w.ledger.Head(background))(w.t)
}

// changes are all writes that change rows which are there. Each is made on the
// head that is given.
func (w *world) changes() map[string]func(repository.Head) error {
	_, oldHead, objects := origin(w.t, history(5))
	reader := objects.Reader(background)
	w.t.Cleanup(func() { reader.Close() })
	n := 10
	advance := func(head repository.Head, large bool) error {
		n++
		c := storedCommit(head, n)
		if large {
			c = largeCommit(head, n, 150)
		}
		_, err := w.ledger.Advance(background, head, c)
		return err
	}
	return map[string]func(repository.Head) error{
		"a commit":       func(h repository.Head) error { return advance(h, false) },
		"a large commit": func(h repository.Head) error { return advance(h, true) },
		"a compaction": func(h repository.Head) error {
			return w.ledger.Compacted(background, dynamo.Compaction{Pack: strings.Repeat("c", 40), Fence: h.Fence, Retired: []string{packNamed(1), packNamed(2)}})
		},
		"an import": func(h repository.Head) error {
			_, err := w.ledger.Import(background, reader, oldHead.Commit, dynamo.ImportOptions{Objects: objects, Fence: h.Fence})
			return err
		},
		"a fence": func(repository.Head) error { _, err := w.ledger.RaiseFence(background); return err },
		"roles": func(repository.Head) error {
			return w.registry.SetRoles(background, w.key.Principal(), []string{"support"})
		},
		"a revocation": func(repository.Head) error {
			_, err := w.registry.RevokeKey(background, w.key.ID(), noon)
			return err
		},
		"a name": func(repository.Head) error {
			return w.registry.SetWorkspace(background, func(w *access.Workspace) { w.Name += "!" })
		},
	}
}

// TestUnknownAttributesStay: what a newer version has put into a row, and into
// the documents of keys and principals, survives every write of this one.
func TestUnknownAttributesStay(t *testing.T) {
	w := newWorld(t)
	for n := range 3 {
		must.Get(w.ledger.Advance(background, w.head(), storedCommit(w.head(), n)))(t)
	}
	must.Do(t, w.ledger.Compacted(background, dynamo.Compaction{Pack: strings.Repeat("b", 40)}))
	unknown := &types.AttributeValueMemberS{Value: "of a newer version"}
	const field = `"quota":{"a":1.0}`
	kept := map[string]bool{}
	for name, i := range w.rows() {
		i["newer"] = unknown
		if doc, is := i["doc"].(*types.AttributeValueMemberS); is {
			doc.Value = "{" + field + "," + doc.Value[1:]
		}
		w.put(i)
		kept[name] = true
	}
	for name, change := range w.changes() {
		if err := change(w.head()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rows := w.rows()
		for key := range kept {
			i := rows[key]
			if !reflect.DeepEqual(i["newer"], types.AttributeValue(unknown)) {
				t.Errorf("%s: the row %s has lost an attribute: %v", name, key, i)
				delete(kept, key)
			}
			if doc, is := i["doc"].(*types.AttributeValueMemberS); is && !strings.Contains(doc.Value, field) {
				t.Errorf("%s: the row %s has lost a field: %s", name, key, doc.Value)
			}
		}
	}
	if len(kept) < 8 {
		t.Errorf("only %d rows were looked at", len(kept))
	}
}

// TestANewerFormatIsRefused: by everything that reads or writes a workspace,
// also when it read the head before that became newer. Nothing is written.
func TestANewerFormatIsRefused(t *testing.T) {
	for name, format := range map[string]types.AttributeValue{
		"the next":  &types.AttributeValueMemberN{Value: fmt.Sprint(dynamo.Format + 1)},
		"zero":      &types.AttributeValueMemberN{Value: "0"},
		"negative":  &types.AttributeValueMemberN{Value: "-1"},
		"a half":    &types.AttributeValueMemberN{Value: "1.5"},
		"a text":    &types.AttributeValueMemberS{Value: "1"},
		"a nothing": &types.AttributeValueMemberNULL{Value: true},
	} {
		t.Run(name, func(t *testing.T) { refusesFormat(t, format) })
	}
}

func refusesFormat(t *testing.T, newer types.AttributeValue) {
	t.Helper()
	w := newWorld(t)
	must.Get(w.ledger.Advance(background, w.head(), storedCommit(w.head(), 1)))(t)
	seen := w.head()
	for key, i := range w.rows() {
		if strings.HasPrefix(key, "head/") {
			if format, _ := i["format"].(*types.AttributeValueMemberN); format == nil || format.Value != fmt.Sprint(dynamo.Format) {
				t.Errorf("a new workspace is of format %v", i["format"])
			}
			i["format"] = newer
			w.put(i)
		}
	}
	before := w.rows()
	reads := map[string]func(repository.Head) error{
		"a request":    func(repository.Head) error { _, err := w.table.Authenticate(background, w.key, ""); return err },
		"the head":     func(repository.Head) error { _, err := w.ledger.Head(background); return err },
		"the packs":    func(repository.Head) error { _, err := w.ledger.Packs(background); return err },
		"leftovers":    func(repository.Head) error { _, err := w.ledger.Leftovers(background); return err },
		"a sweep":      func(repository.Head) error { _, err := w.ledger.Sweep(background, dynamo.Leftovers{}, 9); return err },
		"the keys":     func(repository.Head) error { _, err := w.registry.Keys(background); return err },
		"the record":   func(repository.Head) error { _, err := w.registry.Workspace(background); return err },
		"another name": func(repository.Head) error { _, err := w.table.Workspaces(background); return err },
	}
	for _, all := range []map[string]func(repository.Head) error{reads, w.changes()} {
		for name, try := range all {
			if err := try(seen); !errors.Is(err, repository.ErrNewer) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	after := w.rows()
	for key := range after {
		// The rows that a large commit, or an import, writes first are seen by nobody.
		if !reflect.DeepEqual(after[key], before[key]) && !invisible(key, seen) {
			t.Errorf("the row %s was %v and is %v", key, before[key], after[key])
		}
	}
}

func invisible(key string, head repository.Head) bool {
	return strings.HasPrefix(key, "index/") || strings.HasPrefix(key, "item/") && strings.Contains(key, "configs/k") ||
		!strings.Contains(key, head.Index) && !strings.HasPrefix(key, "head/") && !strings.HasPrefix(key, "access/") && !strings.HasPrefix(key, "packs/")
}

// TestTheHeadTellsVersionsOfItsOwnCommit: a version of svc that knows nothing of
// them moves the head and leaves them behind.
func TestTheHeadTellsVersionsOfItsOwnCommit(t *testing.T) {
	w := newWorld(t)
	c := storedCommit(w.head(), 1)
	c.Versions = "told\x00\xff"
	moved := must.Get(w.ledger.Advance(background, w.head(), c))(t)
	entry := must.Get(w.table.Authenticate(background, w.key, ""))(t)
	for how, head := range map[string]repository.Head{"moved": moved, "read": w.head(), "read with the key": entry.Head} {
		if head.Versions != c.Versions {
			t.Errorf("%s: %q", how, head.Versions)
		}
	}
	must.Get(w.ledger.Advance(background, moved, storedCommit(moved, 2)))(t)
	if head := w.head(); head.Versions != "" {
		t.Errorf("a commit that tells nothing: %q", head.Versions)
	}
	c = storedCommit(w.head(), 3)
	c.Versions = "told"
	must.Get(w.ledger.Advance(background, w.head(), c))(t)
	for _, row := range w.rows() {
		if row["sk"].(*types.AttributeValueMemberS).Value == "head" {
			row["commit"] = &types.AttributeValueMemberS{Value: strings.Repeat("e", 40)}
			w.put(row)
		}
	}
	if head := w.head(); head.Commit != strings.Repeat("e", 40) || head.Versions != "" {
		t.Errorf("left behind: %+v", head)
	}
}
