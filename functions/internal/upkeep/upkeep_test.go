package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/testing/must"
)

const workspace = "0123456789abcdef"

// stores answer as they are told.
type stores struct {
	ids   []access.ID
	done  admin.MaintainedWorkspace
	more  bool
	err   error
	asked []access.ID
}

func (s *stores) WorkspaceIDs(context.Context) ([]access.ID, error) { return s.ids, s.err }

func (s *stores) MaintainWorkspace(_ context.Context, id access.ID, _ *slog.Logger) (admin.MaintainedWorkspace, bool, error) {
	s.asked = append(s.asked, id)
	return s.done, s.more, s.err
}

// queues keep what is sent, as "queue: body, reason".
type queues struct {
	sent    []string
	batches int
	refuse  func(body string) bool
	err     error
}

func (q *queues) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	q.sent = append(q.sent, *in.QueueUrl+": "+*in.MessageBody+" "+*in.MessageAttributes["reason"].StringValue)
	return &sqs.SendMessageOutput{}, q.err
}

func (q *queues) SendMessageBatch(_ context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	q.batches++
	out := &sqs.SendMessageBatchOutput{}
	for _, e := range in.Entries {
		if q.refuse != nil && q.refuse(*e.MessageBody) {
			out.Failed = append(out.Failed, types.BatchResultErrorEntry{Id: e.Id, Code: aws.String("InternalError")})
			continue
		}
		q.sent = append(q.sent, *in.QueueUrl+": "+*e.MessageBody)
	}
	return out, q.err
}

func function(s *stores, q *queues) *Function {
	return &Function{Stores: s, Messages: q, Queue: "queue", DeadLetters: "dead", Logger: slog.New(slog.DiscardHandler)}
}

func TestTheScheduleAsksForEachWorkspace(t *testing.T) {
	for _, n := range []int{0, 1, 10, 11, 35} {
		s, q := &stores{}, &queues{}
		for i := range n {
			s.ids = append(s.ids, access.ID(fmt.Sprintf("%016d", i)))
		}
		must.Get(function(s, q).Handle(t.Context(), json.RawMessage(`{"version":"0"}`)))(t)
		if want := max(n, 1); len(q.sent) != want || q.batches != (want+9)/10 {
			t.Errorf("%d workspaces: %d messages in %d batches", n, len(q.sent), q.batches)
		}
		if want := `queue: {"workspace":""}`; n == 0 && q.sent[0] != want {
			t.Errorf("without workspaces it sent %s", q.sent[0])
		}
		if len(s.asked) > 0 {
			t.Error("it did the work itself")
		}
	}
}

func TestWhatTheQueueRefusesIsAnError(t *testing.T) {
	s, q := &stores{}, &queues{refuse: func(body string) bool { return strings.Contains(body, "03") }}
	for i := range 12 {
		s.ids = append(s.ids, access.ID(fmt.Sprintf("%016d", i)))
	}
	if _, err := function(s, q).Handle(t.Context(), json.RawMessage(`{}`)); err == nil || len(q.sent) != 11 || !strings.Contains(err.Error(), "InternalError") {
		t.Errorf("%v: %v", err, q.sent)
	}
}

func TestAMessage(t *testing.T) {
	begin := `{"workspace":"` + workspace + `"}`
	wrong := errors.New("the bucket does not answer")
	for name, c := range map[string]struct {
		body   string
		stores stores
		failed bool
		sent   string // beginning of the one message
	}{
		"is done":                              {body: begin},
		"asks for nothing":                     {body: `{"workspace":""}`},
		"goes on":                              {body: begin, stores: stores{more: true}, sent: "queue: " + begin},
		"fails":                                {body: begin, stores: stores{err: wrong}, failed: true},
		"finds problems":                       {body: begin, stores: stores{done: admin.MaintainedWorkspace{Problems: []string{"a row is missing", "and another"}}}, sent: "dead: " + begin + " 2 problems, the first: a row is missing"},
		"is no JSON":                           {body: "x", sent: "dead: x the message is not understood"},
		"has more after it":                    {body: begin + begin, sent: "dead: "},
		"names no workspace":                   {body: `{"workspace":"../x"}`, sent: `dead: {"workspace":"../x"} the message is not understood`},
		"is of a later form":                   {body: `{"workspace":"` + workspace + `","only":"compact"}`, sent: "dead: "},
		"has control characters in its reason": {body: begin, stores: stores{done: admin.MaintainedWorkspace{Problems: []string{"a\x1b[31mb" + strings.Repeat("ü", 2000)}}}, sent: "dead: " + begin + " 1 problems, the first: a [31mbüü"},
	} {
		q := &queues{}
		event := must.Get(json.Marshal(map[string]any{"Records": []map[string]string{{"messageId": "m", "body": c.body, "eventSource": "aws:sqs"}}}))(t)
		got := must.Get(function(&c.stores, q).Handle(t.Context(), event))(t)
		want := `{"batchItemFailures":[]}`
		if c.failed {
			want = `{"batchItemFailures":[{"itemIdentifier":"m"}]}`
		}
		if text, err := json.Marshal(got); err != nil || string(text) != want {
			t.Errorf("a message that %s is answered with %s, want %s", name, text, want)
		}
		if sent := strings.Join(q.sent, "; "); c.sent == "" && sent != "" || !strings.HasPrefix(sent, c.sent) || len(q.sent) > 1 || len(sent) > maxReason+200 {
			t.Errorf("after a message that %s this was sent: %s", name, sent)
		}
	}
}

// TestAMessageStaysWhenItsSuccessorCannotBeSent: nothing is lost.
func TestAMessageStaysWhenItsSuccessorCannotBeSent(t *testing.T) {
	for _, s := range []*stores{{more: true}, {done: admin.MaintainedWorkspace{Problems: []string{"p"}}}} {
		q := &queues{err: errors.New("no answer")}
		got, err := function(s, q).Handle(t.Context(), json.RawMessage(`{"Records":[{"messageId":"m","body":"{\"workspace\":\"`+workspace+`\"}"}]}`))
		if err != nil || len(got.(Answer).BatchItemFailures) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
