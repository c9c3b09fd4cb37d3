package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/release"
	"svc.example/svc/shared/retryafter"
	"svc.example/svc/shared/table"
)

// Sender sends what webhooks are to be told.
type Sender struct {
	Table  table.Table
	Client *http.Client
	// Refused says why an address could never be dialled; nil where that is not known.
	Refused   func(address string) error
	PublicURL string // of the console, without its path; "" where it is not known
	Now       func() time.Time
	Logger    *slog.Logger
	// Sources are a workspace's, at its head; those that are not there have no events.
	Sources func(ctx context.Context, workspace string) (map[string]Source, error)
	// Turn is who sends, where there are several: one at a time tells a webhook. "" where
	// there is one.
	Turn string
}

const (
	retryFor   = 24 * time.Hour
	maxWaiting = 50
	maxParked  = 50
	maxAnswer  = 1 << 10
	// perTurn is how many attempts are made for a webhook before the others have theirs.
	perTurn = 50
	// turnFor is how long a turn is held by somebody who was killed.
	turnFor = time.Minute
	// lastAttempt is how long before a deadline none is begun.
	lastAttempt = answerWithin + 2*time.Second
)

// Waits grow from 5 to 10 s on to between 3 and 6 hours: some 15 attempts in a day.
var waits = backoff.Backoff{First: 10 * time.Second, Max: 6 * time.Hour}

// send makes an attempt. It has ended well where Problem is "".
func (s *Sender) send(ctx context.Context, w *Registered, h *hidden, d *Delivery, workspace string, previousParked bool) (a Attempt, asked time.Duration) {
	now := s.Now().UTC()
	a = Attempt{At: now, ID: d.ID}
	base := ""
	if s.PublicURL != "" {
		base = strings.TrimRight(s.PublicURL, "/") + "/console/"
	}
	body, err := d.Event.body(w.Form, workspace, base, previousParked)
	if err != nil {
		a.Problem = err.Error()
		return a, 0
	}
	ctx = context.WithoutCancel(ctx)
	if strings.HasPrefix(h.Address, "http://") {
		ctx = context.WithValue(ctx, plainly{}, true)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.Address, bytes.NewReader(body))
	if err != nil {
		a.Problem = "the address cannot be used"
		return a, 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "svc/"+strings.Trim(release.Name(), "()"))
	r.Header.Set("Webhook-Id", d.ID)
	r.Header.Set("Webhook-Timestamp", fmt.Sprint(now.Unix()))
	r.Header.Set("Webhook-Signature", h.signature(d.ID, now, body))
	answer, err := s.Client.Do(r)
	if err != nil {
		a.Problem = why(err, s.Client.Timeout)
		return a, 0
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	a.Status, a.Answer = answer.StatusCode, strings.ToValidUTF8(string(text), "\uFFFD")
	switch {
	case a.Status >= 300 && a.Status < 400:
		a.Problem = fmt.Sprintf("the answer is %d, a redirect, which is not followed", a.Status)
	case a.Status < 200 || a.Status > 299:
		a.Problem = fmt.Sprintf("the answer is %d", a.Status)
	}
	asked, _ = retryafter.Read(answer.Header, time.Hour)
	return a, asked
}

// why is an error without the address, which may be a secret.
func why(err error, within time.Duration) string {
	if e := (*refusedAddress)(nil); errors.As(err, &e) {
		return e.message
	}
	if e := (*net.DNSError)(nil); errors.As(err, &e) {
		return "the host has no address that can be found"
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		if e.Timeout() {
			return fmt.Sprintf("no answer within %s", within)
		}
		return e.Err.Error()
	}
	return err.Error()
}

// failed notes an attempt that has failed. It reports whether that was the last one.
func (d *Delivery) failed(a Attempt, asked time.Duration) (over bool) {
	if d.Attempts == 0 {
		d.First = a.At
	}
	d.Attempts++
	d.Last = &a
	end := d.First.Add(retryFor)
	bound := waits.Bound(d.Attempts - 1)
	d.Next = a.At.Add(max(bound/2+backoff.Backoff{First: bound / 2, Max: bound / 2}.Delay(0), asked))
	if d.Next.After(end) {
		d.Next = end
	}
	return !a.At.Before(end)
}

// shares reports whether two lists of items have one in common.
func shares(a, b []string) bool {
	if slices.Contains(a, Everything) || slices.Contains(b, Everything) {
		return len(a) > 0 && len(b) > 0
	}
	return slices.ContainsFunc(a, func(item string) bool { return slices.Contains(b, item) })
}
