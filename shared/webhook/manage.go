package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table"
)

// ErrWrong: what was asked for cannot be, and the error says why.
var ErrWrong = errors.New("the webhook cannot be so")

// Manager changes the webhooks of a workspace. What it does is told in the audit trail, just
// before it is done: so the trail may tell of what then failed, and of nothing too little.
type Manager struct {
	*Sender
	Workspace string
	Registry  *access.Registry
	// Head is where the workspace is now, but for change requests: from there on a new webhook
	// is told.
	Head func(ctx context.Context) (Position, error)
}

func (m *Manager) store() Store { return Store{m.Table, m.Workspace} }

// find is a webhook and its workspace's others.
func (m *Manager) find(ctx context.Context, id access.ID) (*Registered, *everything, error) {
	all, err := m.store().load(ctx)
	if err != nil {
		return nil, nil, err
	}
	if hook := all.hook(id); hook != nil {
		return hook, all, nil
	}
	return nil, nil, fmt.Errorf("there is no such webhook: %w", access.ErrNotFound)
}

func (m *Manager) head(ctx context.Context) (Position, error) {
	head, err := m.Head(ctx)
	if err == nil {
		head.Requests, err = request.Store{Table: m.Table}.Last(ctx, m.Workspace)
	}
	return head, err
}

// List are the webhooks, those that were made first first.
func (m *Manager) List(ctx context.Context) ([]*Registered, error) {
	all, err := m.store().load(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all.hooks, func(a, b *Registered) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all.hooks, nil
}

// Find is one of them.
func (m *Manager) Find(ctx context.Context, id access.ID) (*Registered, error) {
	hook, _, err := m.find(ctx, id)
	return hook, err
}

func (m *Manager) tell(ctx context.Context, action access.Action, w *Webhook, before, after []string) error {
	return m.Registry.Note(ctx, access.Change{Action: action, Subject: string(w.ID), Name: w.Name, Before: before, After: after})
}

// wrong marks an error as the caller's.
func wrong(err error) error { return &wrongEdit{err} }

type wrongEdit struct{ error }

func (w *wrongEdit) Is(target error) bool { return target == ErrWrong }

// Create makes a webhook and returns its secret, which is told this once.
func (m *Manager) Create(ctx context.Context, e Edit) (*Registered, string, error) {
	all, err := m.store().load(ctx)
	if err != nil {
		return nil, "", err
	}
	id, err := access.NewID(rand.Reader)
	if err != nil {
		return nil, "", err
	}
	hook := &Registered{Webhook: Webhook{ID: id, Form: FormStandard, Kinds: []string{KindChange}, CreatedAt: m.Now().UTC().Truncate(time.Second)}}
	if err := m.apply(e, hook); err != nil {
		return nil, "", wrong(err)
	}
	if len(all.hooks) >= MaxWebhooks {
		return nil, "", wrong(fmt.Errorf("a workspace has at most %d webhooks", MaxWebhooks))
	}
	if err := m.store().ensureKey(ctx, all); err != nil {
		return nil, "", err
	}
	secret := newSecret()
	if err := hook.seal(m.Workspace, all.key, &hidden{Address: *e.Address, Secret: secret}); err != nil {
		return nil, "", err
	}
	if err := m.tell(ctx, access.WebhookCreated, &hook.Webhook, nil, hook.words()); err != nil {
		return nil, "", err
	}
	head, err := m.head(ctx)
	if err != nil {
		return nil, "", err
	}
	return hook, secret, m.store().Table.Transact(ctx, hook.put(m.store()), m.begin(hook, head))
}

// apply makes an edit, unless its address can be reached by nobody from here.
func (m *Manager) apply(e Edit, hook *Registered) error {
	err := e.apply(&hook.Webhook)
	if err == nil && e.Address != nil && m.Refused != nil {
		err = m.Refused(*e.Address)
	}
	return err
}

// begin is the state of a webhook that is told what happens from now on.
func (m *Manager) begin(hook *Registered, head Position) table.Write {
	hook.state = table.Attributes{"turn": table.Text(""), "until": table.Number(0)}
	for _, name := range []string{SourceHistory, SourceAudit, SourceRequests} {
		hook.state[name] = table.Text(head.of(name))
	}
	return table.Write{Key: m.store().at("hook", string(hook.ID), "state"), Set: hook.state}
}

// Change changes a webhook. With another address it keeps its secret; one that is silent has
// nothing to keep, and gets one by Rotate.
func (m *Manager) Change(ctx context.Context, id access.ID, e Edit) (*Registered, error) {
	hook, all, err := m.find(ctx, id)
	if err != nil {
		return nil, err
	}
	before, silent, told := hook.words(), hook.Silent, sourcesOf(&hook.Webhook)
	if err := m.apply(e, hook); err != nil {
		return nil, wrong(err)
	}
	if silent && e.Address != nil {
		return nil, wrong(errors.New("this webhook was restored without its secret: give it another one together with the address"))
	}
	if e.Address != nil {
		h, err := hook.open(m.Workspace, all.key)
		if err != nil {
			return nil, err
		}
		h.Address = *e.Address
		if err := hook.seal(m.Workspace, all.key, h); err != nil {
			return nil, err
		}
	}
	if err := m.tell(ctx, access.WebhookChanged, &hook.Webhook, before, hook.words()); err != nil {
		return nil, err
	}
	begun := table.Write{Key: m.store().at("hook", string(id), "state"), Set: table.Attributes{}}
	for _, name := range sourcesOf(&hook.Webhook) { // what is added is told from now on
		if !slices.Contains(told, name) {
			head, err := m.head(ctx)
			if err != nil {
				return nil, err
			}
			begun.Set[name] = table.Text(head.of(name))
		}
	}
	if len(begun.Set) == 0 || silent {
		return hook, m.put(ctx, hook)
	}
	return hook, m.put(ctx, hook, begun)
}

// put replaces a webhook that is there.
func (m *Manager) put(ctx context.Context, hook *Registered, more ...table.Write) error {
	return m.store().Table.Transact(ctx, append([]table.Write{hook.put(m.store())}, more...)...)
}

// MaxOverlap is how long a secret that was replaced may go on.
const MaxOverlap = 7 * 24 * time.Hour

// Rotate gives a webhook another secret, which is told this once. The one before signs too for
// a while. A webhook that is silent needs its address, and is told what happens from then on.
func (m *Manager) Rotate(ctx context.Context, id access.ID, overlap time.Duration, address string) (*Registered, string, error) {
	hook, all, err := m.find(ctx, id)
	if err != nil {
		return nil, "", err
	}
	if overlap < 0 || overlap > MaxOverlap {
		return nil, "", wrong(fmt.Errorf("the secret before goes on for at most %d days", MaxOverlap/(24*time.Hour)))
	}
	if err := m.store().ensureKey(ctx, all); err != nil {
		return nil, "", err
	}
	h, more := &hidden{}, []table.Write{}
	if hook.Silent {
		if address == "" {
			return nil, "", wrong(errors.New("this webhook was restored without its address: name it"))
		}
		head, err := m.head(ctx)
		if err != nil {
			return nil, "", err
		}
		more = append(more, m.begin(hook, head))
	} else if h, err = hook.open(m.Workspace, all.key); err != nil {
		return nil, "", err
	} else if overlap > 0 {
		h.Previous, h.Until = h.Secret, m.Now().UTC().Add(overlap).Truncate(time.Second)
	} else {
		h.Previous, h.Until = "", time.Time{}
	}
	if address != "" {
		if err := m.apply(Edit{Address: &address}, hook); err != nil {
			return nil, "", wrong(err)
		}
		h.Address = address
	}
	h.Secret = newSecret()
	if err := hook.seal(m.Workspace, all.key, h); err != nil {
		return nil, "", err
	}
	if err := m.tell(ctx, access.WebhookRotated, &hook.Webhook, nil, nil); err != nil {
		return nil, "", err
	}
	return hook, h.Secret, m.put(ctx, hook, more...)
}

// Delete deletes a webhook and all that waits for it. What is on its way arrives still.
func (m *Manager) Delete(ctx context.Context, id access.ID) error {
	hook, _, err := m.find(ctx, id)
	if err != nil {
		return err
	}
	if err := m.tell(ctx, access.WebhookDeleted, &hook.Webhook, nil, nil); err != nil {
		return err
	}
	gone := []table.Write{{Key: m.store().at("hook", string(id)), Delete: true}, {Key: m.store().at("hook", string(id), "state"), Delete: true}}
	if err := m.Table.Transact(ctx, gone...); err != nil {
		return err
	}
	low := m.store().at("hook", string(id)).Sort + "/"
	return m.store().clear(ctx, low, low+"~") // what waited
}

// Test sends something that nothing has happened for, at once and once.
func (m *Manager) Test(ctx context.Context, id access.ID) (*Attempt, error) {
	hook, all, err := m.find(ctx, id)
	if err != nil {
		return nil, err
	}
	now := m.Now().UTC()
	d := &Delivery{ID: idOf(id, "ping/"+rand.Text()), Event: Event{Kind: kindPing, At: now, Title: "svc reaches this webhook", Lines: []string{"This is a test: nothing was changed."}, Link: "#/settings/webhooks", Data: []byte("{}")}}
	return m.once(ctx, hook, all, d)
}

// once makes one attempt.
func (m *Manager) once(ctx context.Context, hook *Registered, all *everything, d *Delivery) (*Attempt, error) {
	h, err := hook.open(m.Workspace, all.key)
	if err != nil {
		return nil, wrong(errors.New("this webhook was restored without its secret: give it another one first"))
	}
	a, _ := m.send(ctx, hook, h, d, m.Workspace, false)
	return &a, nil
}

// Redeliver sends once more what was given up, at once and once. What is taken is shown no more.
func (m *Manager) Redeliver(ctx context.Context, id access.ID, delivery string) (*Attempt, error) {
	hook, all, err := m.find(ctx, id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(hook.Parked, func(d Delivery) bool { return d.ID == delivery })
	if i < 0 {
		return nil, fmt.Errorf("there is no such delivery among those that were given up: %w", access.ErrNotFound)
	}
	d := hook.Parked[i]
	if err := m.tell(ctx, access.WebhookRedelivered, &hook.Webhook, nil, []string{d.ID}); err != nil {
		return nil, err
	}
	a, err := m.once(ctx, hook, all, &d)
	if err != nil {
		return nil, err
	}
	d.Attempts, d.Last = d.Attempts+1, a
	w := (&turn{store: m.store(), hook: hook}).doc(d.row, &d)
	if a.Problem == "" {
		w = table.Write{Key: w.Key, Delete: true}
	}
	return a, m.Table.Batch(ctx, []table.Write{w})
}
