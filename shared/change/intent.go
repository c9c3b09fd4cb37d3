package change

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
)

// intent is a request to write as another process can decide it again: see
// repository.Draft.
type intent struct {
	Principal access.Principal
	Now       time.Time // by the ledger
	When      time.Time // the date of the commit
	Message   string
	Guard     string
	InSet     bool // see write
	Writes    []sent
}

// sent is a write as it was asked for. One of the bodies is there.
type sent struct {
	Type        document.Type
	Key         string
	Environment string         `json:",omitempty"`
	Patch       *ValuePatch    `json:",omitempty"`
	Level       *LogLevelPatch `json:",omitempty"`
	Pausing     *Pausing       `json:",omitempty"`
	Put         *DocumentPut   `json:",omitempty"`
	AnyVersion  bool           `json:",omitempty"` // see DocumentPut
	Creation    *Creation      `json:",omitempty"`
	Deletion    *Deletion      `json:",omitempty"`
}

// write is the write again.
func (o sent) write(s *Service) (w write, known bool) {
	switch {
	case o.Patch != nil:
		return o.Patch.write(s, o.Type, o.Key, o.Environment), true
	case o.Level != nil:
		return o.Level.write(s, o.Key), true
	case o.Pausing != nil:
		return o.Pausing.write(o.Type, o.Key, o.Environment), true
	case o.Put != nil:
		o.Put.anyVersion = o.AnyVersion
		return o.Put.write(s, o.Type, o.Key), true
	case o.Creation != nil:
		return o.Creation.write(s), true
	case o.Deletion != nil:
		return deletion(o.Type, o.Key, *o.Deletion), true
	}
	return write{}, false
}

// sendable is what another process is sent of a write; nil where a value is null, which
// would not be told from one that is missing.
func sendable(o sent, values ...*jsontree.Node) *sent {
	if slices.ContainsFunc(values, func(n *jsontree.Node) bool { return n != nil && n.Kind == jsontree.Null }) {
		return nil
	}
	return &o
}

// intentOf is that of a request; nil where others cannot decide it.
func intentOf(state *State, r Request, message string, writes []write, when time.Time) []byte {
	in := intent{Principal: state.Principal, Now: state.Now, When: when, Message: message, Guard: r.Guard, InSet: writes[0].inSet}
	for _, w := range writes {
		if w.sent == nil {
			return nil
		}
		in.Writes = append(in.Writes, *w.sent)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // documents keep their spelling
	if encoder.Encode(in) != nil {
		return nil
	}
	return text.Bytes()
}

// decider decides the intents of others, whose access is as it was at the state.
func (s *Service) decider(state *State) func(context.Context, *repository.Snapshot, []byte) (repository.Draft, bool) {
	return func(ctx context.Context, tip *repository.Snapshot, text []byte) (none repository.Draft, decided bool) {
		var in intent
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&in) != nil {
			return none, false
		}
		writes := make([]write, len(in.Writes))
		for i, o := range in.Writes {
			if writes[i], decided = o.write(s); !decided {
				return none, false
			}
			writes[i].inSet = in.InSet
		}
		as := State{Workspace: state.Workspace, Principal: in.Principal, Head: tip.Head, Repository: unlanded{state.Repository}, Now: in.Now}
		p, err := s.planOn(ctx, &as, tip, writes)
		if err != nil || !p.commits() || len(p.reviewed)+len(p.exempt) > 0 {
			return none, false
		}
		return p.draft(&as, Request{Guard: in.Guard}, in.Message, in.When), true
	}
}

// planOn decides writes on a snapshot.
func (s *Service) planOn(ctx context.Context, state *State, on *repository.Snapshot, writes []write) (*plan, error) {
	head, err := s.served.Open(ctx, state.Workspace.ID, state.Repository, on)
	if err != nil {
		return nil, err
	}
	return s.plan(ctx, state, head, false, writes)
}

// unlanded is a repository at a snapshot that has not landed: there is no history of it.
type unlanded struct{ Repository }

func (unlanded) History(context.Context, repository.Head, repository.Page) ([]repository.Commit, error) {
	return nil, repository.ErrMoved
}

func (unlanded) At(context.Context, repository.Head, string, string) (string, []byte, error) {
	return "", nil, repository.ErrMoved
}
