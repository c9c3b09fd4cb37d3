package dynamo_test

import (
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// wideFiles are so many files, at paths that cannot be compressed, that the
// touches of a commit of them lie in two rows of their own.
const wideFiles = 2000

func widePath(n int) string {
	first, second := sha512.Sum512([]byte{byte(n), byte(n >> 8)}), sha512.Sum512([]byte{byte(n), byte(n >> 8), 1})
	return "configs/k" + base64.RawURLEncoding.EncodeToString(slices.Concat(first[:], second[:])) + ".json"
}

// largeCommit touches many files.
func largeCommit(head repository.Head, n, files int) repository.Commit {
	c := commitOn(head, n)
	c.Touched = nil
	for i := range files {
		text := fmt.Appendf(nil, "text %d of %d", i, n)
		c.Touched = append(c.Touched, repository.Touch{
			Path: widePath(i), Blob: blobOf(text), Text: text, Created: true,
		})
	}
	return c
}

// TestLargeCommits: a commit of any size lands as a whole, and one that loses
// leaves nothing that can be seen.
func TestLargeCommits(t *testing.T) {
	sent := &requests{}
	table := newTable(t, sent.count)
	for _, files := range []int{97, 98, 300, wideFiles} {
		t.Run(fmt.Sprint(files), func(t *testing.T) {
			ws := newWorkspace(t, table)
			ledger := table.Ledger(ws)
			empty, err := ledger.Head(background)
			must.Do(t, err)
			small := commitOn(empty, 1)
			small.Touched[0].Path = largeCommit(empty, 2, 1).Touched[0].Path
			path := small.Touched[0].Path
			from, err := ledger.Advance(background, empty, small)
			must.Do(t, err)

			winner, loser := commitOn(from, 3), largeCommit(from, 4, files)
			winner.Touched[0].Path = path
			head, err := ledger.Advance(background, from, winner)
			must.Do(t, err)
			if _, err := ledger.Advance(background, from, loser); !errors.Is(err, repository.ErrMoved) {
				t.Fatalf("the loser: %v", err)
			}
			wantHistory := func(path string, want ...repository.Commit) {
				t.Helper()
				commits, err := ledger.History(background, head, repository.Page{Path: path})
				must.Do(t, err)
				if len(commits) != len(want) {
					t.Fatalf("%d commits of %q, want %d", len(commits), path, len(want))
				}
				for i, c := range commits {
					touched := len(want[i].Touched)
					if path != "" {
						touched = 1
					}
					if c.SHA != want[i].SHA || len(c.Touched) != touched {
						t.Errorf("%s with %d touches, want %s with %d", c.SHA, len(c.Touched), want[i].SHA, touched)
					}
				}
			}
			wantHistory(path, winner, small)
			if _, _, err := ledger.At(background, head, path, loser.SHA); !errors.Is(err, repository.ErrUnknownCommit) {
				t.Errorf("the loser can be named: %v", err)
			}
			if _, touch, err := ledger.At(background, head, path, winner.SHA); err != nil || touch.Blob != winner.Touched[0].Blob {
				t.Errorf("at the winner: %+v, %v", touch, err)
			}

			large := largeCommit(head, 5, files)
			landed, err := ledger.Advance(background, head, large)
			must.Do(t, err)
			if again, err := ledger.Advance(background, head, large); err != nil || again != landed {
				t.Errorf("again: %+v, %v", again, err)
			}
			head = landed
			wantHistory(path, large, winner, small)
			wantHistory("", large, winner, small)
			rows, err := ledger.Since(background, head, 2)
			must.Do(t, err)
			if len(rows) != 1 || len(rows[0].Touched) != files {
				t.Errorf("%d rows", len(rows))
			}
			last := large.Touched[files-1]
			sent.take()
			if _, touch, err := ledger.At(background, head, last.Path, large.SHA); err != nil || touch.Blob != last.Blob {
				t.Errorf("%+v, %v", touch, err)
			}
			if asked := sent.take(); len(asked) != 1 {
				t.Errorf("a file of a large commit took %v", asked)
			}
			removed, err := sweep(ledger)
			must.Do(t, err)
			if files > 97 && removed < files || files <= 97 && removed > 0 {
				t.Errorf("swept %d rows", removed)
			}
			wantHistory(path, large, winner, small)
			if again, err := sweep(ledger); err != nil || again != 0 {
				t.Errorf("swept %d rows once more, %v", again, err)
			}
		})
	}
}

// TestKilledBetweenHeadAndRows: rows that were never confirmed count as soon as
// their commit has landed, and not before.
func TestKilledBetweenHeadAndRows(t *testing.T) {
	f := &fates{}
	table := newTable(t, f.inject)
	ledger := table.Ledger(newWorkspace(t, table))
	from, err := ledger.Head(background)
	must.Do(t, err)
	c := largeCommit(from, 1, 150)
	// 7 batches before the head (the note, and 150 rows), none after; and only
	// the first transaction, which moves it.
	f.set("BatchWriteItem", append(times(7, fate{}), times(10_000, fate{before: said("AccessDeniedException")})...)...)
	f.and("TransactWriteItems", append(times(1, fate{}), times(10_000, fate{before: said("AccessDeniedException")})...)...)
	head, err := ledger.Advance(background, from, c)
	must.Do(t, err)
	f.set("BatchWriteItem")
	for range 2 {
		for _, touch := range []repository.Touch{c.Touched[0], c.Touched[149]} {
			commits, err := ledger.History(background, head, repository.Page{Path: touch.Path, Limit: 1})
			if err != nil || len(commits) != 1 || commits[0].SHA != c.SHA {
				t.Errorf("%v, %v", commits, err)
			}
			if _, found, err := ledger.At(background, head, touch.Path, c.SHA); err != nil || found.Blob != touch.Blob {
				t.Errorf("%+v, %v", found, err)
			}
		}
		_, err := sweep(ledger)
		must.Do(t, err)
	}
}
