package change

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/requestid"
)

// Idempotency is of a request that its client may send again, under the
// Idempotency-Key that the caller was authenticated with.
type Idempotency struct {
	// Request is a digest of what is asked for; see Digest.
	Request string
	// Encode makes the answer of a result.
	Encode func(result any) (Answer, error)
	// Answer is what the request is answered, once it has landed, now or before; nil
	// for a request that was refused or has changed nothing.
	Answer *Answer
	// For is for how long its answer is remembered; 0 is Remembered.
	For time.Duration
	// Replayed says that it had landed before. There is no result then.
	Replayed bool
}

// Answer is what a request was answered.
type Answer struct {
	Status int
	Body   []byte
	// Truncated says that the answer was too large to be remembered: it names the
	// commit and nothing else.
	Truncated bool
}

// Remembered is for how long what has landed under an Idempotency-Key is not made
// again.
const Remembered = 24 * time.Hour

// MaxRemembered is how many bytes the body of an answer may have to be remembered.
const MaxRemembered = 64 << 10

// Digest is of parts of which only the last may have a zero byte: 32 hexadecimal
// digits.
func Digest(parts ...[]byte) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Replay finds the answer of a request that has landed already. Another request under
// its Idempotency-Key is refused. It needs nothing of the request but its digest: the
// answer is the same even if the request would be decided differently by now.
func (w *Writer) Replay(ctx context.Context, i *Idempotency) error {
	state, err := w.begin(ctx, false)
	if err != nil {
		return err
	}
	if err = w.service.replay(ctx, state, i); isStale(err) {
		return nil // who carries it out looks again
	}
	return repository.Fault(err)
}

func (s *Service) replay(ctx context.Context, state *State, i *Idempotency) error {
	landed := state.Landed
	if i == nil || state.Once == "" || landed == nil || !s.ledgerTime(state).Before(landed.Until) {
		return nil
	}
	commit, previous := landed.Commit, landed.Previous
	if !s.settings.Files { // where what is remembered lies with the files, and nobody replaces a history
		history := func(ctx context.Context, page repository.Page) ([]repository.Commit, error) {
			return state.Repository.History(ctx, state.Head, page)
		}
		commits, err := feed.From(ctx, history, commit, landed.Sequence, repository.Page{Limit: 1})
		if err != nil || commits == nil { // the history that had it was replaced
			return err
		}
		previous = commits[0].Parent
	}
	if landed.Request != i.Request {
		return fault.New(fault.Unprocessable,
			"another request has landed under this Idempotency-Key, as the commit %s: send each request under a key of its own, and the same request again byte for byte", commit).
			With(map[string]any{"code": refusal.CodeMismatch, "commitSha": commit})
	}
	t, err := readTemplate(landed.Answer)
	if err != nil {
		return fault.New(fault.Internal, "the request has landed as the commit %s, and what it was answered cannot be read; read what it has changed", commit).Because(err)
	}
	i.Answer, i.Replayed = t.fill(commit, previous), true
	return nil
}

func (s *Service) ledgerTime(state *State) time.Time {
	if !state.Now.IsZero() {
		return state.Now
	}
	return s.settings.Now()
}

// remember has a draft say which request it is made for, with the answer that tell
// makes of the result. The commit has no name yet: the answer is completed by fill.
func (s *Service) remember(state *State, done *result, i *Idempotency, draft *repository.Draft, tell func(*result) any) (*template, error) {
	if i == nil || state.Once == "" {
		return nil, nil
	}
	t := &template{ID: requestid.New()}
	unnamed := *done
	unnamed.commit, unnamed.previous = t.commit(), ""
	if done.previous != "" {
		unnamed.previous = t.previous()
	}
	answer, err := i.Encode(tell(&unnamed))
	if err != nil {
		return nil, err
	}
	t.Status, t.body = answer.Status, answer.Body
	draft.Once = &repository.Once{ID: state.Once, Request: i.Request, Until: s.ledgerTime(state).Add(cmp.Or(i.For, Remembered)), Answer: t.remembered(unnamed.previous), Path: done.plan.path}
	if state.Landed != nil {
		draft.Once.Instead = state.Landed.Commit
	}
	return t, nil
}

// template is an answer with places for the names of the commit and the one before it. It
// is made before there is a commit, and kept with it: as a line of JSON and the body,
// compressed by gzip.
type template struct {
	// ID is drawn at random, so that the body has it where it is put and nowhere else.
	ID        string `json:"id"`
	Status    int    `json:"status"`
	Truncated bool   `json:"truncated,omitempty"`
	body      []byte
}

func (t *template) commit() string   { return "commit-" + t.ID }
func (t *template) previous() string { return "previous-" + t.ID }

// fill is the answer for a commit.
func (t *template) fill(commit, previous string) *Answer {
	body := bytes.ReplaceAll(t.body, []byte(t.commit()), []byte(commit))
	body = bytes.ReplaceAll(body, []byte(t.previous()), []byte(previous))
	return &Answer{Status: t.Status, Body: body, Truncated: t.Truncated}
}

// remembered is the template as it is kept, with the place of the commit before if it has
// one.
func (t *template) remembered(previous string) []byte {
	kept := *t
	if len(t.body) > MaxRemembered { // the commits and nothing else
		kept.Truncated = true
		kept.body, _ = json.Marshal(Written{true, t.commit(), previous}) // which cannot fail either
	}
	head, _ := json.Marshal(kept) // strings only: it cannot fail
	return encoding.Gzip(head, []byte("\n"), kept.body)
}

// maxTemplate is more than any template has.
const maxTemplate = 2 * MaxRemembered

// readTemplate reads a template as it is kept.
func readTemplate(kept []byte) (*template, error) {
	text, err := encoding.Gunzip(kept, maxTemplate)
	if err != nil {
		return nil, err
	}
	head, body, found := bytes.Cut(text, []byte("\n"))
	t := &template{body: body}
	if err := json.Unmarshal(head, t); err != nil || !found || !requestid.Valid(t.ID) || t.Status < 200 || t.Status > 299 {
		return nil, fmt.Errorf("the answer begins with %.80q", head)
	}
	return t, nil
}
