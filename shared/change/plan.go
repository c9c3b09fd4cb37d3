package change

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
)

// plan is what a request comes to at a head. Nothing has been changed for it: a dry run
// shows it, and a commit is made of it.
type plan struct {
	head     *served.Head
	attempts []*attempt // of each write, or of its parts
	refusals []refused  // by operation
	final    []*attempt // those that lead to what the commit changes
	// path is the file whose versions the answer names; "" where it names those of the
	// workspace.
	path string
	// reviewed are the environments of which the commit has to be reviewed, and exempt
	// those of which it would have to be, were it not that it only stops something.
	reviewed, exempt []string
	// secret are the items that have confidential values, before the plan or by it; guesses:
	// some of its writes bring values that may be theirs.
	secret  map[string]bool
	guesses bool
	// masked is what the marks of a dry run's documents stand for.
	masked map[string]*jsontree.Node
}

// refused is why an operation is refused.
type refused struct {
	index int
	err   error
	item  *attempt // nil for the operation as a whole
}

// commits reports whether a plan leads to a commit.
func (p *plan) commits() bool { return len(p.refusals) == 0 && len(p.final) > 0 }

func (p *plan) refuse(index int, err error) {
	p.refusals = append(p.refusals, refused{index, err, nil})
}

func (p *plan) refuseItem(a *attempt, err error) {
	p.refusals = append(p.refusals, refused{a.index, err, a})
}

// plan decides writes at a head. The error is that of a head which is not the workspace's
// any more: at another one the writes may not be refused.
func (s *Service) plan(ctx context.Context, state *State, head *served.Head, dryRun bool, writes []write) (*plan, error) {
	p, err := s.decide(ctx, state, head, dryRun, writes)
	if err != nil || dryRun || len(p.secret) == 0 {
		return p, err
	}
	masked, err := s.decide(ctx, state, head, true, writes)
	if err != nil {
		return nil, err
	}
	return p.blinded(masked), nil
}

// decide makes a plan of what the documents say, which a dry run has without their
// confidential values.
func (s *Service) decide(ctx context.Context, state *State, head *served.Head, dryRun bool, writes []write) (*plan, error) {
	p := &plan{head: head, secret: map[string]bool{}, masked: map[string]*jsontree.Node{}}
	b := &batch{service: s, state: state, head: head, dryRun: dryRun, plan: p,
		alone:  len(writes) == 1 && writes[0].parts == nil,
		byPath: map[string]*attempt{}, splits: map[string]string{}, tiers: map[string]access.Tier{}, named: map[string]bool{}, files: map[string]repository.File{}}
	b.decide(ctx, writes)
	for _, r := range p.refusals {
		if isStale(r.err) {
			return nil, r.err
		}
	}
	slices.SortStableFunc(p.refusals, func(x, y refused) int { return x.index - y.index })
	if s.settings.Files && len(p.attempts) == 1 && !p.attempts[0].write.inSet {
		p.path = p.attempts[0].path
	}
	if len(p.refusals) == 0 && !s.settings.Files { // which nobody commits here
		if err := p.review(ctx, b); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// versionBefore is what a plan was made on, as its answer names it.
func (p *plan) versionBefore(landed *repository.Snapshot) string {
	if p.path != "" {
		return p.attempts[0].last
	}
	if landed != nil && landed.Parent != "" {
		return landed.Parent // commits of others may have come in between
	}
	return p.head.Snapshot.Head.Commit
}

// message is the message of the commit. The text that it begins with is "" for what
// changes.
func (p *plan) message(text string, by access.Principal) string {
	if len(p.final) == 1 && text == "" {
		return feed.MessageOfOne(p.final[0].summary(), by)
	}
	var first []feed.Change
	for _, a := range p.final[:min(len(p.final), feed.MaxListed)] {
		first = append(first, feed.Change{Type: a.write.t, Path: a.path, Key: a.write.key, Messages: a.summary()})
	}
	return feed.MessageOfMany(text, first, len(p.final), by)
}

// occupied refuses what would lie where something is that is no document.
func (p *plan) occupied(err error) {
	at := p.final[max(0, slices.IndexFunc(p.final, func(a *attempt) bool {
		_, name, _ := strings.Cut(a.path, "/")
		return strings.Contains(err.Error(), name)
	}))]
	p.refuse(at.index, refusal.Invalid(fault.Unprocessable, refusal.CodeVerify, "the repository has no place for it",
		[]document.Issue{{Pointer: "/key", Message: at.path + " exists and is not a document"}}))
}

// summary is what a batch says of an item: what its one write does or, where there
// were several, what they lead to.
func (a *attempt) summary() []activity.Message {
	if a.touched == 1 {
		return a.messages
	}
	return feed.Compare(a.path, a.original(), a.tree())
}

// draft is the commit of a plan, of a request with a message, "" for what changes.
func (p *plan) draft(state *State, r Request, message string, when time.Time) repository.Draft {
	by := feed.Author(state.Principal)
	by.When = when
	return repository.Draft{
		Author:    by,
		Committer: repository.Committer(when),
		Message:   p.message(message, state.Principal) + strings.Join(p.guardTrailers(r), ""), // below those that are there
		RequestID: r.ID,
		Versions: func(ctx context.Context, next *repository.Snapshot) string {
			return p.head.VersionsOf(ctx, next, state.Workspace.Secret, when)
		},
		Briefs:  func(_ context.Context, next *repository.Snapshot) []byte { return p.head.BriefsOf(next) },
		Changes: p.touch(),
	}
}
