package dynamo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// TestACompactionWhoseRowsWereReplaced: one that was held up while the history
// got other rows, whose list of packs knows nothing of its own pack, leaves those
// rows alone. What they name is named still.
func TestACompactionWhoseRowsWereReplaced(t *testing.T) {
	_, wantHead, objects := origin(t, history(3))
	reader := objects.Reader(background)
	defer reader.Close()
	for name, listed := range map[string]bool{"the new pack was swept": false, "the new pack is listed": true} {
		t.Run(name, func(t *testing.T) {
			table, tableName := namedTable(t)
			ws := newWorkspace(t, table)
			ledger := table.Ledger(ws)
			_, names := advanceStored(t, ledger, 3)
			merged := strings.Repeat("1", 40)
			f := &fates{}
			slow := dynamo.New(standin.DynamoDBClient(t, f.inject), tableName).Ledger(ws)
			f.set("TransactWriteItems", fate{then: func() {
				packs := names[:2]
				if listed {
					packs = append(slices.Clone(packs), merged)
				}
				imported, err := ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Packs: packs})
				must.Do(t, err)
				// As one that Reindex takes over from the rows that it replaces.
				c := storedCommit(imported, 2)
				_, err = ledger.Advance(background, imported, c)
				must.Do(t, err)
			}})
			err := slow.Compacted(background, dynamo.Compaction{Retired: names, Pack: merged})
			if !errors.Is(err, repository.ErrMoved) {
				t.Errorf("%v", err)
			}
			packs, err := ledger.Packs(background)
			must.Do(t, err)
			for _, name := range names {
				if !slices.Contains(packs, name) {
					t.Errorf("%s is not among the packs %v", name, packs)
				}
			}
			now, err := ledger.Head(background)
			must.Do(t, err)
			rows, err := ledger.History(background, now, repository.Page{Limit: 1})
			if err != nil || len(rows) != 1 || rows[0].Pack != names[2] {
				t.Errorf("%+v, %v", rows, err)
			}
		})
	}
}
