package ledgertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"svc.example/svc/shared/repository"
)

func empty(b *bench) {
	head := b.head()
	if head.Commit != "" || head.Sequence != 0 {
		b.Errorf("the head is %+v", head)
	}
	rows, err := b.Ledger.Since(background, head, 0)
	b.must(err)
	b.same("since", rows)
	rows, err = b.Ledger.History(background, head, repository.Page{})
	b.must(err)
	b.same("history", rows)
	b.atIs(head, first, "0123456789abcdef0123456789abcdef01234567", "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, "0123", "", "", repository.ErrUnknownCommit)
}

func since(b *bench) {
	one := b.advance(map[string]string{first: "1", second: "1"})
	two := b.advance(map[string]string{first: "2"})
	three := b.advance(map[string]string{second: ""})
	for after, want := range [][]repository.Commit{{one, two, three}, {two, three}, {three}, nil, nil} {
		rows, err := b.Ledger.Since(background, b.head(), int64(after))
		b.must(err)
		b.same(fmt.Sprintf("since %d", after), rows, want...)
	}
}

func invisible(b *bench) {
	one := b.advance(map[string]string{first: "1"})
	old := b.head()
	two := b.advance(map[string]string{first: "2", second: "2"})
	rows, err := b.Ledger.Since(background, old, 0)
	b.must(err)
	b.same("since", rows, one)
	rows, err = b.Ledger.History(background, old, repository.Page{Path: first})
	b.must(err)
	b.same("history", rows, one)
	rows, err = b.Ledger.History(background, old, repository.Page{})
	b.must(err)
	b.same("whole history", rows, one)
	b.atIs(old, first, two.SHA, "", "", repository.ErrUnknownCommit)
	b.atIs(old, first, two.SHA[:10], "", "", repository.ErrUnknownCommit)
	touches, err := b.Ledger.LastTouches(background, old)
	b.must(err)
	if len(touches) != 1 || touches[first].SHA != one.SHA {
		b.Errorf("last touches %v", touches)
	}
}

func wholeHistory(b *bench) {
	one := b.advance(map[string]string{first: "1", second: "1", "svc.json": "w"})
	two := b.advance(map[string]string{"README.md": "not a file of the layout"})
	three := b.advance(map[string]string{first: "", second: "2"})
	rows, err := b.Ledger.History(background, b.head(), repository.Page{})
	b.must(err)
	b.same("history", rows, three, two, one)
}

func pathHistory(b *bench) {
	one := b.advance(map[string]string{first: "1", second: "1"})
	two := b.advance(map[string]string{first: "2"})
	three := b.advance(map[string]string{first: "", second: "3"})
	four := b.advance(map[string]string{first: "4"})
	for path, want := range map[string][]repository.Commit{
		first:                {four, three, two, one},
		second:               {three, one},
		"segments/none.json": nil,
	} {
		rows, err := b.Ledger.History(background, b.head(), repository.Page{Path: path})
		b.must(err)
		for i := range want {
			want[i] = touching(want[i], path)
		}
		b.same(path, rows, want...)
	}
	if !four.Touched[0].Created || two.Touched[0].Created || touching(three, first).Touched[0].Blob != "" {
		b.Error("this test is about the wrong commits")
	}
}

func pages(b *bench) {
	var want []repository.Commit // newest first
	for i := range 7 {
		c := b.advance(map[string]string{first: fmt.Sprint(i)})
		b.advance(map[string]string{second: fmt.Sprint(i)})
		want = slices.Insert(want, 0, c)
	}
	for limit := range 9 {
		for from := range len(want) + 1 {
			page := repository.Page{Path: first, Limit: limit}
			if from > 0 {
				page.Before = want[from-1].Sequence
			}
			rows, err := b.Ledger.History(background, b.head(), page)
			b.must(err)
			until := len(want)
			if limit > 0 {
				until = min(until, from+limit)
			}
			b.same(fmt.Sprintf("%d before %d", limit, page.Before), rows, want[from:until]...)
		}
	}
	rows, err := b.Ledger.History(background, b.head(), repository.Page{Before: want[0].Sequence + 1, Limit: 1})
	b.must(err)
	b.same("a page of the workspace", rows, want[0])
}

// atIs checks what At finds.
func (b *bench) atIs(head repository.Head, path, revision, sha, blob string, want error) {
	b.Helper()
	gotSHA, touch, err := b.Ledger.At(background, head, path, revision)
	if !errors.Is(err, want) || want == nil && err != nil || gotSHA != sha {
		b.Errorf("%s at %s: %q, %v, want %q, %v", path, revision, gotSHA, err, sha, want)
	}
	if err == nil && (touch.Path != path || touch.Blob != blob) {
		b.Errorf("%s at %s: %+v, want the blob %s", path, revision, touch, blob)
	}
}

func at(b *bench) {
	one := b.advance(map[string]string{second: "1"})
	two := b.advance(map[string]string{first: "2"})
	three := b.advance(map[string]string{second: "3"})
	four := b.advance(map[string]string{first: ""})
	five := b.advance(map[string]string{first: "2"})
	head := b.head()
	blob := two.Touched[0].Blob
	b.atIs(head, first, one.SHA, one.SHA, "", repository.ErrAbsent)
	b.atIs(head, first, two.SHA, two.SHA, blob, nil)
	b.atIs(head, first, three.SHA, three.SHA, blob, nil)
	b.atIs(head, first, four.SHA, four.SHA, "", repository.ErrAbsent)
	b.atIs(head, first, five.SHA, five.SHA, blob, nil)
	b.atIs(head, second, two.SHA, two.SHA, one.Touched[0].Blob, nil)
	b.atIs(head, "segments/none.json", five.SHA, five.SHA, "", repository.ErrAbsent)
}

// abbreviations needs two commits that begin with the same four digits.
func abbreviations(b *bench) {
	one := b.advance(map[string]string{first: "1"})
	between := b.advance(map[string]string{first: "2"})
	before := b.head()
	b.atIs(before, first, one.SHA[:4], one.SHA, one.Touched[0].Blob, nil)
	two := b.commitLike(one.SHA[:4], between.SHA, map[string]string{first: "3"})
	_, err := b.Ledger.Advance(background, before, two)
	b.must(err)
	head := b.head()
	b.atIs(head, first, one.SHA[:4], "", "", repository.ErrAmbiguous)
	b.atIs(head, first, one.SHA, one.SHA, one.Touched[0].Blob, nil)
	common := 4
	for one.SHA[common] == two.SHA[common] {
		common++
	}
	b.atIs(head, first, one.SHA[:common+1], one.SHA, one.Touched[0].Blob, nil)
	b.atIs(head, first, two.SHA[:common+1], two.SHA, two.Touched[0].Blob, nil)
	b.atIs(head, first, between.SHA[:6], between.SHA, between.Touched[0].Blob, nil)
	b.atIs(before, first, one.SHA[:4], one.SHA, one.Touched[0].Blob, nil)
}

func notInHistory(b *bench) {
	one := b.advance(map[string]string{first: "1"})
	loose := b.commit(one.SHA, map[string]string{first: "never the head"})
	head := b.head()
	b.atIs(head, first, loose.SHA, "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, loose.SHA[:12], "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, one.Tree, "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, one.Touched[0].Blob, "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, "refs/heads/main", "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, one.SHA[:3], "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, one.SHA+"0", "", "", repository.ErrUnknownCommit)
}

func lastTouches(b *bench) {
	one := b.advance(map[string]string{first: "1", second: "1", "svc.json": "w"})
	two := b.advance(map[string]string{first: "2"})
	b.advance(map[string]string{second: ""})
	touches, err := b.Ledger.LastTouches(background, b.head())
	b.must(err)
	for path, c := range map[string]repository.Commit{first: two, "svc.json": one} {
		got := touches[path]
		got.Touched, c.Touched = nil, nil
		b.same(path, []repository.Commit{got}, c)
	}
	if _, there := touches[second]; there || len(touches) != 2 {
		b.Errorf("touches of %v", slices.Sorted(maps.Keys(touches)))
	}
}

func reopened(b *bench) {
	one := b.advance(map[string]string{first: "1", second: "1"})
	two := b.advance(map[string]string{first: ""})
	before := b.head()
	b.Subject = b.Reopen(b)
	if head := b.head(); head != before {
		b.Errorf("the head is %+v, want %+v", head, before)
	}
	rows, err := b.Ledger.Since(background, before, 0)
	b.must(err)
	b.same("since", rows, one, two)
	b.atIs(before, first, one.SHA[:8], one.SHA, one.Touched[0].Blob, nil)
	three := b.advance(map[string]string{first: "3"})
	rows, err = b.Ledger.History(background, b.head(), repository.Page{Path: first})
	b.must(err)
	b.same("history", rows, three, two, touching(one, first))
}
