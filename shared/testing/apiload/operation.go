package apiload

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Operation is one request, or for a list what it asks of one key.
type Operation struct {
	Kind   Kind
	Family string // the folder of the API
	Key    string
	Token  string // expectedCommitSha; "" for none

	Scope   string
	Enabled bool    // of a toggle
	Value   any     // of a creation or a serve
	Rollout []share // of a split
	Level   string
	Target  string
	Replace bool // replaceTargeting

	Description string     // of a creation
	Document    string     // of a put, canonical
	Commit      string     // that is restored or undone
	Also        *Operation // a toggle of the same flag in another scope, of a change set

	Once string // the Idempotency-Key; "" for none
}

type Kind string

const (
	Create  Kind = "create"
	Toggle  Kind = "toggle"
	Serve   Kind = "serve"
	Rollout Kind = "rollout"
	Level   Kind = "level"
	Put     Kind = "put"
	Delete  Kind = "delete"
	Restore Kind = "restore"
	Undo    Kind = "undo" // of a commit whose content stands, which the token says
	Changes Kind = "change set"

	ReadDetail   Kind = "read detail"
	ReadDocument Kind = "read document"
	ReadList     Kind = "read list"
	ReadRow      Kind = "read row" // of one key, in a list
)

func (o *Operation) Writes() bool {
	return !strings.HasPrefix(string(o.Kind), "read")
}

// request says how an operation is put to the API.
func (o *Operation) request() (method, path string, body []byte) {
	item := "/" + o.Family + "/" + o.Key
	switch o.Kind {
	case ReadList:
		return "GET", "/" + o.Family, nil
	case ReadDetail:
		return "GET", item, nil
	case ReadDocument:
		return "GET", item + "/document", nil
	case Create:
		return "POST", "/" + o.Family, encode(o.creation())
	case Put:
		return "PUT", item + "/document", encode(Object{"document": json.RawMessage(o.Document), "expectedCommitSha": o.Token})
	case Delete:
		if o.Token != "" {
			item += "?expectedCommitSha=" + o.Token
		}
		return "DELETE", item, nil
	case Changes:
		return "POST", "/changes", encode(Object{"operations": []any{o.part(o.Token), o.Also.part(o.Token)}})
	case Restore:
		return "POST", item + "/revert", encode(Object{"commitSha": o.Commit, "mode": "restore"})
	case Undo:
		return "POST", item + "/revert", encode(Object{"commitSha": o.Commit, "mode": "undo", "expectedCommitSha": o.Token})
	case Level:
		return "PATCH", item, encode(o.patch())
	}
	return "PATCH", item + "/environments/" + o.Scope, encode(o.patch())
}

func encode(body any) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // made of literals
	}
	return text
}

// part is a toggle as an operation of a change set.
func (o *Operation) part(token string) Object {
	part := Object{"op": "patch", "type": "feature_flag", "key": o.Key, "environment": o.Scope, "body": Object{"enabled": o.Enabled}}
	if token != "" {
		part["expectedCommitSha"] = token
	}
	return part
}

func (o *Operation) creation() Object {
	body := Object{"key": o.Key, "description": o.Description}
	if o.Family == "configs" {
		body["valueType"], body["value"] = "int", o.Value
	}
	return body
}

func (o *Operation) patch() Object {
	body := Object{}
	switch o.Kind {
	case Toggle:
		body["enabled"] = o.Enabled
	case Serve:
		body["value"] = o.Value
	case Rollout:
		body["rollout"] = o.Rollout
	case Level:
		body["level"], body["environment"] = o.Level, o.Scope
	}
	if o.Target != "" {
		body["target"] = o.Target
	}
	if o.Replace {
		body["replaceTargeting"] = true
	}
	if o.Token != "" {
		body["expectedCommitSha"] = o.Token
	}
	return body
}

func (o *Operation) String() string {
	if o.Kind == ReadRow {
		return fmt.Sprintf("the list of %s, of %s", o.Family, o.Key)
	}
	_, path, body := o.request()
	return fmt.Sprintf("%s %s %s", o.Kind, path, body)
}

// Answer is what the API said to an operation.
type Answer struct {
	// Open: whether the request took effect, now or later, is not known.
	Open bool

	Status           int
	Code             string // details.code
	Holder           string // family and key of who holds a key
	Commit, Previous string
	Changed, Created bool
	Text             string // canonical: the document, the rules, the detail, the row
	Listed           map[string]string
	Reason           string // in words, for reports

	Replayed bool   // it is the answer of an earlier request under the same Idempotency-Key
	body     string // as it came
}

func (a *Answer) String() string {
	if a.Open {
		return "no answer: " + a.Reason
	}
	if a.Listed != nil {
		return fmt.Sprintf("%d %v", a.Status, a.Listed)
	}
	return fmt.Sprintf("%d %s changed=%t commit=%.8s previous=%.8s %s %s", a.Status, a.Code, a.Changed, a.Commit, a.Previous, a.Text, a.Reason)
}

// reply is the body of any answer of the API, as far as the tests look at it.
type reply struct {
	Error   string
	Message string
	Details struct {
		Code                        string
		CollidingType, CollidingKey string
	}
	CommitSHA         string `json:"commitSha"`
	PreviousCommitSHA string `json:"previousCommitSha"`
	Changed, Created  bool
	Document          json.RawMessage
	Rules             json.RawMessage
	Flags             []Row
	Configs           []Row
	LogLevels         []Row
}

type Row struct {
	Key       string
	CommitSHA string `json:"commitSha"`
}

// Read makes an answer of what came over the wire.
func (o *Operation) Read(status int, body []byte) (*Answer, error) {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("%s: %w in %q", o, err, body)
	}
	a := &Answer{
		Status: status, Code: r.Details.Code, Reason: r.Message,
		Commit: r.CommitSHA, Previous: r.PreviousCommitSHA, Changed: r.Changed, Created: r.Created,
	}
	if r.Details.CollidingKey != "" {
		a.Holder = r.Details.CollidingType + " " + r.Details.CollidingKey
	}
	if status != 200 {
		return a, nil
	}
	content := r.Document
	switch o.Kind {
	case Toggle, Serve, Rollout:
		content = r.Rules
	case ReadDetail:
		content = body
	case ReadList:
		a.Listed = map[string]string{}
		for _, list := range [][]Row{r.Flags, r.Configs, r.LogLevels} {
			for _, item := range list {
				a.Listed[item.Key] = item.CommitSHA
			}
		}
	}
	if content == nil {
		return a, nil
	}
	value, err := parse(content)
	if err == nil && o.Kind == ReadDetail {
		value = detailOf(value.(Object))
	}
	a.Text = Canonical(value)
	return a, err
}

// detailOf is what a detail shows of a document and the document says too.
func detailOf(document Object) Object {
	detail := Object{}
	for _, name := range []string{"key", "valueType", "description", "tags", "default", "environments", "variants"} {
		if member, ok := document[name]; ok {
			detail[name] = member
		}
	}
	return detail
}
