package request_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/database"
	tables "svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

var ctx = context.Background()

func onAWS(t *testing.T) (request.Store, *standin.Wire) {
	t.Helper()
	plain := standin.DynamoDBClient(t)
	name := standin.Table(t, plain)
	must.Do(t, tables.New(plain, name, nil).Create(ctx))
	w := &standin.Wire{}
	return request.Store{Table: dynamo.New(standin.DynamoDBClient(t, w.Client), name)}, w
}

func inFile(t *testing.T) request.Store {
	return request.Store{Table: bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db")))}
}

// TestStore holds both stores to what package request promises.
func TestStore(t *testing.T) {
	t.Run("in a file", func(t *testing.T) { suite(t, inFile(t)) })
	t.Run("on AWS", func(t *testing.T) { s, _ := onAWS(t); suite(t, s) })
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func person(n int) request.Person {
	return request.Person{Type: access.PrincipalUser, ID: access.ID(fmt.Sprintf("%016d", n)), Name: fmt.Sprint("P", n)}
}

func fresh(by int) *request.Request {
	return &request.Request{State: request.Open, Title: "t", Author: person(by), CreatedAt: noon, UpdatedAt: noon, Operations: `[1]`, Touched: []string{"configs/c.json"}}
}

func suite(t *testing.T, s request.Store) {
	mark := request.Mark{By: person(9), At: noon}
	for n := range int64(5) {
		r := fresh(1)
		must.Do(t, s.Create(ctx, "ws", r, nil))
		if r.Number != n+1 {
			t.Fatalf("number %d, want %d", r.Number, n+1)
		}
	}
	must.Do(t, s.Create(ctx, "other", fresh(1), nil))
	if _, err := s.Get(ctx, "ws", 6); !errors.Is(err, request.ErrNotFound) {
		t.Error(err)
	}
	closed := must.Get(s.Update(ctx, "ws", 3, request.WasClosed, mark, nil, func(r *request.Request) error { r.State = request.Closed; return nil }))(t)
	if got := must.Get(s.Get(ctx, "ws", 3))(t); got.State != request.Closed || got.Operations != `[1]` || closed.State != request.Closed || !slices.Equal(got.Touched, []string{"configs/c.json"}) {
		t.Errorf("%+v", got)
	}
	if _, err := s.Update(ctx, "ws", 3, request.WasClosed, mark, nil, func(r *request.Request) error { return request.ErrUnchanged }); !errors.Is(err, request.ErrUnchanged) {
		t.Error(err)
	}
	numbers := func(open bool, below int64) string {
		var all []string
		must.Do(t, s.List(ctx, "ws", open, below, func(r *request.Request) (bool, error) {
			all = append(all, request.ID(r.Number))
			return true, nil
		}))
		return strings.Join(all, " ")
	}
	if numbers(true, 0) != "5 4 2 1" || numbers(true, 4) != "2 1" || numbers(false, 0) != "3" {
		t.Errorf("%q %q %q", numbers(true, 0), numbers(true, 4), numbers(false, 0))
	}
	// Many at once: each has its number, and there is an event of each, in order.
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 4 {
				if n%2 == 0 {
					_ = s.Create(ctx, "ws", fresh(2), nil)
				} else {
					_, _ = s.Update(ctx, "ws", 1, request.WasCommented, mark, nil, func(r *request.Request) error {
						r.Comments = append(r.Comments, request.Comment{By: person(n), At: noon, Text: "x"})
						return nil
					})
				}
			}
		})
	}
	all.Wait()
	events, created, commented := eventsOf(t, s, "ws"), 0, 0
	for i, e := range events {
		if e.Sequence != int64(i+1) {
			t.Fatalf("event %d is %+v", i+1, e)
		}
		switch e.Kind {
		case request.WasCreated:
			if created++; e.Number != int64(created) {
				t.Errorf("%+v is the creation %d", e, created)
			}
		case request.WasCommented:
			commented++
		}
	}
	if got := must.Get(s.Get(ctx, "ws", 1))(t); len(got.Comments) != commented || commented == 0 {
		t.Errorf("%d comments, %d events", len(got.Comments), commented)
	}
	large := fresh(1)
	for i := range 200_000 {
		large.Touched = append(large.Touched, fmt.Sprintf("configs/%x.json", i*2654435761))
	}
	if err := s.Create(ctx, "ws", large, nil); !errors.Is(err, request.ErrTooLarge) {
		t.Error(err)
	}
	// An archive makes the same, and goes on where that was.
	var archive bytes.Buffer
	must.Do(t, s.Archive(ctx, "ws", &archive))
	must.Do(t, request.CheckArchive(bytes.NewReader(archive.Bytes())))
	must.Do(t, s.Restore(ctx, "copy", bytes.NewReader(archive.Bytes())))
	var copied bytes.Buffer
	must.Do(t, s.Archive(ctx, "copy", &copied))
	if copied.String() != archive.String() {
		t.Errorf("restored:\n%s\nwas:\n%s", copied.String(), archive.String())
	}
	next := fresh(1)
	must.Do(t, s.Create(ctx, "copy", next, nil))
	if int(next.Number) != created+1 || len(eventsOf(t, s, "copy")) != len(events)+1 {
		t.Errorf("it goes on with %d", next.Number)
	}
	for _, damaged := range []string{"{", `{"sk": "other/1", "row": {}}`, `{"sk": "open/1", "row": 1}`} {
		if request.CheckArchive(strings.NewReader(damaged)) == nil {
			t.Errorf("%s is taken", damaged)
		}
	}
}

func eventsOf(t *testing.T, s request.Store, workspace string) (events []request.Event) {
	t.Helper()
	must.Do(t, s.Events(ctx, workspace, 0, func(e request.Event) (bool, error) { events = append(events, e); return true, nil }))
	return events
}

// TestAnArchiveThatWasWrittenMeanwhile: what was ended between its rows is there twice.
func TestAnArchiveThatWasWrittenMeanwhile(t *testing.T) {
	s := inFile(t)
	must.Do(t, s.Create(ctx, "ws", fresh(1), nil))
	must.Do(t, s.Create(ctx, "ws", fresh(1), nil))
	var before, after bytes.Buffer
	must.Do(t, s.Archive(ctx, "ws", &before))
	must.Get(s.Update(ctx, "ws", 1, request.WasClosed, request.Mark{By: person(1), At: noon}, nil, func(r *request.Request) error { r.State = request.Closed; return nil }))(t)
	must.Do(t, s.Archive(ctx, "ws", &after))
	open, _, _ := strings.Cut(before.String(), `{"sk":"event/`)
	_, rest, _ := strings.Cut(after.String(), `{"sk":"done/`)
	must.Do(t, s.Restore(ctx, "copy", strings.NewReader(open+`{"sk":"done/`+rest)))
	if got := must.Get(s.Get(ctx, "copy", 1))(t); got.State != request.Closed {
		t.Errorf("%+v", got)
	}
	for range request.MaxOpenOfOne - 1 {
		must.Do(t, s.Create(ctx, "copy", fresh(1), nil))
	}
	if err := s.Create(ctx, "copy", fresh(1), nil); !errors.Is(err, request.ErrTooMany) {
		t.Error(err)
	}
}

// TestWhatRequestsCost in requests to DynamoDB.
func TestWhatRequestsCost(t *testing.T) {
	s, w := onAWS(t)
	cost := func(want string, work func()) {
		t.Helper()
		if got := w.Requests(work); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	cost("1 BatchGetItem, 1 TransactWriteItems", func() { must.Do(t, s.Create(ctx, "ws", fresh(1), nil)) })
	cost("1 BatchGetItem", func() { must.Get(s.Get(ctx, "ws", 1))(t) })
	cost("1 BatchGetItem, 1 TransactWriteItems", func() {
		must.Get(s.Update(ctx, "ws", 1, request.WasClosed, request.Mark{By: person(1), At: noon}, nil, func(r *request.Request) error { r.State = request.Closed; return nil }))(t)
	})
	var archive bytes.Buffer
	must.Do(t, s.Archive(ctx, "ws", &archive))
	cost("1 BatchWriteItem", func() { must.Do(t, s.Restore(ctx, "copy", &archive)) })
	cost("1 Query", func() {
		must.Do(t, s.List(ctx, "ws", true, 0, func(*request.Request) (bool, error) { return true, nil }))
	})
}

// TestLostAnswers: what was done is done once, and told.
func TestLostAnswers(t *testing.T) {
	for _, after := range []bool{false, true} {
		s, w := onAWS(t)
		lost := 0
		w.Lose = func(operation string) (bool, bool) {
			if operation != "TransactWriteItems" || lost >= 6 {
				return false, false
			}
			lost++
			return !after, after
		}
		var err error
		for range 3 {
			if err = s.Create(ctx, "ws", fresh(1), nil); err == nil {
				break
			}
		}
		if got := eventsOf(t, s, "ws"); err != nil || len(got) != 1 {
			t.Errorf("lost after it was done %v: %v, %d events", after, err, len(got))
		}
	}
}
