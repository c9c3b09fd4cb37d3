package repository

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/requestid"
)

// Queue is what a Ledger has as well whose writers are processes that know nothing
// of each other. Who lost the race for the head waits in it. The head names whose
// turn it is (Head.Turn): that one commits, with its own change, all those that wait,
// each as it is decided again on the one before it (see Draft.Decide), and names the
// next. What comes to no commit there goes back to its owner, who decides it again and,
// should it have to wait once more, has a turn of its own.
//
// The queue is about fairness. What is safe rests on the head alone, which moves on
// condition of what the writer has read, and on this: a waiting write is removed in
// the step that commits it or sends it back, or by its owner, or in the step that gives
// its owner the turn. So each is committed once, and its owner knows.
type Queue interface {
	Ledger
	// Enqueue adds a write. When it fails, that write may be there all the same.
	Enqueue(ctx context.Context, w Waiting) error
	// Look returns the head, and whether a write is still waiting.
	Look(ctx context.Context, w Waiting) (head Head, waits bool, err error)
	// Waiting returns what waits, in the order of the places.
	Waiting(ctx context.Context) ([]Waiting, error)
	// TakeTurn changes whose turn it is, and removes a write if it has a place. It is
	// ErrMoved, and changes nothing, where the turn or the write is not there.
	TakeTurn(ctx context.Context, from, to string, w Waiting) error
	// Leave removes a write. It is ErrMoved where that is not there.
	Leave(ctx context.Context, w Waiting) error
	// Holds reports whether one step can advance the head over commits, and remove so
	// many writes.
	Holds(chain []Commit, removed int) bool
	// AdvanceAll is Advance over several commits, each the parent of the next, in one
	// step that also removes what waited and gives the turn on. Of a commit that is
	// alone it takes any size.
	AdvanceAll(ctx context.Context, from Head, chain []Commit, removed []Waiting, turn string) (Head, error)
}

// Waiting is a write that waits in a Queue.
type Waiting struct {
	Place string // of its request: they are served in this order
	Token string // of this stay in the queue
	// Draft is what others can commit for its owner; nil when it has to wait for its turn.
	Draft []byte
	// Until is when nobody can be waiting for it any more.
	Until time.Time
}

// Turn is the place of one request in a Queue. It is used by one goroutine, for all
// tries of the request, and left in the end.
type Turn struct {
	Now time.Time // by the ledger, when the request began
	// On is what the commit was decided on that has landed, where that is not what the
	// request itself has decided it on; else nil.
	On    *Snapshot
	place string    // "" as long as it has not had to wait
	lost  bool      // the race for the head
	back  bool      // others could not commit it
	since time.Time // it has had to wait, by the monotonic clock
	held  string    // the turn, while it is the request's own
	queue Queue
}

// Waited reports whether the request has had to wait: it need not be patient in any
// other way.
func (t *Turn) Waited() bool { return t.place != "" }

// lose notes that the race for the head was lost.
func (t *Turn) lose(err error) error {
	if t != nil && errors.Is(err, ErrMoved) {
		t.lost = true
	}
	return err
}

// Leave gives a turn back that was not used.
func (t *Turn) Leave(ctx context.Context) {
	if t.held == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	_ = t.queue.TakeTurn(ctx, t.held, freeTurn(calmAfter), Waiting{}) // or it is taken as stale
	t.held = ""
}

// How long a process waits. No such time makes anything safe.
const (
	leaving   = 2 * time.Second
	lookEvery = 20 * time.Millisecond
	// soonEvery is for the next in turn: the others wait for it too.
	soonEvery = 5 * time.Millisecond
	// staleAfter is how long whose turn it is takes, as long as somebody sees no
	// change of it.
	staleAfter = time.Second
	maxWait    = 10 * time.Second
	waitsUntil = time.Hour
	// calmAfter is how many turns in a row are of writers that are alone before
	// nobody queues any more.
	calmAfter = 8
	// deciding is how long whose turn it is decides for others.
	deciding = staleAfter / 4
	// maxDraft bounds a draft that others commit, and maxChain the objects of those
	// that are committed together.
	maxDraft = 64 << 10
	maxChain = 1 << 20
)

// A turn is "" when nobody queues; else a number, the place of the request whose turn
// it is, "" where anybody may take it, something random, and the place of who is next,
// if that is known.
func turnOf(calm int, place, next string) string {
	return strings.TrimRight(fmt.Sprintf("%d %s %s %s", calm, place, requestid.New()[:8], next), " ")
}

func freeTurn(calm int) string {
	if calm <= 0 {
		return ""
	}
	return turnOf(calm, "", "")
}

// readTurn reads whose turn it is, "" for nobody's.
func readTurn(turn string) (calm int, place string) {
	number, rest, _ := strings.Cut(turn, " ")
	place, _, _ = strings.Cut(rest, " ")
	calm, _ = strconv.Atoi(number)
	return calm, place
}

// isMine reports whether it is the request's turn.
func (t *Turn) isMine(head Head) bool {
	_, place := readTurn(head.Turn)
	if mine := t.place != "" && place == t.place; !mine {
		t.held = ""
		return false
	}
	t.held = head.Turn
	return true
}

// waitingDraft is a draft while it waits.
type waitingDraft struct {
	Access    int64 // the version under which it was authorized
	Index     string
	RequestID string
	Intent    []byte
}

// portable is a draft as others can commit it; nil where they cannot.
func portable(base *Snapshot, d Draft) *waitingDraft {
	if d.Intent == nil || d.Once != nil || d.Approved || d.Turn.back {
		return nil
	}
	w := &waitingDraft{Access: base.Head.Access, Index: base.Head.Index, RequestID: d.RequestID, Intent: d.Intent()}
	if len(w.Intent) == 0 || len(w.Intent) > maxDraft {
		return nil
	}
	return w
}

// fits reports whether a draft can be decided again at a head: whose it is may still
// write.
func (w *waitingDraft) fits(head Head) bool {
	return w != nil && w.Access == head.Access && w.Index == head.Index
}

// on decides a waiting draft again on a snapshot. It is false where that comes to no
// commit.
func (d Draft) on(ctx context.Context, tip *Snapshot, w *waitingDraft) (Draft, bool) {
	again, decided := d.Decide(ctx, tip, w.Intent)
	again.RequestID, again.Turn, again.Decide = w.RequestID, d.Turn, d.Decide
	return again, decided && len(again.Changes) > 0 && again.check() == nil
}

func readWaiting(text []byte) *waitingDraft {
	if text == nil {
		return nil
	}
	var w waitingDraft
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // of another version, which commits its own
	if decoder.Decode(&w) != nil || len(w.Intent) == 0 || !requestid.Valid(w.RequestID) {
		return nil
	}
	return &w
}

// inTurn commits a draft in its turn, or learns that somebody else has.
func (r *Repository) inTurn(ctx context.Context, q Queue, base *Snapshot, draft Draft) (*Snapshot, error) {
	t := draft.Turn
	t.queue = q
	if t.place == "" {
		t.place = fmt.Sprintf("%012d-%s", base.Head.Sequence, requestid.New()[:16])
		t.since = time.Now()
	}
	if draft.RequestID == "" {
		draft.RequestID = requestid.New()
	}
	own := portable(base, draft)
	head := base.Head
	if !t.isMine(head) {
		landed, at, err := r.wait(ctx, q, base, own, draft)
		if err != nil || landed != nil {
			return landed, err
		}
		head = at
	}
	return r.lead(ctx, q, head, base, own, draft)
}

// wait waits until somebody has committed a draft, or it is its turn at a head.
func (r *Repository) wait(ctx context.Context, q Queue, base *Snapshot, own *waitingDraft, draft Draft) (landed *Snapshot, head Head, err error) {
	t := draft.Turn
	head = base.Head
	if calm, place := readTurn(head.Turn); place == "" {
		mine := turnOf(calm, t.place, "")
		err := q.TakeTurn(ctx, head.Turn, mine, Waiting{})
		if err == nil && head.Turn != "" { // nobody has moved the head since
			head.Turn = mine
			t.isMine(head)
			return nil, head, nil
		}
		if head, _, err = q.Look(ctx, Waiting{}); err != nil || t.isMine(head) {
			return nil, head, err
		}
	}
	w := Waiting{Place: t.place, Token: requestid.New(), Until: t.Now.Add(waitsUntil)}
	if own != nil {
		if w.Draft, err = json.Marshal(own); err != nil {
			return nil, head, err
		}
	}
	if err := q.Enqueue(ctx, w); err != nil {
		return r.giveUp(ctx, q, base, w, draft, err, Refused(err))
	}
	seen, since, othersTurn := "", time.Now(), false
	for pause := lookEvery; ; pause = min(pause*21/20, 3*lookEvery) {
		wait := pause
		if strings.HasSuffix(seen, " "+t.place) { // it is the next after the one whose turn it is
			wait = soonEvery
		}
		if backoff.Sleep(ctx, wait) != nil || time.Since(t.since) > maxWait {
			return r.giveUp(ctx, q, base, w, draft, errTooManyWriters, true)
		}
		head, waits, err := q.Look(ctx, w)
		if err != nil {
			return r.giveUp(ctx, q, base, w, draft, err, true)
		}
		if head.Turn != seen {
			seen, since = head.Turn, time.Now()
		}
		calm, place := readTurn(head.Turn)
		mine := t.isMine(head)
		switch {
		case !waits && mine && othersTurn: // it was given with the removal of the write
			return nil, head, nil
		case !waits:
			return r.outcome(ctx, q, base, draft)
		case mine: // of an earlier stay
			if err := q.Leave(ctx, w); err != nil && !errors.Is(err, ErrMoved) {
				return r.giveUp(ctx, q, base, w, draft, err, true)
			}
			return r.outcome(ctx, q, base, draft)
		case place == "" || time.Since(since) > staleAfter:
			taken := turnOf(max(calm, 1), t.place, "")
			err := q.TakeTurn(ctx, head.Turn, taken, w)
			if err == nil {
				head.Turn = taken
				t.isMine(head)
				return nil, head, nil
			}
			if !errors.Is(err, ErrMoved) {
				return r.giveUp(ctx, q, base, w, draft, err, true)
			}
		}
		othersTurn = othersTurn || !mine
	}
}

var errTooManyWriters error = &Unavailable{Message: "too many others are writing at the moment; the request can be repeated", Cause: ErrBusy}

// giveUp ends the waiting for another reason. Sure says that the write is in the
// queue, unless somebody has taken it out.
func (r *Repository) giveUp(ctx context.Context, q Queue, base *Snapshot, w Waiting, draft Draft, why error, sure bool) (*Snapshot, Head, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := q.Leave(ctx, w)
	if !Refused(why) {
		why = fmt.Errorf("%w: %w", ErrBusy, why)
	}
	switch {
	case err == nil:
		return nil, Head{}, why
	case errors.Is(err, ErrMoved) && sure:
		landed, head, err := r.outcome(ctx, q, base, draft)
		if landed == nil && (err == nil || errors.Is(err, ErrMoved)) {
			return nil, head, why // it has the turn, and leaves it
		}
		return landed, head, err
	}
	return nil, Head{}, fmt.Errorf("%w: %w; taking it back: %w", ErrUnknownOutcome, why, err)
}

// outcome finds out what became of a write that waits no more: it is in the history,
// or has the turn, or is to be decided again.
func (r *Repository) outcome(ctx context.Context, q Queue, base *Snapshot, draft Draft) (*Snapshot, Head, error) {
	unknown := func(err error) (*Snapshot, Head, error) {
		return nil, Head{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	head, _, err := q.Look(ctx, Waiting{})
	if err != nil {
		return unknown(err)
	}
	if head.Index != base.Head.Index {
		return unknown(errors.New("the history was replaced meanwhile"))
	}
	commits, err := r.ledger.Since(ctx, head, base.Head.Sequence)
	if err != nil {
		return unknown(err)
	}
	at := slices.IndexFunc(commits, func(c Commit) bool {
		return strings.HasSuffix(c.Message, "\n"+RequestTrailer+draft.RequestID+"\n")
	})
	switch {
	case at >= 0:
	case draft.Turn.isMine(head):
		return nil, head, nil
	default:
		draft.Turn.back = true
		return nil, head, ErrMoved
	}
	placed := func(commit string, sequence int64) Head {
		return Head{Commit: commit, Sequence: sequence, Access: head.Access, Fence: head.Fence, Index: head.Index}
	}
	c := commits[at]
	landed, err := r.apply(ctx, base, placed(c.SHA, c.Sequence), commits[:at+1])
	if err != nil {
		return unknown(err)
	}
	r.memory.put(landed)
	if at > 0 {
		if draft.Turn.On, err = r.apply(ctx, base, placed(c.Parent, c.Sequence-1), commits[:at]); err != nil {
			return unknown(err)
		}
	}
	landed = landed.copy(landed.Head)
	landed.Parent = c.Parent
	return landed, landed.Head, nil
}

// lead commits a draft, and those that wait, onto a head.
func (r *Repository) lead(ctx context.Context, q Queue, head Head, base *Snapshot, own *waitingDraft, draft Draft) (*Snapshot, error) {
	tip, err := r.Snapshot(ctx, head)
	if err != nil {
		return nil, err
	}
	var on *Snapshot
	if base.Head.Commit != head.Commit || base.Head.Access != head.Access || base.Head.Fence != head.Fence {
		decided := own.fits(head)
		if decided {
			draft, decided = draft.on(ctx, tip, own)
		}
		if !decided {
			return nil, ErrMoved // to be decided again, in its turn
		}
		on = tip
	}
	waiting, err := q.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	c, err := r.begin(ctx, tip, draft)
	if err != nil || c == nil {
		return tip, err
	}
	c.due = r.isDue(c.from, c.commits[0].commit)
	removed, left := r.gather(ctx, q, c, draft, waiting)
	calm, _ := readTurn(head.Turn)
	turn := freeTurn(calmAfter)
	switch {
	case len(left) > 1:
		turn = turnOf(calmAfter, left[0].Place, left[1].Place)
		removed = append(removed, left[0])
	case len(left) == 1:
		turn = turnOf(calmAfter, left[0].Place, "")
		removed = append(removed, left[0])
	case len(removed) == 0:
		turn = freeTurn(calm - 1)
	}
	landed, err := r.land(ctx, tip, c, draft, func(ctx context.Context, commits []Commit) (Head, error) {
		return q.AdvanceAll(ctx, tip.Head, commits, removed, turn)
	})
	if err != nil {
		return nil, err
	}
	draft.Turn.held, draft.Turn.On = "", on // it was given on
	first := c.commits[0]
	at := landed.Head
	at.Commit, at.Sequence = first.commit.SHA, first.commit.Sequence
	answer := landed.copy(at)
	answer.Parent = first.commit.Parent
	return answer, nil
}

// gather adds to a chain what waits. Removed are those that were added, and those that
// come to no commit; those that nobody else decides, or there is no room for, are left.
func (r *Repository) gather(ctx context.Context, q Queue, c *chain, draft Draft, waiting []Waiting) (removed, left []Waiting) {
	began := time.Now()
	for i, w := range waiting {
		own := readWaiting(w.Draft)
		if draft.Decide == nil || !own.fits(c.tip.Head) {
			left = append(left, w)
			continue
		}
		rows := len(removed) + 2 // with this one, and that of who is next
		if c.due || c.bytes > maxChain || time.Since(began) > deciding || !q.Holds(c.list(), rows) {
			return removed, append(left, waiting[i:]...)
		}
		if again, decided := draft.on(ctx, c.tip, own); decided {
			tree, _ := c.tip.knownTree() // it has just been made
			p, err := prepare(c.tip, tree, again)
			if p != nil && !q.Holds(append(c.list(), p.commit), rows) {
				return removed, append(left, waiting[i:]...)
			}
			if err == nil && p != nil {
				r.add(c, p)
			}
		}
		removed = append(removed, w)
	}
	return removed, left
}
