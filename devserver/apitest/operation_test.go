package apitest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// operation is one request, or for a list what it asks of one key.
type operation struct {
	kind   kind
	family string // the folder of the API
	key    string
	token  string // expectedCommitSha; "" for none

	scope   string
	enabled bool    // of a toggle
	value   any     // of a creation or a serve
	rollout []share // of a split
	level   string
	target  string
	replace bool // replaceTargeting

	description string // of a creation
	document    string // of a put, canonical
}

type kind string

const (
	create  kind = "create"
	toggle  kind = "toggle"
	serve   kind = "serve"
	rollout kind = "rollout"
	level   kind = "level"
	put     kind = "put"

	readDetail   kind = "read detail"
	readDocument kind = "read document"
	readList     kind = "read list"
	readRow      kind = "read row" // of one key, in a list
)

func (o *operation) writes() bool {
	return !strings.HasPrefix(string(o.kind), "read")
}

// pool is the keys that can not be held at a time: those that differ in case.
func (o *operation) pool() string { return strings.ToLower(o.key) }

// request says how an operation is put to the API.
func (o *operation) request() (method, path string, body []byte) {
	item := "/" + o.family + "/" + o.key
	switch o.kind {
	case readList:
		return "GET", "/" + o.family, nil
	case readDetail:
		return "GET", item, nil
	case readDocument:
		return "GET", item + "/document", nil
	case create:
		return "POST", "/" + o.family, encode(o.creation())
	case put:
		return "PUT", item + "/document", encode(object{"document": json.RawMessage(o.document), "expectedCommitSha": o.token})
	case level:
		return "PATCH", item, encode(o.patch())
	}
	return "PATCH", item + "/environments/" + o.scope, encode(o.patch())
}

func encode(body any) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // made of literals
	}
	return text
}

func (o *operation) creation() object {
	body := object{"key": o.key, "description": o.description}
	if o.family == "configs" {
		body["valueType"], body["value"] = "int", o.value
	}
	return body
}

func (o *operation) patch() object {
	body := object{}
	switch o.kind {
	case toggle:
		body["enabled"] = o.enabled
	case serve:
		body["value"] = o.value
	case rollout:
		body["rollout"] = o.rollout
	case level:
		body["level"], body["environment"] = o.level, o.scope
	}
	if o.target != "" {
		body["target"] = o.target
	}
	if o.replace {
		body["replaceTargeting"] = true
	}
	if o.token != "" {
		body["expectedCommitSha"] = o.token
	}
	return body
}

func (o *operation) String() string {
	if o.kind == readRow {
		return fmt.Sprintf("the list of %s, of %s", o.family, o.key)
	}
	_, path, body := o.request()
	return fmt.Sprintf("%s %s %s", o.kind, path, body)
}

// answer is what the API said to an operation.
type answer struct {
	// open: whether the request took effect, now or later, is not known.
	open bool

	status           int
	code             string // details.code
	holder           string // family and key of who holds a key
	commit, previous string
	changed, created bool
	text             string // canonical: the document, the rules, the detail, the row
	listed           map[string]string
	reason           string // in words, for whoever reads a report
}

func (a *answer) String() string {
	if a.open {
		return "no answer: " + a.reason
	}
	if a.listed != nil {
		return fmt.Sprintf("%d %v", a.status, a.listed)
	}
	return fmt.Sprintf("%d %s changed=%t commit=%.8s previous=%.8s %s %s", a.status, a.code, a.changed, a.commit, a.previous, a.text, a.reason)
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
	Flags             []row
	Configs           []row
	LogLevels         []row
}

type row struct {
	Key       string
	CommitSHA string `json:"commitSha"`
}

// read makes an answer of what came over the wire.
func (o *operation) read(status int, body []byte) (*answer, error) {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("%s: %w in %q", o, err, body)
	}
	a := &answer{
		status: status, code: r.Details.Code, reason: r.Message,
		commit: r.CommitSHA, previous: r.PreviousCommitSHA, changed: r.Changed, created: r.Created,
	}
	if r.Details.CollidingKey != "" {
		a.holder = r.Details.CollidingType + " " + r.Details.CollidingKey
	}
	if status != 200 {
		return a, nil
	}
	content := r.Document
	switch o.kind {
	case toggle, serve, rollout:
		content = r.Rules
	case readDetail:
		content = body
	case readList:
		a.listed = map[string]string{}
		for _, list := range [][]row{r.Flags, r.Configs, r.LogLevels} {
			for _, item := range list {
				a.listed[item.Key] = item.CommitSHA
			}
		}
	}
	if content == nil {
		return a, nil
	}
	value, err := parse(content)
	if err == nil && o.kind == readDetail {
		value = detailOf(value.(object))
	}
	a.text = canonical(value)
	return a, err
}

// detailOf is what a detail shows of a document and the document says too.
func detailOf(document object) object {
	detail := object{}
	for _, name := range []string{"key", "valueType", "description", "tags", "default", "environments", "variants"} {
		if member, ok := document[name]; ok {
			detail[name] = member
		}
	}
	return detail
}
