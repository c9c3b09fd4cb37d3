package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
)

// Idempotency is of a request that its client may send again, under the
// Idempotency-Key that the caller was authenticated with.
type Idempotency struct {
	// Request is a digest of what is asked for; see Digest.
	Request string
	// Replayed says, once the request is answered, that it had landed before: the
	// answer is the one that it had then.
	Replayed bool
}

// Remembered is for how long what has landed under an Idempotency-Key is not made
// again.
const Remembered = 24 * time.Hour

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

// onceID is what commits and ledgers call a principal's Idempotency-Key, which they
// do not tell; "" for none.
func onceID(principal access.ID, idempotencyKey string) string {
	if idempotencyKey == "" {
		return ""
	}
	return Digest([]byte(principal), []byte(idempotencyKey))
}

// idempotent is the session that a try of a write goes on with: for a request that
// has landed already, one that makes its answer again, and for another one under an
// Idempotency-Key, one whose commit remembers it.
func (s *Session) idempotent(ctx context.Context, r Request) (*Session, error) {
	if r.Idempotency == nil || s.once == "" || r.DryRun {
		return s, nil
	}
	r.Idempotency.Replayed = false // whatever an earlier try has found
	repo, err := s.repository(ctx)
	if err != nil {
		return nil, err
	}
	now := s.entry.Now
	if now.IsZero() {
		now = s.service.settings.Now()
	}
	once := repository.Once{ID: s.once, Request: r.Idempotency.Request, Until: now.Add(Remembered)}
	if landed := s.entry.Landed; landed != nil {
		var c *repository.Commit
		if now.Before(landed.Until) {
			if c, err = s.landed(ctx, repo, landed); err != nil {
				return nil, err
			}
		}
		switch {
		case c == nil:
			once.Instead = landed.Commit
		case landed.Request != r.Idempotency.Request:
			return nil, fault.New(fault.Unprocessable,
				"another request has landed under this Idempotency-Key, as the commit %s: send each request under a key of its own, and the same request again byte for byte", c.SHA).
				With(map[string]any{"code": codeMismatch, "commitSha": c.SHA})
		default:
			r.Idempotency.Replayed = true
			return s.replaying(ctx, repo, c)
		}
	}
	over := *s
	over.over = remembering{repo, once}
	return &over, nil
}

// remembering is a repository whose commits say which request they are made for.
type remembering struct {
	Repository
	once repository.Once
}

// Commit implements Repository.
func (r remembering) Commit(ctx context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error) {
	draft.Once = &r.once
	landed, err := r.Repository.Commit(ctx, base, draft)
	if errors.Is(err, repository.ErrUnknownOutcome) {
		err = fault.New(fault.Unavailable, "the storage did not say whether the change was made; send the same request again, under the same Idempotency-Key").Because(err)
	}
	return landed, err
}

// tip is the head that a write is decided on.
func (s *Session) tip() repository.Head {
	if s.entry.Tip != nil {
		return *s.entry.Tip
	}
	return s.entry.Head
}

// landed reads the commit that was made under an Idempotency-Key; nil when the
// history that had it was replaced.
func (s *Session) landed(ctx context.Context, repo Repository, l *Landed) (*repository.Commit, error) {
	sequence := l.Sequence
	for range 2 {
		commits, err := repo.History(ctx, s.tip(), repository.Page{Before: sequence + 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(commits) == 1 && commits[0].SHA == l.Commit {
			return &commits[0], nil
		}
		if sequence, err = s.find(ctx, l.Commit, ""); err != nil || sequence == 0 {
			return nil, err
		}
	}
	return nil, repository.ErrMoved // it was replaced between the two
}

// replaying is the session on the workspace as it was before a commit. The same
// request makes the same of it, and has the same answer.
func (s *Session) replaying(ctx context.Context, repo Repository, c *repository.Commit) (*Session, error) {
	before := &repository.Snapshot{}
	if c.Parent != "" {
		select {
		case s.service.compiling <- struct{}{}: // one at a time, for what that takes of memory
			defer func() { <-s.service.compiling }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var err error
		if before, err = repo.Past(ctx, s.tip(), c.Parent); err != nil {
			return nil, err
		}
	}
	past := *s
	past.over = &replay{Repository: repo, now: s.tip(), commit: c, before: before}
	past.entry.Head, past.entry.Tip = before.Head, nil
	// Nobody else is to find the past in what is remembered of the present.
	s.cache.mu.Lock()
	past.cache = &cache{view: s.cache.view}
	s.cache.mu.Unlock()
	return &past, nil
}

// replay is a repository as it was before a commit, which is the only one that can
// be made there.
type replay struct {
	Repository
	now    repository.Head
	commit *repository.Commit
	before *repository.Snapshot
}

// Snapshot implements Repository.
func (r *replay) Snapshot(context.Context, repository.Head) (*repository.Snapshot, error) {
	return r.before, nil
}

// History implements Repository.
func (r *replay) History(ctx context.Context, _ repository.Head, page repository.Page) ([]repository.Commit, error) {
	if page.Before == 0 || page.Before > r.commit.Sequence {
		page.Before = r.commit.Sequence
	}
	return r.Repository.History(ctx, r.now, page)
}

// At implements Repository.
func (r *replay) At(ctx context.Context, _ repository.Head, path, revision string) (string, []byte, error) {
	return r.Repository.At(ctx, r.now, path, revision)
}

// Past implements Repository.
func (r *replay) Past(ctx context.Context, _ repository.Head, revision string) (*repository.Snapshot, error) {
	return r.Repository.Past(ctx, r.now, revision)
}

// Commit implements Repository. What does not lead to the commit is not what it was
// made for, as this version of svc decides it.
func (r *replay) Commit(_ context.Context, _ *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error) {
	for _, touch := range r.commit.Touched {
		made := slices.ContainsFunc(draft.Changes, func(c repository.Change) bool {
			return c.Path == touch.Path && (c.Content == nil) == (touch.Blob == "") && (c.Content == nil || blobID(c.Content) == touch.Blob)
		})
		if !made {
			return nil, fault.New(fault.Internal, "the request has landed as the commit %s, and what it was answered cannot be told again; read what it has changed", r.commit.SHA)
		}
	}
	return &repository.Snapshot{Head: repository.Head{Commit: r.commit.SHA, Sequence: r.commit.Sequence}}, nil
}
