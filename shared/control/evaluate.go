package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/manifest"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// EvaluationQuery asks what an environment serves to a context, now or at a
// commit.
type EvaluationQuery struct {
	explanation.Question // without Document, Now and Random
	Environment          string
	At                   *string
	// Malformed is what the reader of the request has found wrong already.
	Malformed []document.Issue
}

// stateName tells states apart: files that were lost may be back, and of what is
// past more is kept.
type stateName struct {
	workspace, commit, environment, lost, overrides string
	past                                            bool
}

// state is what an environment serves, or is about to be.
type state struct {
	mu   sync.Mutex // held while it is compiled
	made *explanation.State
	ws   *workspace.Workspace // of a commit of the past, which nobody else holds
}

const stateBytes = 256 // beside what is compiled

// Evaluate tells what an environment serves to a context, and why. It answers
// from the state at the head or at a commit of the history; of the past, a
// document that could not be served then is missing.
func (s *Session) Evaluate(ctx context.Context, q EvaluationQuery) (*explanation.Evaluations, error) {
	if err := refusal.Malformed(append(q.Malformed, q.issues()...)...); err != nil {
		return nil, err
	}
	now := s.service.settings.Now()
	commit, err := s.commitAt(ctx, q.At)
	if err != nil {
		return nil, err
	}
	if q.At != nil {
		if at, ok := repository.Time(*q.At); ok {
			now = at // at which rules on the current time stood otherwise
		}
	}
	if served := s.service.servedCommit(q.Environment); q.At == nil && served != "" {
		commit = served
	}
	compiled, ws, err := s.evaluable(ctx, commit, q.Environment, q.Explain)
	if err != nil {
		return nil, err
	}
	if q.Explain {
		leave, err := s.service.large.Take(ctx, string(s.caller.entry.Principal.ID), ws.Largest())
		if err != nil {
			return nil, err
		}
		defer leave()
		q.Document = func(t document.Type, key string) *workspace.Stored {
			stored, _ := ws.Item(t, key)
			return stored
		}
	}
	q.Now, q.Random = now.UnixMilli(), s.service.settings.Random
	answer, err := compiled.Evaluate(ctx, q.Question)
	if errors.Is(err, explanation.ErrTooMuch) {
		return nil, refusal.Malformed(document.Issue{Pointer: "/keys", Message: err.Error()})
	}
	if err != nil {
		return nil, repository.Fault(err)
	}
	if commit != "" {
		answer.CommitSHA = &commit
	}
	return answer, nil
}

func (q EvaluationQuery) issues() []document.Issue {
	var issues []document.Issue
	if q.Environment == "" && !refusal.HasIssueAt(q.Malformed, "/environment") {
		issues = append(issues, document.Issue{Pointer: "/environment", Message: refusal.NoEnvironmentNamed})
	}
	if len(q.Keys) > explanation.MaxKeys {
		issues = append(issues, document.Issue{Pointer: "/keys", Message: fmt.Sprintf("keys has at most %d entries, not %d", explanation.MaxKeys, len(q.Keys))})
	}
	if q.At != nil && !refusal.HasIssueAt(q.Malformed, "/at") && !isState(*q.At) {
		issues = append(issues, document.Issue{Pointer: "/at", Message: "at " + refusal.IsState})
	}
	if !refusal.HasIssueAt(q.Malformed, "/context") {
		issues = append(issues, explanation.ContextIssues(q.Context, "/context")...)
	}
	return issues
}

// isState reports whether a text names a state: a revision or a time.
func isState(at string) bool {
	_, isTime := repository.Time(at)
	return isTime || object.IsRevision(at)
}

// commitBefore is the last commit before a time, or the last one of a file.
func (s *Session) commitBefore(ctx context.Context, path, text string, at time.Time) (sha string, err error) {
	err = s.atHead(ctx, func(repo Repository, head repository.Head) error {
		c, err := repository.CommitBefore(ctx, func(ctx context.Context, p repository.Page) ([]repository.Commit, error) {
			return repo.History(ctx, head, p)
		}, path, at)
		sha = c.SHA
		return err
	})
	if err != nil {
		return "", refusal.Before(text, err)
	}
	return sha, nil
}

// commitAt is the commit that a revision or a time names, or the head.
func (s *Session) commitAt(ctx context.Context, at *string) (string, error) {
	_, err := s.Open(ctx) // which may find that the head is another one by now
	if err != nil || at == nil {
		return s.caller.entry.Head.Commit, err
	}
	if when, ok := repository.Time(*at); ok {
		return s.commitBefore(ctx, "", *at, when)
	}
	repo, err := s.repository(ctx)
	if err != nil {
		return "", err
	}
	sha, _, err := repo.At(ctx, s.caller.entry.Head, workspace.File, *at)
	if err != nil && !errors.Is(err, repository.ErrAbsent) && !errors.As(err, new(*workspace.Unread)) {
		return "", refusal.Revision("/at", *at, err)
	}
	return sha, nil
}

// evaluable is what an environment serves at a commit, compiled, and, where that is
// needed, what it was compiled from. It is kept, but for the workspace at the head,
// which others hold.
func (s *Session) evaluable(ctx context.Context, commit, environment string, needed bool) (*explanation.State, *workspace.Workspace, error) {
	p, past := s.service, commit != s.caller.entry.Head.Commit
	name := stateName{workspace: s.caller.entry.Workspace.ID, commit: commit, environment: environment, past: past}
	var overrides Overrides
	if !past {
		name.lost = strings.Join(s.opened.Snapshot.Lost(), "\n")
	}
	if p.settings.Overrides != nil && (!past || commit == p.servedCommit(environment)) {
		overrides = p.settings.Overrides(environment)
		name.overrides = overrides.Version
	}
	kept := p.evaluated.Share(name, stateBytes, func() *state { return &state{} })
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.made != nil && (past || !needed) {
		return kept.made, kept.ws, nil
	}
	if kept.made != nil {
		ws, err := s.opened.Effective(ctx)
		return kept.made, ws, err
	}
	select {
	case p.compiling <- struct{}{}: // one at a time, for what that takes of memory
		defer func() { <-p.compiling }()
	case <-ctx.Done():
		return nil, nil, repository.Fault(ctx.Err())
	}
	ws, size, err := s.servedAt(ctx, commit)
	if err == nil {
		err = evaluates(ws, environment)
	}
	if err != nil {
		p.evaluated.Delete(name)
		return nil, nil, err
	}
	var rules explanation.Overrides
	if overrides.Version != "" {
		rules = overrides.Of(ws)
	}
	made, err := explanation.Compile(ws, environment, rules, p.settings.MaxCompiled)
	if large := (*explanation.TooLarge)(nil); errors.As(err, &large) {
		what := "what the environment " + terminal.Quote(environment) + " serves"
		if environment == manifest.DefaultRules {
			what = "what the default rules serve"
		}
		return nil, nil, fault.New(fault.Unavailable,
			"%s takes about %d MB of memory, and %d MB are the most here; the service's operator has to give this function more", what, large.Bytes>>20, p.settings.MaxCompiled>>20).Because(err)
	}
	if kept.made = made; past {
		kept.ws = ws
	}
	p.evaluated.Weigh(name, stateBytes+made.Size()+size)
	return made, ws, nil
}

// servedCommit is the commit that is served where that is not the head, or "".
func (p *Service) servedCommit(environment string) string {
	if p.settings.Served == nil {
		return ""
	}
	return p.settings.Served(environment)
}

// servedAt is the workspace as it is served at a commit, and how many bytes of it
// nobody else holds.
func (s *Session) servedAt(ctx context.Context, commit string) (*workspace.Workspace, int64, error) {
	if commit == s.caller.entry.Head.Commit {
		ws, err := s.opened.Effective(ctx)
		return ws, 0, err
	}
	repo, err := s.repository(ctx)
	if err != nil {
		return nil, 0, err
	}
	snapshot, err := repo.Past(ctx, s.caller.entry.Head, commit)
	if err != nil {
		return nil, 0, repository.Fault(err)
	}
	ws, size := served.Past(snapshot)
	return ws, size, nil
}

// evaluates refuses an environment that nothing is served for.
func evaluates(ws *workspace.Workspace, name string) error {
	e, known := ws.Environment(name)
	switch {
	case name == manifest.DefaultRules: // which nobody else can ask for
		return nil
	case known && e.Archived:
		return fault.New(fault.NotFound, "the environment %s is archived: nothing is served there", terminal.Quote(name))
	case !known && ws.Declared:
		return refusal.NoEnvironment(name)
	}
	return nil
}
