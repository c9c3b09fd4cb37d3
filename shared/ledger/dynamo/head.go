package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

func headOf(i table.Attributes) repository.Head {
	h := repository.Head{
		Commit: i.Text("commit"), Sequence: i.Number("sequence"),
		Access: i.Number("access"), Fence: i.Number("fence"), Index: i.Text("index"),
		Base: repository.Base{
			Name: i.Text("baseName"), Sequence: i.Number("baseSequence"),
			Follow: i.Number("baseFollow"), Bytes: i.Number("baseBytes"),
		},
		Turn: i.Text("turn"),
	}
	// A version of svc that knows no versions leaves those of an earlier commit.
	if told, of := strings.CutPrefix(string(i.Bytes("versions")), h.Commit+" "); of {
		h.Versions = told
	}
	return h
}

// putHead puts what a write changes of a head into a row or an update.
func putHead(i table.Attributes, h repository.Head) {
	i["commit"], i["sequence"], i["index"] = table.Text(h.Commit), table.Number(h.Sequence), table.Text(h.Index)
	i["baseName"], i["baseSequence"] = table.Text(h.Base.Name), table.Number(h.Base.Sequence)
	i["baseFollow"], i["baseBytes"] = table.Number(h.Base.Follow), table.Number(h.Base.Bytes)
	i["versions"] = table.Bytes([]byte(h.Commit + " " + h.Versions))
}

func workspaceOf(id access.ID, i table.Attributes) access.Workspace {
	return access.Workspace{
		ID: string(id), Name: i.Text("name"), Secret: i.Bytes("secret"),
		BillingInactive: i.Truth("billingInactive"), Provisioning: i.Truth("provisioning"),
	}
}

func putWorkspace(i table.Attributes, w access.Workspace) {
	i["name"], i["secret"] = table.Text(w.Name), table.Bytes(w.Secret)
	i["billingInactive"], i["provisioning"] = table.Truth(w.BillingInactive), table.Truth(w.Provisioning)
}

// change is a principal or a key whose row was written at an access version.
type change struct {
	ID      access.ID `json:"id"`
	Version int64     `json:"version"`
	// At is when a later edit saw it first, in seconds of the table's own clock;
	// 0 until then. So it is never earlier than the change itself.
	At int64 `json:"at"`
	// Gone: the row was removed. A key that people sign in with makes room for another.
	Gone bool `json:"gone,omitempty"`
}

// shows reports whether a row is as the change left it, or as a later one did; nil is none.
func (c change) shows(row table.Attributes) bool {
	if c.Gone {
		return row == nil
	}
	return row.Number("version") >= c.Version
}

func recentOf(i table.Attributes) ([]change, error) {
	var recent []change
	if s := i.Text("recent"); s != "" {
		if err := json.Unmarshal([]byte(s), &recent); err != nil {
			return nil, fmt.Errorf("%w: recent changes of the head: %w", errRow, err)
		}
	}
	return recent, nil
}

// remember is how long the head tells of a change, at least. It is far longer
// than an attempt to read can last.
const remember = time.Minute

// unexpired is what the head goes on to tell. Without the table's time it is all.
func unexpired(recent []change, now time.Time) []change {
	kept := make([]change, 0, len(recent)+1)
	for _, c := range recent {
		if c.At == 0 && !now.IsZero() {
			c.At = now.Unix()
		}
		if now.IsZero() || now.Unix()-c.At <= int64(remember/time.Second) {
			kept = append(kept, c)
		}
	}
	return kept
}

// openAttributes are all that a head, a principal and a key have, but for the
// secret of the head. template.yaml lets functions that need no secret read
// these and no others.
var openAttributes = []string{
	"name", "billingInactive", "provisioning",
	"commit", "sequence", "access", "index", "baseName", "baseSequence", "baseFollow", "baseBytes", "fence", "format", "versions", "turn",
	"recent", "doc", "version",
}

// Authenticate implements control.Authenticator.
func (t *Table) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	return t.entry(ctx, key.Workspace(), key.Principal(), key.ID(), once)
}

// FindKey implements control.KeyFinder: one read more, as the id of a key does not
// say whose it is.
func (t *Table) FindKey(ctx context.Context, workspace, id access.ID) (control.Entry, error) {
	found, _, err := t.db.GetAt(ctx, []table.Key{accessKeyKey(workspace, id)}, t.attributes...)
	if err != nil {
		return control.Entry{}, err
	}
	if len(found) == 0 {
		return control.Entry{}, access.ErrNotFound
	}
	var record access.KeyRecord
	if err := decodeDoc(found[0].Attributes, &record); err != nil {
		return control.Entry{}, err
	}
	return t.entry(ctx, workspace, record.PrincipalID, id, "")
}

// entry reads what belongs to a key of a principal, and what is remembered of an
// id of a repository.Once, "" for none.
func (t *Table) entry(ctx context.Context, workspace, principal, key access.ID, once string) (control.Entry, error) {
	for attempt := 1; ; attempt++ {
		e, torn, err := t.authenticate(ctx, workspace, principal, key, once)
		if err != nil || !torn {
			return e, err
		}
		if err := again(ctx, attempt, errTorn); err != nil {
			return control.Entry{}, err
		}
	}
}

const authenticating = "authenticating a key"

var errTorn = errors.New("the key or its principal is being changed")

// authenticate is torn when the rows of the key and the principal may be older than
// the head: whatever they allow may be over.
func (t *Table) authenticate(ctx context.Context, ws, principal, key access.ID, once string) (e control.Entry, torn bool, err error) {
	wanted := []table.Key{headKey(ws), principalKey(ws, principal), accessKeyKey(ws, key)}
	if once != "" {
		wanted = append(wanted, onceKey(ws, once))
	}
	found, now, err := t.db.GetAt(ctx, wanted, t.attributes...)
	if err != nil {
		return e, false, err
	}
	var read [4]table.Attributes
	for n, key := range wanted {
		for _, i := range found {
			if i.Key == key {
				read[n] = i.Attributes
			}
		}
	}
	head := read[0]
	if head == nil {
		return e, false, access.ErrNotFound
	}
	if err := checkFormat(ws, head); err != nil {
		return e, false, err
	}
	recent, err := recentOf(head)
	if err != nil {
		return e, false, err
	}
	for _, c := range recent {
		torn = torn || c.ID == principal && !c.shows(read[1]) || c.ID == key && !c.shows(read[2])
	}
	if torn {
		return e, true, nil
	}
	if read[1] == nil || read[2] == nil {
		return e, false, access.ErrNotFound
	}
	e = control.Entry{Workspace: workspaceOf(ws, head), Head: headOf(head), Now: now}
	if read[3] != nil {
		e.Landed = landedOf(read[3], e.Head)
	}
	if err := decodeDoc(read[1], &e.Principal); err != nil {
		return control.Entry{}, false, err
	}
	return e, false, decodeDoc(read[2], &e.Key)
}

// decodeDoc reads a principal or a key.
func decodeDoc(i table.Attributes, to any) error {
	if err := json.Unmarshal([]byte(i.Text("doc")), to); err != nil {
		return fmt.Errorf("%w: the document of a principal or a key", errRow)
	}
	return nil
}
