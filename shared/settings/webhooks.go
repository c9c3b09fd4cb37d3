package settings

import (
	"context"
	"errors"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/webhook"
)

// Webhooks are the webhooks of a workspace, and how many there may be.
type Webhooks struct {
	Webhooks []WebhookRow `json:"webhooks"`
	Most     int          `json:"most"`
}

// WebhookRow is a webhook and how it goes, without what is secret.
type WebhookRow struct {
	webhook.Webhook
	Last    *webhook.Attempt `json:"last"`    // null: there was none yet
	Waiting int              `json:"waiting"` // deliveries that are tried again
	Parked  int              `json:"parked"`  // that were given up
}

// NewWebhook is a webhook that has a new secret, which is told this once.
type NewWebhook struct {
	Secret string `json:"secret"`
	WebhookRow
}

// WebhookDetail is a webhook with what it did not take.
type WebhookDetail struct {
	WebhookRow
	Deliveries []DeliveryRow `json:"deliveries"`
}

// DeliveryRow is something that a webhook did not take.
type DeliveryRow struct {
	ID       string           `json:"id"`
	Kind     string           `json:"kind"`
	At       time.Time        `json:"at"` // when it happened
	Title    string           `json:"title"`
	Parked   bool             `json:"parked"`
	Attempts int              `json:"attempts"` // 0: it waits for another
	Next     *time.Time       `json:"next"`     // null for one that waits for another, or was given up
	Last     *webhook.Attempt `json:"last"`
}

func rowOfWebhook(r *webhook.Registered) WebhookRow {
	return WebhookRow{r.Webhook, r.Last, len(r.Waiting), len(r.Parked)}
}

// refused words what is wrong with a webhook.
func refused(err error) error {
	if errors.Is(err, webhook.ErrWrong) {
		return fault.New(fault.Unprocessable, "%v", err)
	}
	return failed(err)
}

// webhooks are what an administrator manages them by.
func (s *Settings) webhooks(what string) (*webhook.Manager, error) {
	if err := s.administer(what); err != nil {
		return nil, err
	}
	m := s.Stores.Webhooks()
	m.Registry = s.Registry
	return m, nil
}

// ListWebhooks lists them.
func (s *Settings) ListWebhooks(ctx context.Context) (*Webhooks, error) {
	m, err := s.webhooks("seeing webhooks")
	if err != nil {
		return nil, err
	}
	return ListOf(ctx, m)
}

// ListOf lists the webhooks that somebody manages.
func ListOf(ctx context.Context, m *webhook.Manager) (*Webhooks, error) {
	all, err := m.List(ctx)
	if err != nil {
		return nil, failed(err)
	}
	list := &Webhooks{[]WebhookRow{}, webhook.MaxWebhooks}
	for _, r := range all {
		list.Webhooks = append(list.Webhooks, rowOfWebhook(r))
	}
	return list, nil
}

// Webhook is one, with what it did not take.
func (s *Settings) Webhook(ctx context.Context, id access.ID) (*WebhookDetail, error) {
	m, err := s.webhooks("seeing webhooks")
	if err != nil {
		return nil, err
	}
	return DetailOf(ctx, m, id)
}

// DetailOf is a webhook of those that somebody manages.
func DetailOf(ctx context.Context, m *webhook.Manager, id access.ID) (*WebhookDetail, error) {
	r, err := m.Find(ctx, id)
	if err != nil {
		return nil, failed(err)
	}
	detail := &WebhookDetail{rowOfWebhook(r), []DeliveryRow{}}
	for i, list := range [][]webhook.Delivery{r.Waiting, r.Parked} {
		for _, d := range list {
			row := DeliveryRow{ID: d.ID, Kind: d.Event.Kind, At: d.Event.At, Title: d.Event.Title, Parked: i == 1, Attempts: d.Attempts, Last: d.Last}
			if !row.Parked && !d.Next.IsZero() {
				row.Next = &d.Next
			}
			detail.Deliveries = append(detail.Deliveries, row)
		}
	}
	return detail, nil
}

// CreateWebhook makes one.
func (s *Settings) CreateWebhook(ctx context.Context, e webhook.Edit) (*NewWebhook, error) {
	m, err := s.webhooks("making webhooks")
	if err != nil {
		return nil, err
	}
	r, secret, err := m.Create(ctx, e)
	if err != nil {
		return nil, refused(err)
	}
	return &NewWebhook{secret, rowOfWebhook(r)}, nil
}

// ChangeWebhook changes one.
func (s *Settings) ChangeWebhook(ctx context.Context, id access.ID, e webhook.Edit) (*WebhookRow, error) {
	m, err := s.webhooks("changing webhooks")
	if err != nil {
		return nil, err
	}
	r, err := m.Change(ctx, id, e)
	if err != nil {
		return nil, refused(err)
	}
	row := rowOfWebhook(r)
	return &row, nil
}

// RotateWebhook gives one another secret, and an address where that is named.
func (s *Settings) RotateWebhook(ctx context.Context, id access.ID, overlap time.Duration, address string) (*NewWebhook, error) {
	m, err := s.webhooks("giving webhooks another secret")
	if err != nil {
		return nil, err
	}
	r, secret, err := m.Rotate(ctx, id, overlap, address)
	if err != nil {
		return nil, refused(err)
	}
	return &NewWebhook{secret, rowOfWebhook(r)}, nil
}

// DeleteWebhook deletes one.
func (s *Settings) DeleteWebhook(ctx context.Context, id access.ID) error {
	m, err := s.webhooks("deleting webhooks")
	if err != nil {
		return err
	}
	return refused(m.Delete(ctx, id))
}

// TestWebhook sends one something that nothing has happened for.
func (s *Settings) TestWebhook(ctx context.Context, id access.ID) (*webhook.Attempt, error) {
	m, err := s.webhooks("testing webhooks")
	if err != nil {
		return nil, err
	}
	a, err := m.Test(ctx, id)
	return a, refused(err)
}

// Redeliver sends one once more what it did not take.
func (s *Settings) Redeliver(ctx context.Context, id access.ID, delivery string) (*webhook.Attempt, error) {
	m, err := s.webhooks("sending something to a webhook once more")
	if err != nil {
		return nil, err
	}
	a, err := m.Redeliver(ctx, id, delivery)
	return a, refused(err)
}
