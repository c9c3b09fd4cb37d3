package gitremote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/table"
)

// Requests are the change requests of a workspace.
type Requests interface {
	// Propose has a remote ask for something, and gives the number of the request. A remote has
	// one open request at most, which says then what it asks for now. It is ErrUnaskable where
	// no request can say it, and ErrDecided where the one that asks already is decided.
	Propose(ctx context.Context, p Proposal) (int64, error)
	// Open reports whether a request waits to be decided.
	Open(ctx context.Context, number int64) (bool, error)
	// Withdraw ends a request that is open.
	Withdraw(ctx context.Context, number int64) error
}

// ErrUnaskable is for what is no item, or whose values not everybody may see.
var ErrUnaskable = errors.New("no change request can say this")

// ErrDecided is for a change request that was applied or closed meanwhile.
var ErrDecided = errors.New("the change request is decided")

// Proposal is what a remote asks for: that items become what they are there.
type Proposal struct {
	Request        int64  // the number of the one that asks already; 0 for none
	Commit, Author string // the newest there, and who made it
	Why            string // it has to be decided
	Items          []Proposed
}

// Proposed is an item as it is here and there; nil for none.
type Proposed struct {
	Path         string
	Ours, Theirs []byte
}

// question is what the remote waits for.
type question struct {
	request int64  // the number of the one that is open; 0 for none
	asked   []mark // what it is about
	settled []mark // what was decided: what is here stays, which is the remote's where it was applied
}

// mark stands for a file and its content at the remote.
type mark [16]byte

func (c coming) mark() (m mark) {
	sum := sha256.Sum256([]byte(c.path + "\x00" + c.theirs.String()))
	copy(m[:], sum[:])
	return m
}

func (f *Follower) questionKey() table.Key {
	return table.Key{Partition: partition, Sort: f.key().Sort + " question"}
}

// ask has somebody decide what comes. It is always an error, which says why nothing is pushed:
// otherwise says what to do where no request can be made of it.
func (t *turn) ask(ctx context.Context, read object.Read, tip object.ID, all []coming, why, otherwise string) error {
	unasked := refuse("%s. %s", why, otherwise)
	if t.Requests == nil || len(all) == 0 {
		return unasked
	}
	asked := question{settled: t.question.settled}
	last, err := object.ReadCommit(read, tip)
	if err != nil {
		return err
	}
	p := Proposal{Request: t.question.request, Commit: tip.String(), Author: last.Author.Name, Why: why}
	for _, c := range all {
		item := Proposed{Path: c.path}
		for _, side := range []struct {
			entry object.TreeEntry
			text  *[]byte
		}{{c.ours, &item.Ours}, {c.new, &item.Theirs}} {
			switch {
			case side.entry == (object.TreeEntry{}):
			case !side.entry.IsFile():
				return unasked
			default:
				if *side.text, err = object.ReadAs(read, side.entry.ID, object.Blob); err != nil {
					return err
				}
			}
		}
		p.Items, asked.asked = append(p.Items, item), append(asked.asked, c.mark())
	}
	asked.request, err = t.Requests.Propose(ctx, p)
	if errors.Is(err, ErrUnaskable) {
		return unasked
	}
	if err != nil {
		return err
	}
	if err := t.keep(ctx, asked); err != nil {
		return err
	}
	return &Refusal{fmt.Sprintf("%s. Until the change request %d is decided nothing is pushed and nothing taken from there", why, asked.request), asked.request}
}

func (t *turn) keep(ctx context.Context, q question) error {
	pack := func(marks []mark) (all table.Bytes) {
		for _, m := range marks {
			all = append(all, m[:]...)
		}
		return all
	}
	err := t.Table.Transact(ctx, table.Write{Key: t.questionKey(), Put: table.Attributes{
		"request": table.Number(q.request), "asked": pack(q.asked), "settled": pack(q.settled)}})
	if err == nil {
		t.question = q
	}
	return err
}

// asked reads the question, with what was decided of it.
func (t *turn) asked(ctx context.Context) error {
	rows, err := t.Table.Get(ctx, []table.Key{t.questionKey()})
	if err != nil || len(rows) == 0 || t.Requests == nil {
		return err
	}
	unpack := func(all []byte) (marks []mark) {
		for m := range slices.Chunk(all, len(mark{})) {
			marks = append(marks, mark(m))
		}
		return marks
	}
	a := rows[0].Attributes
	t.question = question{request: a.Number("request"), asked: unpack(a.Bytes("asked")), settled: unpack(a.Bytes("settled"))}
	if t.question.request == 0 {
		return nil
	}
	open, err := t.Requests.Open(ctx, t.question.request)
	if err != nil || open {
		return err
	}
	return t.keep(ctx, question{settled: slices.Concat(t.question.settled, t.question.asked)})
}

// answered forgets the question, once all of the remote is here. A request that is open is about nothing then.
func (t *turn) answered(ctx context.Context) error {
	if t.question.request != 0 {
		if err := t.Requests.Withdraw(ctx, t.question.request); err != nil {
			return err
		}
	}
	if t.question.request != 0 || len(t.question.settled) > 0 {
		t.question = question{}
		return t.Table.Transact(ctx, table.Write{Key: t.questionKey(), Delete: true})
	}
	return nil
}

// decision reports whether a change request is waited for, and whether it is decided by now.
func (f *Follower) decision(ctx context.Context) (waits, decided bool) {
	number := f.Status().Request
	if number == 0 {
		return false, false
	}
	open, err := f.Requests.Open(ctx, number)
	return true, err == nil && !open
}

// inList names files, the first of many.
func inList(all []coming) string {
	const told = 10
	var names []string
	for _, c := range all[:min(len(all), told)] {
		names = append(names, c.path)
	}
	list := strings.Join(names, ", ")
	if more := len(all) - told; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
