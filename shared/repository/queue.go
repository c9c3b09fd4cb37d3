package repository

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/workspace"
)

// Queue is what a Ledger has as well whose writers are processes that know nothing
// of each other. Who lost the race for the head waits in it. The head names whose
// turn it is (Head.Turn): that one commits, with its own change, all those that wait
// and can be committed as they were decided, and names the next.
//
// The queue is about fairness. What is safe rests on the head alone, which moves on
// condition of what the writer has read, and on this: a waiting write is removed in
// the step that commits it, or by its owner, or in the step that gives its owner the
// turn. So each is committed once, and its owner knows.
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
	// Holds reports whether one step can advance the head over commits.
	Holds(chain []Commit) bool
	// AdvanceAll is Advance over several commits, each the parent of the next, in one
	// step that also removes what waited and gives the turn on. Of a commit that is
	// alone it takes any size.
	AdvanceAll(ctx context.Context, from Head, chain []Commit, removed []Waiting, turn string) (Head, error)
}

// Waiting is a write that waits in a Queue.
type Waiting struct {
	Place string // of its request: they are served in this order
	Token string // of this stay in the queue
	// Draft is what others can commit for its owner; nil when it has to be decided
	// again in its turn.
	Draft []byte
	// Until is when nobody can be waiting for it any more.
	Until time.Time
}

// Turn is the place of one request in a Queue. It is used by one goroutine, for all
// tries of the request, and left in the end.
type Turn struct {
	Now   time.Time // by the ledger, when the request began
	place string    // "" as long as it has not had to wait
	lost  bool      // the race for the head
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
	Sequence  int64 // of the commit that it was decided on
	Access    int64 // the version under which it was authorized
	Fence     int64
	Index     string
	Changes   []waitingChange
	Author    Signature
	Committer Signature
	Message   string
	RequestID string
}

type waitingChange struct {
	Path, Before string // Before is the blob that it replaces
	Content      []byte
}

// portable is a draft as others can commit it; nil where they cannot.
func portable(base *Snapshot, d Draft) *waitingDraft {
	if !d.Standalone || d.Once != nil || d.Approved {
		return nil
	}
	w := &waitingDraft{
		Sequence: base.Head.Sequence, Access: base.Head.Access, Fence: base.Head.Fence, Index: base.Head.Index,
		Author: d.Author, Committer: d.Committer, Message: d.Message, RequestID: d.RequestID,
	}
	size := len(d.Message)
	for _, c := range d.Changes {
		f, there := base.File(c.Path)
		if !there || c.Content == nil || !isPlain(c.Path, c.Content) {
			return nil
		}
		w.Changes = append(w.Changes, waitingChange{c.Path, f.Blob, c.Content})
		size += len(c.Content)
	}
	if size > maxDraft {
		return nil
	}
	return w
}

// fits reports whether a draft can be committed onto a snapshot as it was decided:
// nothing came since but new texts of other documents that were there.
func (w *waitingDraft) fits(tip *Snapshot) bool {
	if w == nil || w.Access != tip.Head.Access || w.Index != tip.Head.Index || w.Fence != tip.Head.Fence ||
		w.Sequence > tip.Head.Sequence || w.Sequence < tip.reshapedAt() {
		return false
	}
	for _, c := range w.Changes {
		f, there := tip.File(c.Path)
		if !there || f.Blob != c.Before || f.Last == nil || f.Last.Sequence > w.Sequence {
			return false
		}
	}
	return true
}

// draft is a Draft again.
func (w *waitingDraft) draft() Draft {
	d := Draft{Author: w.Author, Committer: w.Committer, Message: w.Message, RequestID: w.RequestID}
	for _, c := range w.Changes {
		d.Changes = append(d.Changes, Change{c.Path, c.Content})
	}
	return d
}

func readWaiting(text []byte) *waitingDraft {
	if text == nil {
		return nil
	}
	var w waitingDraft
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // of a newer version, which commits its own
	if decoder.Decode(&w) != nil || len(w.Changes) == 0 || w.draft().check() != nil || !requestid.Valid(w.RequestID) {
		return nil
	}
	return &w
}

// isPlain says of a document whether a new text of it changes nothing for others:
// it is nothing that others name, and names none of its kind.
func isPlain(path string, text []byte) bool {
	folder, _, _ := strings.Cut(path, "/")
	switch workspace.Folder(folder) {
	case workspace.Flags, workspace.Configs, workspace.LogLevels:
		return !bytes.Contains(text, []byte("decryptWith")) && !bytes.Contains(text, []byte(`\u`)) // which may spell it
	}
	return false
}

// reshapes reports whether a commit did more than give documents new texts.
func reshapes(touched []Touch) bool {
	for _, t := range touched {
		if t.Created || t.Blob == "" || t.Text == nil || !isPlain(t.Path, t.Text) {
			return true
		}
	}
	return false
}

// reshapedAt is the last commit that did more than give documents new texts, as far
// as that is known.
func (s *Snapshot) reshapedAt() int64 {
	if s.reshaped == nil {
		return s.Head.Sequence
	}
	return *s.reshaped
}

// followed notes what commits did on the way from a snapshot.
func (s *Snapshot) followed(base *Snapshot, commits ...Commit) {
	at := base.reshapedAt()
	for _, c := range commits {
		if reshapes(c.Touched) {
			at = c.Sequence
		}
	}
	s.reshaped = &at
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
		landed, at, err := r.wait(ctx, q, base.Head, own, draft)
		if err != nil || landed != nil {
			return landed, err
		}
		head = at
	}
	return r.lead(ctx, q, head, base, own, draft)
}

// wait waits until somebody has committed a draft, or it is its turn at a head.
func (r *Repository) wait(ctx context.Context, q Queue, base Head, own *waitingDraft, draft Draft) (landed *Snapshot, head Head, err error) {
	t := draft.Turn
	if calm, place := readTurn(base.Turn); place == "" {
		mine := turnOf(calm, t.place, "")
		err := q.TakeTurn(ctx, base.Turn, mine, Waiting{})
		if err == nil && base.Turn != "" { // nobody has moved the head since
			base.Turn = mine
			t.isMine(base)
			return nil, base, nil
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
func (r *Repository) giveUp(ctx context.Context, q Queue, base Head, w Waiting, draft Draft, why error, sure bool) (*Snapshot, Head, error) {
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
func (r *Repository) outcome(ctx context.Context, q Queue, base Head, draft Draft) (*Snapshot, Head, error) {
	head, _, err := q.Look(ctx, Waiting{})
	if err != nil {
		return nil, head, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	if head.Index != base.Index {
		return nil, head, fmt.Errorf("%w: the history was replaced meanwhile", ErrUnknownOutcome)
	}
	now, err := r.Snapshot(ctx, head)
	if err != nil {
		return nil, head, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	c, err := r.committed(ctx, now, base, draft)
	if err != nil {
		return nil, head, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	if c != nil {
		head.Commit, head.Sequence = c.SHA, c.Sequence
		landed := now.copy(head)
		landed.Parent = c.Parent
		return landed, head, nil
	}
	if draft.Turn.isMine(head) {
		return nil, head, nil
	}
	return nil, head, ErrMoved
}

// committed finds the commit of a draft in the history since a head; nil where it is
// not. No request is asked where nobody has touched what the draft changes.
func (r *Repository) committed(ctx context.Context, now *Snapshot, since Head, draft Draft) (*Commit, error) {
	f, there := now.File(draft.Changes[0].Path)
	if there && f.Last != nil && f.Last.Sequence <= since.Sequence {
		return nil, nil
	}
	commits, err := r.ledger.Since(ctx, now.Head, since.Sequence)
	for i := range commits {
		if strings.HasSuffix(commits[i].Message, "\n"+RequestTrailer+draft.RequestID+"\n") {
			return &commits[i], nil
		}
	}
	return nil, err
}

// lead commits a draft, and those that wait and fit, onto a head.
func (r *Repository) lead(ctx context.Context, q Queue, head Head, base *Snapshot, own *waitingDraft, draft Draft) (*Snapshot, error) {
	tip, err := r.Snapshot(ctx, head)
	if err != nil {
		return nil, err
	}
	if base.Head.Commit != head.Commit || base.Head.Access != head.Access || base.Head.Fence != head.Fence {
		if !own.fits(tip) {
			return nil, ErrMoved // to be decided again, in its turn
		}
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
	var removed, left []Waiting
	for _, w := range waiting {
		if d := readWaiting(w.Draft); d.fits(c.tip) && r.add(c, d.draft(), q) {
			removed = append(removed, w)
		} else {
			left = append(left, w)
		}
	}
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
	draft.Turn.held = "" // it was given on
	first := c.commits[0]
	at := landed.Head
	at.Commit, at.Sequence = first.commit.SHA, first.commit.Sequence
	answer := landed.copy(at)
	answer.Parent = first.commit.Parent
	return answer, nil
}
