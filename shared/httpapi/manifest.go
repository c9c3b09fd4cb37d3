package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
)

// manifestPath is what the paths of the OpenFeature CLI's API begin with, beside ours.
// Its refusals have an envelope of their own.
const manifestPath = "/openfeature/"

// manifests reports whether the CLI's API has operations.
func (o operations) manifests() bool {
	for _, operation := range o {
		return strings.HasPrefix(operation.Path, manifestPath)
	}
	return false
}

// manifests are the endpoints of the OpenFeature CLI's API, by operationId.
var manifests = map[string]handler{
	"getManifest": held(func(ctx context.Context, c *call) (any, error) {
		m, err := c.session.Manifest(ctx)
		if err == nil {
			c.header.Set("X-Manifest-Omitted", strconv.Itoa(m.Omitted))
		}
		return m, c.manifested(err)
	}),
	"createManifestFlag": func(ctx context.Context, c *call) (any, error) {
		c.status = http.StatusCreated
		made, err := c.session.Changes().CreateManifestFlag(ctx, c.manifestFlag())
		return made, c.manifested(err)
	},
	"replaceManifestFlag": func(ctx context.Context, c *call) (any, error) {
		changed, err := c.session.Changes().ChangeManifestFlag(ctx, c.request.PathValue("key"), c.manifestFlag())
		return changed, c.manifested(err)
	},
	"deleteManifestFlag": func(ctx context.Context, c *call) (any, error) {
		deleted, err := c.session.Changes().DeleteManifestFlag(ctx, c.request.PathValue("key"), c.write())
		return deleted, c.manifested(err)
	},
}

// The CLI sends a request for each flag, one after the other, and gives up at the first
// 429. So its requests wait for their turn, so often at most, and few at a time.
const (
	maxWaits   = 3 // of a second
	maxWaiting = 16
)

// authenticate says whose request it is.
func (c *call) authenticate() (control.Caller, error) {
	keys, key, unreadable := c.credential()
	once := c.idempotencyKey()
	c.unconditional()
	for waits := 0; ; waits++ {
		caller, err := c.guard.Authenticate(c.request, keys, key, unreadable, once)
		if err == nil || !c.here.manifests() {
			return caller, err
		}
		limited := fault.Of(err)
		if limited.Kind != fault.RateLimited || limited.RetryAfter() != "1" || waits == maxWaits {
			return caller, err
		}
		select {
		case c.waiting <- struct{}{}:
		default:
			return caller, err
		}
		gone := backoff.Sleep(c.request.Context(), time.Second)
		<-c.waiting
		if gone != nil {
			return caller, err
		}
	}
}

// manifested tells with a success what the key may do.
func (c *call) manifested(err error) error {
	if err == nil {
		c.header.Set("X-Manifest-Capabilities", c.session.ManifestCapabilities())
	}
	return err
}

func (c *call) manifestFlag() change.ManifestFlag {
	return change.ManifestFlag{Request: c.write(), Key: text(c.body, "key"), Type: text(c.body, "type"), Name: optional(c.body.Get("name").Text()),
		Description: text(c.body, "description"), DefaultValue: c.body.Get("defaultValue")}
}

// manifestEnvelope is how the CLI's API words a refusal.
type manifestEnvelope struct {
	Error manifestError `json:"error"`
}

type manifestError struct {
	Message string           `json:"message"`
	Status  int              `json:"status"`
	Details []manifestDetail `json:"details,omitempty"`
}

// manifestDetail is a part of what is wrong. The field is a path: defaultValue.size.
type manifestDetail struct {
	Field   string `json:"field,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

func manifestRefusal(f *fault.Fault, envelope fault.Envelope) manifestEnvelope {
	refusal := manifestEnvelope{manifestError{Message: envelope.Message, Status: f.Kind.Status()}}
	code, _ := envelope.Details["code"].(string)
	issues, _ := envelope.Details["issues"].([]document.Issue)
	for _, issue := range issues {
		refusal.Error.Details = append(refusal.Error.Details, manifestDetail{Field: fieldOf(issue.Pointer), Code: code, Message: issue.Message})
	}
	switch {
	case len(issues) > 0:
	case f.Kind == fault.Internal:
		refusal.Error.Details = []manifestDetail{{Code: envelope.Error, Message: fmt.Sprintf("this was the request %v", envelope.Details["requestId"])}}
	case envelope.Details["collidingKey"] != nil:
		refusal.Error.Details = []manifestDetail{{Field: "key", Code: code, Message: envelope.Message}}
	case code != "":
		refusal.Error.Details = []manifestDetail{{Code: code, Message: envelope.Message}}
	}
	return refusal
}

// fieldOf is a JSON Pointer, or a parameter, as a path.
func fieldOf(pointer string) string {
	path := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(pointer, "/"), "?"), "/", ".")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(path)
}
