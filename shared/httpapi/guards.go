package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/alert"
	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	watching "svc.example/svc/shared/guard"
	"svc.example/svc/shared/refusal"
)

// guardKeys are those that alerts come with.
var guardKeys = authentication.Keys{
	Kinds:  []access.Kind{access.KindGuard},
	Wanted: "alerts come with a guard key (svc_gk_...), behind Bearer or as the password of Basic",
}

// guardKey takes the key out of a request: SNS can only send it as a password.
func guardKey(r *http.Request) (string, error) {
	if _, password, basic := r.BasicAuth(); basic && len(r.Header.Values("Authorization")) == 1 {
		return password, nil
	}
	text, err := bearer(r.Header)
	if err != nil {
		return "", fault.New(fault.Unauthorized, "%s", guardKeys.Wanted).Because(err)
	}
	return text, nil
}

// taken is what came of an alert.
type taken struct {
	Changed   bool    `json:"changed"`
	Message   string  `json:"message"`
	Undoes    *string `json:"undoes"`    // the commit that the alert is about, if any
	CommitSHA *string `json:"commitSha"` // the one that takes it back
}

// nothing is the answer to what takes nothing back.
func nothing(why string) (any, error) { return &taken{Message: why}, nil }

// takeAlertmanager takes a notification of Alertmanager, some of whose fields nobody knows yet.
func takeAlertmanager(ctx context.Context, c *call) (any, error) {
	a, fires, err := alert.OfAlertmanager(c.body)
	switch {
	case err != nil:
		return nil, refusal.Malformed(document.Issue{Message: err.Error()})
	case !fires:
		return nothing("no alert fires: nothing is taken back")
	}
	return c.takeBack(ctx, a)
}

// takeSNS takes what a topic of SNS sends.
func takeSNS(ctx context.Context, c *call) (any, error) {
	kind, err := c.sns.Read(ctx, c.body, c.session.Topic())
	switch {
	case errors.Is(err, alert.ErrForged):
		c.options.Logger.LogAttrs(ctx, slog.LevelWarn, "a message of SNS was refused", slog.String("cause", err.Error()), slog.String("principal", string(c.session.Principal().ID)), slog.String("requestId", c.id))
		return nil, fault.New(fault.Forbidden, "the message is refused: %v", err)
	case err != nil:
		return nil, fault.New(fault.Unavailable, "%v", alert.ErrAway).Because(err)
	case kind != alert.Notification:
		return nothing("taken: " + kind)
	}
	a, rings, err := alert.OfCloudWatch(text(c.body, "Message"))
	switch {
	case err != nil:
		return nothing(err.Error() + ": nothing is taken back")
	case !rings:
		return nothing("the alarm does not ring: nothing is taken back")
	}
	return c.takeBack(ctx, a)
}

// takeBack takes back the commit that an alert is about.
func (c *call) takeBack(ctx context.Context, a alert.Alert) (any, error) {
	changes := c.session.Changes()
	sha, err := changes.Guarded(ctx, a.Began)
	if err != nil {
		return nil, err
	}
	if sha == "" {
		return nothing("no commit of the 24 hours before the alert has named this guard: nothing is taken back")
	}
	done, err := changes.Change(ctx, change.ChangeSet{Request: change.Request{ID: c.id}, Message: watching.Told(a.By, a.Says, a.Began, a.Words),
		Operations: []change.Operation{change.RevertCommit(change.Reversion{CommitSHA: sha, Mode: "undo"})}})
	attributes := []slog.Attr{slog.String("commit", sha), slog.String("alert", a.Says), slog.String("principal", string(c.session.Principal().ID)), slog.String("requestId", c.id)}
	if err == nil && done.Changed {
		c.options.Logger.LogAttrs(ctx, slog.LevelInfo, "a guard took a change back", append(attributes, slog.String("by", done.CommitSHA))...)
		return &taken{Changed: true, Message: "the commit " + sha + " is taken back", Undoes: &sha, CommitSHA: &done.CommitSHA}, nil
	}
	if err == nil {
		return &taken{Message: "the commit " + sha + " was taken back already", Undoes: &sha}, nil
	}
	if refused := fault.Of(err); refused.Kind.Status() < http.StatusInternalServerError && refused.Kind != fault.RateLimited {
		c.options.Logger.LogAttrs(ctx, slog.LevelWarn, "a guard could not take a change back", append(attributes, slog.String("cause", refused.Message))...)
		return nil, errors.Join(err, c.session.HeldUp(ctx, sha, a.By+" says that "+a.Says, refused.Message))
	}
	return nil, err
}
