package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/table"
)

// Store is the webhooks of a workspace in a table.
type Store struct {
	Table     table.Table
	Workspace string
}

// kept is a webhook as it is stored.
type kept struct {
	Webhook
	Sealed string `json:"sealed,omitempty"`
}

// Delivery is what a webhook was not told of yet.
type Delivery struct {
	ID       string    `json:"id"` // its Webhook-Id
	Event    Event     `json:"event"`
	Attempts int       `json:"attempts"`
	First    time.Time `json:"first,omitzero"` // the first attempt
	Next     time.Time `json:"next,omitzero"`  // not before; the zero time while it waits for another
	Last     *Attempt  `json:"last,omitempty"`
	row      string
}

// Attempt is how a try to send went.
type Attempt struct {
	At      time.Time `json:"at"`
	ID      string    `json:"id"`
	Status  int       `json:"status,omitempty"` // 0: there was no answer
	Answer  string    `json:"answer,omitempty"` // the first KiB
	Problem string    `json:"problem,omitempty"`
}

// Registered is a webhook and what waits for it.
type Registered struct {
	Webhook
	Last            *Attempt
	Waiting, Parked []Delivery // each in order
	sealed          string
	state           table.Attributes
}

// everything is what a workspace has of webhooks, in the order of their ids.
type everything struct {
	hooks []*Registered
	key   []byte
	wake  int64
}

func (e *everything) hook(id access.ID) *Registered {
	for _, h := range e.hooks {
		if h.ID == id {
			return h
		}
	}
	return nil
}

func (s Store) partition() string { return "webhook/" + s.Workspace }

func (s Store) at(parts ...string) table.Key {
	return table.Key{Partition: s.partition(), Sort: strings.Join(parts, "/")}
}

// load reads all of it: one request, as long as it is less than a megabyte.
func (s Store) load(ctx context.Context) (*everything, error) {
	all := &everything{}
	err := s.Table.Query(ctx, table.Query{Partition: s.partition()}, func(row table.Row) (bool, error) {
		parts := strings.Split(row.Sort, "/")
		switch {
		case row.Sort == "key":
			all.key = row.Bytes("key")
		case row.Sort == "wake":
			all.wake = row.Number("at")
		case len(parts) == 2:
			var k kept
			if err := json.Unmarshal([]byte(row.Text("doc")), &k); err != nil {
				return false, fmt.Errorf("%s: %w", row.Sort, err)
			}
			all.hooks = append(all.hooks, &Registered{Webhook: k.Webhook, sealed: k.Sealed})
		default:
			hook := all.hook(access.ID(parts[1]))
			if hook == nil { // it was just deleted
				return true, nil
			}
			return true, hook.add(parts[2], row)
		}
		return true, nil
	})
	for _, h := range all.hooks {
		_, err := h.open(s.Workspace, all.key)
		h.Silent = err != nil
	}
	return all, err
}

func (r *Registered) add(what string, row table.Row) error {
	if what == "state" {
		r.state = row.Attributes
		if last := row.Text("last"); last != "" {
			return json.Unmarshal([]byte(last), &r.Last)
		}
		return nil
	}
	d := Delivery{row: row.Sort}
	if err := json.Unmarshal([]byte(row.Text("doc")), &d); err != nil {
		return fmt.Errorf("%s: %w", row.Sort, err)
	}
	if what == "open" {
		r.Waiting = append(r.Waiting, d)
	} else {
		r.Parked = append(r.Parked, d)
	}
	return nil
}

const sealedFor = "webhook"

// open unseals a webhook.
func (r *Registered) open(workspace string, key []byte) (*hidden, error) {
	if len(key) == 0 {
		return nil, errors.New("there is no key")
	}
	text, err := access.Unseal(key, sealedFor, workspace+"/"+string(r.ID), r.sealed)
	if err != nil {
		return nil, err
	}
	h := &hidden{}
	return h, json.Unmarshal([]byte(text), h)
}

// seal has a webhook keep what is hidden.
func (r *Registered) seal(workspace string, key []byte, h *hidden) (err error) {
	text, err := json.Marshal(h)
	if err == nil {
		r.sealed, err = access.Seal(key, sealedFor, workspace+"/"+string(r.ID), string(text))
	}
	r.Silent = err != nil
	return err
}

// put writes the row of a webhook.
func (r *Registered) put(s Store) table.Write {
	w := r.Webhook
	w.Silent = false // told of what is there, not stored
	text, _ := json.Marshal(kept{w, r.sealed})
	return table.Write{Key: s.at("hook", string(r.ID)), Put: table.Attributes{"doc": table.Text(text)}}
}

// ensureKey makes the workspace's key where there is none.
func (s Store) ensureKey(ctx context.Context, all *everything) error {
	if len(all.key) > 0 {
		return nil
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	w := table.Write{Key: s.at("key"), Put: table.Attributes{"key": table.Bytes(key)}, If: []table.Condition{table.NoRow()}}
	err := s.Table.Transact(ctx, w)
	if err == nil {
		all.key = key
		return nil
	}
	rows, failed := s.Table.Get(ctx, []table.Key{w.Key}) // somebody else was faster, or an answer was lost
	if failed != nil || len(rows) == 0 {
		return err
	}
	all.key = rows[0].Bytes("key")
	return nil
}

// digest names a content so that nobody can try contents with it.
func digest(key []byte, blob *string) *string {
	if blob == nil {
		return nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("digest\x00" + *blob))
	text := "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
	return &text
}

// Archive writes the webhooks for a backup, one as JSON on each line, without the key that
// opens what is sealed, and without what waits. It reports how many there are.
func (s Store) Archive(ctx context.Context, to io.Writer) (n int, err error) {
	all, err := s.load(ctx)
	if err != nil {
		return 0, err
	}
	lines := json.NewEncoder(to)
	for _, h := range all.hooks {
		if err := lines.Encode(h.Webhook); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Clear removes all that a workspace has of webhooks.
func (s Store) Clear(ctx context.Context) error { return s.clear(ctx, "!", "~") }

// clear removes rows.
func (s Store) clear(ctx context.Context, low, high string) error {
	return table.Clear(ctx, s.Table, table.Query{Partition: s.partition(), Low: low, High: high, Only: []string{"n"}})
}

// Restore puts what Archive has written into a table that has none of it. The webhooks are
// silent until each gets an address and a secret.
func (s Store) Restore(ctx context.Context, from io.Reader) error {
	lines := json.NewDecoder(from)
	for n := 0; ; n++ {
		var w Webhook
		err := lines.Decode(&w)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, wrong := access.ParseID(string(w.ID)); err != nil || wrong != nil || n >= MaxWebhooks || w.check() != nil {
			return fmt.Errorf("after %d webhooks: this is none", n)
		}
		r := &Registered{Webhook: w}
		if err := s.Table.Batch(ctx, []table.Write{r.put(s)}); err != nil {
			return err
		}
	}
}
