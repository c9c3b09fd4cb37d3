package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/requestid"
)

// Requested is a change request.
type Requested struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Title     string `json:"title"`
	Author    Named  `json:"author"`
	CreatedAt string `json:"createdAt"`
	CommitSHA string `json:"commitSha"`
	EndedBy   Named  `json:"endedBy"`
	ItemCount int    `json:"itemCount"`
	Approvals []struct {
		By     Named  `json:"by"`
		Counts bool   `json:"counts"`
		Why    string `json:"why"`
	} `json:"approvals"`
	Description string `json:"description"`
	Comments    []struct {
		By   Named  `json:"by"`
		At   string `json:"at"`
		Text string `json:"text"`
	} `json:"comments"`
	Preview *struct {
		Digest       string                     `json:"digest"`
		Conflict     *struct{ Message string }  `json:"conflict"`
		Results      []Result                   `json:"results"`
		Warnings     []document.Issue           `json:"warnings"`
		Impact       map[string]json.RawMessage `json:"impact"`
		Requirements []struct {
			Environment      string
			Approvals, Given int
			Roles            []string
		} `json:"requirements"`
		Approved bool `json:"approved"`
	} `json:"preview"`
}

// Named is a person or a program.
type Named struct {
	Name string `json:"name"`
}

// WriteRequest sends something about change requests to a path below them, under an
// Idempotency-Key, "" for one that nobody else has: where it is sent again, it is done once.
func (c *Client) WriteRequest(ctx context.Context, method, path string, body []byte, key string) (*Requested, error) {
	q := request{method: method, path: "/change-requests" + path, content: body, most: maxAnswer, header: map[string]string{"Idempotency-Key": cmp.Or(key, requestid.New())}}
	_, text, err := c.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	r := &Requested{}
	if json.Unmarshal(text, r) != nil || r.ID == "" {
		return nil, NoAnswer(q.path, "it is not the JSON that was asked for")
	}
	return r, nil
}

// ReadRequest reads a change request.
func (c *Client) ReadRequest(ctx context.Context, id string) (*Requested, error) {
	_, text, err := c.ask(ctx, request{method: http.MethodGet, path: "/change-requests/" + id, most: maxPage})
	if err != nil {
		return nil, err
	}
	r := &Requested{}
	if json.Unmarshal(text, r) != nil || r.ID != id {
		return nil, NoAnswer("/change-requests/"+id, "it is not the JSON that was asked for")
	}
	return r, nil
}
