package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/requestid"
)

// ChangeSet is a change set to be sent.
type ChangeSet struct {
	Body   []byte
	DryRun bool
	Impact bool // of a dry run, for whom
	// Key is its Idempotency-Key; "" is one that nobody else has.
	Key string
	// Repeatable: carried out a second time it is refused, or changes nothing.
	Repeatable bool
}

// Changed is what came of a change set.
type Changed struct {
	Changed           bool     `json:"changed"`
	CommitSHA         string   `json:"commitSha"`
	PreviousCommitSHA string   `json:"previousCommitSha,omitempty"`
	Results           []Result `json:"results"`
	// Warnings are by paths into the change set.
	Warnings []document.Issue `json:"warnings,omitempty"`
	Impact   json.RawMessage  `json:"impact,omitempty"`
	// ReviewRequired are the environments of which a dry run has to be approved.
	ReviewRequired []string `json:"reviewRequired,omitempty"`
}

// Result is what came of an operation, or of one of its items.
type Result struct {
	Index    int           `json:"index"` // of the operation
	Type     document.Type `json:"type"`
	Key      string        `json:"key"`
	Changed  bool          `json:"changed"`
	Messages []Message     `json:"messages"`
}

// Message says in words what was changed.
type Message struct {
	Message string `json:"message"`
}

// Unknown says that nobody can tell whether a change set was carried out.
type Unknown struct{ Why error }

func (u *Unknown) Error() string {
	return fmt.Sprintf("the answer was lost, and the changes may have been made or not: %v", u.Why)
}

func (u *Unknown) Unwrap() error { return u.Why }

// maxLost is how often a change set is sent whose answer was lost.
const maxLost = 3

// Change sends a change set. One whose answer is lost is sent again where that does
// no harm, under the same Idempotency-Key.
func (c *Client) Change(ctx context.Context, set ChangeSet) (*Changed, error) {
	set.Key = cmp.Or(set.Key, requestid.New())
	q := request{method: http.MethodPost, path: "/changes", content: set.Body, most: maxList, once: !set.Repeatable && !set.DryRun}
	if set.DryRun {
		q.query = url.Values{"dryRun": {"true"}}
		if set.Impact {
			q.query.Set("impact", "true")
		}
	} else {
		q.header = map[string]string{"Idempotency-Key": set.Key}
	}
	var lost error
	for try := 1; ; try++ {
		_, body, err := c.ask(ctx, q)
		var refused *Refusal
		answered := errors.As(err, &refused) && refused.Status < http.StatusInternalServerError
		switch {
		case err == nil:
			var c Changed
			if json.Unmarshal(body, &c) != nil || c.CommitSHA == "" || c.Results == nil {
				return nil, &Unknown{errors.New("POST /changes: this is not an answer of the API; check the address")}
			}
			return &c, nil
		case set.DryRun || lost == nil && (answered || errors.As(err, new(unreached))):
			return nil, err
		case answered:
			return nil, &Unknown{fmt.Errorf("%w; sent again, %w", lost, err)}
		}
		lost = err
		if !set.Repeatable || try == maxLost || c.wait(ctx, time.Second<<(try-1)) != nil {
			return nil, &Unknown{lost}
		}
	}
}
