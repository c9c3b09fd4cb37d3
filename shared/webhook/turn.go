package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/table"
)

// turn is one webhook being told what there is to tell.
type turn struct {
	*Sender
	store    Store
	hook     *Registered
	hidden   *hidden
	key      []byte
	held     []string // items that wait
	due      time.Time
	attempts int
	set      table.Attributes // of the state, not written yet
}

// skew is how many seconds clocks may be apart.
const skew = 2

// errTaken: somebody else tells the webhook, or it was deleted.
var errTaken = errors.New("this webhook is told by somebody else")

// Send tells a webhook what there is to tell, as far as it takes that. It returns when there
// is more to do; the zero time for not before something happens. A repeat does no harm.
func (s *Sender) Send(ctx context.Context, workspace string, id access.ID) (due time.Time, err error) {
	store := Store{s.Table, workspace}
	all, err := store.load(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return s.tell(ctx, store, all, id)
}

// All is Send for all webhooks of a workspace, one after the other, for those who are woken by
// messages: later has one come, and says when it does. Of these there is one at a time.
func (s *Sender) All(ctx context.Context, workspace string, later func(due time.Time) (comes time.Time, err error)) error {
	store := Store{s.Table, workspace}
	all, err := store.load(ctx)
	if err != nil {
		return err
	}
	var next time.Time
	for _, h := range all.hooks {
		due, failed := s.tell(ctx, store, all, h.ID)
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
		err = errors.Join(err, failed)
	}
	if next.IsZero() || all.wake > s.Now().Unix()+skew && all.wake <= next.Unix()+skew {
		return err
	}
	comes, failed := later(next)
	if failed == nil {
		failed = store.Table.Batch(ctx, []table.Write{{Key: store.at("wake"), Put: table.Attributes{"at": table.Number(comes.Unix())}}})
	}
	return errors.Join(err, failed)
}

func (s *Sender) tell(ctx context.Context, store Store, all *everything, id access.ID) (due time.Time, err error) {
	t := &turn{Sender: s, store: store, hook: all.hook(id), key: all.key, set: table.Attributes{}}
	if t.hook == nil || t.hook.Silent || t.hook.state == nil {
		return time.Time{}, nil
	}
	if t.hidden, err = t.hook.open(store.Workspace, all.key); err != nil {
		return time.Time{}, err
	}
	if until := t.hook.state.Number("until"); s.Turn != "" && until > s.Now().Unix() {
		return time.Unix(until, 0), nil
	}
	if s.Turn != "" {
		if err := t.take(ctx); err != nil {
			return time.Time{}, err
		}
	}
	if err = t.old(ctx); err == nil {
		err = t.fresh(ctx)
	}
	if err != nil { // where it stands is written with the row that belongs to it, or not at all
		t.set = table.Attributes{}
	}
	if s.Turn != "" {
		t.set["turn"], t.set["until"] = table.Text(""), table.Number(0)
	}
	if len(t.set) > 0 {
		failed := t.save(context.WithoutCancel(ctx))
		err = cmp.Or(err, failed)
	}
	if errors.Is(err, errTaken) {
		return s.Now().Add(turnFor), nil
	}
	return t.due, err
}

// take takes the turn.
func (t *turn) take(ctx context.Context) error {
	was := t.hook.state
	_, err := t.store.Table.Update(ctx, table.Write{Key: t.store.at("hook", string(t.hook.ID), "state"),
		Set: table.Attributes{"turn": table.Text(t.Turn), "until": table.Number(t.Now().Add(turnFor).Unix())},
		If:  []table.Condition{table.Is("turn", table.Text(was.Text("turn"))), table.Is("until", table.Number(was.Number("until")))}})
	if errors.Is(err, table.ErrRefused) {
		return errTaken
	}
	return err
}

// save writes rows together with the state, as long as it is our turn.
func (t *turn) save(ctx context.Context, rows ...table.Write) error {
	w := table.Write{Key: t.store.at("hook", string(t.hook.ID), "state"), Set: t.set, If: []table.Condition{table.Is("turn", table.Text(t.Turn))}}
	var err error
	if len(rows) == 0 {
		_, err = t.store.Table.Update(ctx, w)
	} else {
		err = t.store.Table.Transact(ctx, append(rows, w)...)
	}
	if errors.Is(err, table.ErrRefused) {
		return errTaken
	}
	if err == nil {
		t.set = table.Attributes{}
	}
	return err
}

// mayTry reports whether there is time for another attempt; if not, the turn goes on soon.
func (t *turn) mayTry(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	if t.attempts < perTurn && ctx.Err() == nil && (!bounded || time.Until(deadline) > lastAttempt) {
		return true
	}
	t.due = t.Now()
	return false
}

// hold has all wait that is about the same items, and has a delivery come up again.
func (t *turn) hold(d *Delivery) {
	t.held = append(t.held, d.Event.Items...)
	if !d.Next.IsZero() && (t.due.IsZero() || d.Next.Before(t.due)) {
		t.due = d.Next
	}
}

// old are the deliveries that wait.
func (t *turn) old(ctx context.Context) error {
	waiting := t.hook.Waiting
	t.hook.Waiting = nil
	for i := range waiting {
		d := &waiting[i]
		if shares(t.held, d.Event.Items) || d.Next.After(t.Now()) || !t.mayTry(ctx) {
			t.hold(d)
			t.hook.Waiting = append(t.hook.Waiting, *d)
			continue
		}
		if err := t.try(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// fresh are events that there is no row of.
func (t *turn) fresh(ctx context.Context) error {
	sources, err := t.Sources(ctx, t.store.Workspace)
	if err != nil {
		return err
	}
	for _, name := range sourcesOf(&t.hook.Webhook) {
		source, position := sources[name], t.hook.state.Text(name)
		for source != nil {
			events, reached, err := source.After(ctx, &t.hook.Webhook, position)
			if err != nil {
				return fmt.Errorf("reading what has happened: %w", err)
			}
			for i := range events {
				if len(t.hook.Waiting) >= maxWaiting || !t.mayTry(ctx) {
					return nil // the rest waits where it is
				}
				if err := t.event(ctx, name, &events[i]); err != nil {
					return err
				}
			}
			if reached == position {
				break
			}
			position, t.set[name] = reached, table.Text(reached)
		}
	}
	return nil
}

// event tells one, or has it wait.
func (t *turn) event(ctx context.Context, source string, e *Event) error {
	if err := e.finish(t.key); err != nil {
		return err
	}
	t.set[source] = table.Text(e.Position)
	d := &Delivery{ID: idOf(t.hook.ID, e.ID), Event: *e}
	if slices.ContainsFunc(t.hook.Waiting, func(w Delivery) bool { return w.ID == d.ID }) {
		return nil // it was told whole, or once more
	}
	if !shares(t.held, e.Items) {
		return t.try(ctx, d)
	}
	t.hold(d)
	t.hook.Waiting = append(t.hook.Waiting, *d)
	return t.save(ctx, t.row(d))
}

// row is the row of a delivery that waits.
func (t *turn) row(d *Delivery) table.Write {
	if d.row == "" {
		n := t.hook.state.Number("n") + 1
		t.hook.state["n"], t.set["n"] = table.Number(n), table.Number(n)
		d.row = t.store.at("hook", string(t.hook.ID), "open", fmt.Sprintf("%012d", n)).Sort
	}
	return t.doc(d.row, d)
}

func (t *turn) doc(sort string, d *Delivery) table.Write {
	text, _ := json.Marshal(d) // of texts, numbers and times
	return table.Write{Key: t.store.at(sort), Put: table.Attributes{"doc": table.Text(text)}}
}

// try makes an attempt and writes down what became of it. What was taken, and then is not
// written down, is sent again.
func (t *turn) try(ctx context.Context, d *Delivery) error {
	t.attempts++
	before := slices.ContainsFunc(t.hook.Parked, func(p Delivery) bool { return shares(p.Event.Items, d.Event.Items) })
	a, asked := t.send(ctx, t.hook, t.hidden, d, t.store.Workspace, before)
	last, _ := json.Marshal(a)
	t.set["last"] = table.Text(last)
	ctx = context.WithoutCancel(ctx) // what was sent is noted
	if a.Problem == "" {
		if d.row == "" {
			return t.save(ctx)
		}
		return t.save(ctx, table.Write{Key: t.store.at(d.row), Delete: true})
	}
	if !d.failed(a, asked) {
		t.hold(d)
		write := t.row(d)
		t.hook.Waiting = append(t.hook.Waiting, *d)
		return t.save(ctx, write)
	}
	t.Logger.Warn("a webhook did not take something for a day, which is given up", "webhook", string(t.hook.ID), "delivery", d.ID, "problem", a.Problem)
	return t.park(ctx, d)
}

// park gives a delivery up. Of those that were, the oldest make room.
func (t *turn) park(ctx context.Context, d *Delivery) error {
	open := t.row(d)
	gone := []table.Write{{Key: open.Key, Delete: true}}
	d.row = t.store.at("hook", string(t.hook.ID), "parked", path.Base(d.row)).Sort
	t.hook.Parked = append(t.hook.Parked, *d)
	for len(t.hook.Parked) > maxParked {
		gone = append(gone, table.Write{Key: t.store.at(t.hook.Parked[0].row), Delete: true})
		t.hook.Parked = t.hook.Parked[1:]
	}
	return t.save(ctx, append(gone, t.doc(d.row, d))...)
}
