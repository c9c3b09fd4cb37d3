package change

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// Decided is what a change set comes to at a head, as those need it who approve it.
type Decided struct {
	// Digest stands for the operations, for what they touch and reach before and after
	// them, and for what has to be reviewed; Parts for each of these, by its path. They
	// tell nothing of what they stand for.
	Digest string
	Parts  map[string]string
	// Environments have to be reviewed, in the order of their names, as Reviews say.
	Environments []string
	Reviews      map[string]workspace.Review
	// Touched are the paths of the items.
	Touched []string

	again func(ctx context.Context, by access.Principal) (*plan, error)
}

// Permits answers 403 where somebody may not make the change themselves.
func (d *Decided) Permits(ctx context.Context, by access.Principal) error {
	p, err := d.again(ctx, by)
	if err != nil {
		return err
	}
	for _, r := range p.refusals {
		if fault.Of(r.err).Kind == fault.Forbidden {
			return r.err
		}
	}
	return nil
}

// The parts of a Digest that are no files.
const (
	partDigits     = 16 // that are kept of each
	partOperations = "operations"
	partReviews    = workspace.File + "#review"
)

// PartInWords names a part for people.
func PartInWords(name string) string {
	switch name {
	case partOperations:
		return "its operations"
	case partReviews:
		return "what has to be reviewed"
	}
	folder, key, _ := workspace.SplitPath(name)
	return "the " + folder.ItemType().Noun() + " " + terminal.Quote(key)
}

// decided tells it of a plan that was made of the operations.
func (s *Service) decided(state *State, p *plan, c ChangeSet) *Decided {
	ws := p.head.View.Workspace()
	d := &Decided{Parts: map[string]string{}, Environments: p.reviewed, Reviews: ws.Reviews()}
	note := func(name string, texts ...[]byte) {
		mac := hmac.New(sha256.New, state.Workspace.Secret)
		for _, text := range append([][]byte{[]byte(name)}, texts...) {
			sum := sha256.Sum256(text)
			mac.Write(sum[:])
			mac.Write([]byte{byte(min(len(text), 1))}) // no file is none that is empty
		}
		d.Parts[name] = hex.EncodeToString(mac.Sum(nil))
	}
	note(partOperations, []byte(c.Canonical))
	reviews, _ := json.Marshal(d.Reviews) // of plain fields, in the order of their names
	note(partReviews, reviews)
	after := map[string][]byte{}
	for _, a := range p.attempts {
		if file, found := p.head.Snapshot.File(a.path); found && a.path != "" {
			after[a.path] = file.Text
		} else {
			after[a.path] = nil
		}
	}
	for _, a := range p.final {
		after[a.path] = a.whenever()
	}
	delete(after, "")
	d.Touched = slices.Sorted(maps.Keys(after))
	reached := slices.Clone(d.Touched)
	for i := 0; i < len(reached); i++ {
		file, _ := p.head.Snapshot.File(reached[i])
		text, touched := after[reached[i]]
		if !touched {
			text = file.Text
		}
		parts := [][]byte{file.Text, text}
		if p.secret[reached[i]] { // else the part would tell of a guess whether it changes something
			parts = append(parts, []byte(c.Canonical))
		}
		note(reached[i], parts...)
		for _, version := range [][]byte{file.Text, text} {
			if item := workspace.Decode(reached[i], version).Item; item != nil {
				for _, shared := range workspace.Shares(item.View) {
					if !slices.Contains(reached, shared) {
						reached = append(reached, shared)
					}
				}
			}
		}
	}
	mac := hmac.New(sha256.New, state.Workspace.Secret)
	for _, name := range slices.Sorted(maps.Keys(d.Parts)) {
		mac.Write([]byte(d.Parts[name]))
		d.Parts[name] = d.Parts[name][:partDigits] // which say what differs, and decide nothing
	}
	d.Digest = hex.EncodeToString(mac.Sum(nil))
	d.again = func(ctx context.Context, by access.Principal) (*plan, error) {
		as := *state
		as.Principal = by
		return s.plan(ctx, &as, p.head, true, c.writes(s))
	}
	return d
}

// whenever is the text of what it leaves behind whenever that is done: to hold a rollout plan
// writes the time. The times that were asked for stand in the operations, and others in what
// was there before.
func (a *attempt) whenever() []byte {
	if a.gone || a.edited.Tree == nil {
		return a.text()
	}
	if timeless := document.WithoutTimes(a.edited.Tree); timeless != a.edited.Tree {
		return document.Encode(timeless)
	}
	return a.text()
}

// approval are the trailers of a plan's commit that say why it may be made. Who may do
// without approvals is told in the audit trail first: the head is another one then.
func (w *Writer) approval(ctx context.Context, state *State, p *plan, r Request) (trailers []string, err error) {
	if len(p.exempt) > 0 {
		defer func() {
			if err == nil {
				trailers = append(trailers, feed.ReviewExempt+strings.Join(p.exempt, ", "))
			}
		}()
	}
	switch {
	case r.approve != nil:
		trailers, err = r.approve(ctx, state, p)
		if unreviewed := (*repository.Unreviewed)(nil); !errors.As(err, &unreviewed) {
			return trailers, err
		}
	case len(p.reviewed) == 0:
		return nil, nil
	}
	if !access.BypassesReview(state.Principal.EffectiveRoles()) || state.Bypassed == nil {
		return nil, &repository.Unreviewed{Environments: p.reviewed}
	}
	named := strings.Join(p.reviewed, ", ")
	if w.bypassed != named {
		if err := state.Bypassed(ctx, p.reviewed); err != nil {
			return nil, err
		}
		w.bypassed = named
		return nil, repository.ErrMoved
	}
	return append(trailers, feed.ReviewBypassed+named), nil
}

// Assessment is what a change set would do now.
type Assessment struct {
	*Decided
	// Result is as a dry run tells it, to somebody who may do everything; nil where Refused
	// says why nobody could.
	Result  *ChangeSetResult
	Refused error
}

// Assess tells what a change set would do, whoever sends it.
func (w *Writer) Assess(ctx context.Context, c ChangeSet) (*Assessment, error) {
	for try := range MaxTries {
		state, err := w.begin(ctx, try > 0)
		if err != nil {
			return nil, err
		}
		a, err := w.assess(ctx, state, c)
		if !isStale(err) {
			return a, repository.Fault(err)
		}
	}
	return nil, repository.Fault(repository.ErrBusy)
}

func (w *Writer) assess(ctx context.Context, state *State, c ChangeSet) (*Assessment, error) {
	base, head, err := w.service.open(ctx, state)
	if err != nil {
		return nil, err
	}
	as := *state
	as.Principal.Roles = []string{"protected_engineer"}
	c.DryRun = true
	// What is told comes of a dry run, which knows no secret; the digest is of what would be.
	shown, err := w.service.plan(ctx, &as, head, true, c.writes(w.service))
	if err != nil {
		return nil, err
	}
	real, err := w.service.plan(ctx, &as, head, false, c.writes(w.service))
	if err != nil {
		return nil, err
	}
	a := &Assessment{Decided: w.service.decided(state, real, c)}
	done := &result{plan: shown, commit: base.Head.Commit, previous: shown.versionBefore(nil)}
	for _, p := range []*plan{shown, real} {
		if len(p.refusals) > 0 {
			a.Refused = c.refusal(ctx, p)
			return a, nil
		}
	}
	if c.Impact {
		if done.impact, err = w.service.impact(ctx, &as, shown); err != nil {
			return nil, err
		}
	}
	a.Result = c.answer(done)
	return a, nil
}

// Carry carries out a change set that was proposed, if approve says that it may be: it is
// asked of what each try would commit, and gives the lines that the commit's message ends
// in.
func (w *Writer) Carry(ctx context.Context, c ChangeSet, approve func(context.Context, *State, *Decided) (trailers []string, err error)) (*ChangeSetResult, error) {
	c.approve = func(ctx context.Context, state *State, p *plan) ([]string, error) {
		return approve(ctx, state, w.service.decided(state, p, c))
	}
	return w.Change(ctx, c)
}

// writes are those of the operations.
func (c ChangeSet) writes(s *Service) []write {
	writes := make([]write, len(c.Operations))
	for i, o := range c.Operations {
		writes[i] = o.write(s)
		writes[i].inSet = true
	}
	return writes
}

// toReview are the environments of which a plan has to be reviewed. The commit is held to
// it by itself: see repository.Draft.Review.
func (p *plan) toReview() []string {
	declaration, _ := p.head.Snapshot.File(workspace.File)
	var changed []workspace.Difference
	for _, a := range p.final {
		changed = append(changed, workspace.Difference{Path: a.path, Before: a.file.Text, After: a.text()})
	}
	return workspace.Reviewed(declaration.Text, changed)
}

// touch are the changes of files.
func (p *plan) touch() []repository.Change {
	var changes []repository.Change
	for _, a := range p.final {
		changes = append(changes, repository.Change{Path: a.path, Content: a.text()})
	}
	return changes
}
