package request

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/access"
)

func (p Person) line() string {
	if p.Email == "" {
		return p.Name + " (" + string(p.ID) + ")"
	}
	return p.Name + " <" + p.Email + ">"
}

// maxReason is how much of why a request is made its commit's message has, in characters.
const maxReason = 1500

// words are what a request's commit begins with: its title, and why it is made.
func (r *Request) words() string {
	why := strings.TrimSpace(r.Description)
	if letters := []rune(why); len(letters) > maxReason {
		why = strings.TrimSpace(string(letters[:maxReason])) + "…"
	}
	return strings.TrimSpace(r.Title + "\n\n" + why)
}

// What a workspace has at most.
const (
	MaxOpen       = 200
	MaxOpenOfOne  = 50 // of one author
	MaxComments   = 100
	MaxOperations = 1 << 20 // bytes
	maxTries      = 20
)

// State is what has become of a request.
type State string

// The states.
const (
	Open    State = "open"
	Applied State = "applied"
	Closed  State = "closed"
	Expired State = "expired" // which is told, and not stored
)

// Person is who did something.
type Person struct {
	Type  access.PrincipalType `json:"type"`
	ID    access.ID            `json:"id"`
	Name  string               `json:"name"`
	Email string               `json:"email,omitempty"`
}

// PersonOf is a principal.
func PersonOf(p access.Principal) Person { return Person{p.Type, p.ID, p.Name, p.Email} }

// Request is a change set that waits. Operations are apart, since lists need none.
type Request struct {
	Number      int64      `json:"number"`
	State       State      `json:"state"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Author      Person     `json:"author"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	ExpiresAt   time.Time  `json:"expiresAt,omitzero"`
	Approvals   []Approval `json:"approvals,omitempty"`
	Comments    []Comment  `json:"comments,omitempty"`
	// Touched are the paths of the items, and Parts what stood at them, by then: see
	// change.Decided; nil of a remote's, which follows them.
	Touched []string          `json:"touched,omitempty"`
	Parts   map[string]string `json:"parts,omitempty"`
	// Begun is who began to apply it last, and Ended who ended it.
	Begun  *Mark  `json:"begun,omitempty"`
	Ended  *Mark  `json:"ended,omitempty"`
	Commit string `json:"commitSha,omitempty"`
	// BegunOperations are those that Begun is about, where they are others by now.
	BegunOperations string `json:"begunOperations,omitempty"`

	Operations string `json:"-"` // as JSON; "" in lists
}

// Approval is one person's.
type Approval struct {
	By     Person            `json:"by"`
	At     time.Time         `json:"at"`
	Digest string            `json:"digest"`
	Parts  map[string]string `json:"parts,omitempty"`
}

// Comment is what somebody has said.
type Comment struct {
	By   Person    `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Mark is who did something, and when.
type Mark struct {
	By Person    `json:"by"`
	At time.Time `json:"at"`
}

// Kind is what happened to a request.
type Kind string

// The kinds.
const (
	WasCreated   Kind = "created"
	WasChanged   Kind = "changed"
	WasApproved  Kind = "approved"
	WasWithdrawn Kind = "withdrawn" // an approval
	WasCommented Kind = "commented"
	WasBegun     Kind = "begun" // to be applied
	WasApplied   Kind = "applied"
	WasClosed    Kind = "closed"
)

// Event is something that happened.
type Event struct {
	Sequence    int64     `json:"sequence"` // that rises by one
	Kind        Kind      `json:"kind"`
	Number      int64     `json:"number"`
	Title       string    `json:"title,omitempty"`       // of the request by then
	Description string    `json:"description,omitempty"` // the beginning of its description by then
	Commit      string    `json:"commitSha,omitempty"`   // that applied it
	By          Person    `json:"by"`
	At          time.Time `json:"at"`
	Nonce       string    `json:"nonce"`
}

// Why nothing was done.
var (
	ErrNotFound = errors.New("there is no such change request")
	ErrFull     = fmt.Errorf("there are %d open change requests, which is the most; apply or close some", MaxOpen)
	ErrTooMany  = fmt.Errorf("%d change requests of one author are open, which is the most; apply or close some", MaxOpenOfOne)
	ErrTooLarge = errors.New("the change request has more operations or words than are kept; make several of it")
)

// ID is a number as people and commits have it; "" for none.
func ID(number int64) string {
	if number == 0 {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// Number reads one; 0 for what is none.
func Number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 || n > 9_999_999_999 || strings.TrimLeft(id, "0") != id || id[0] == '+' {
		return 0
	}
	return n
}
