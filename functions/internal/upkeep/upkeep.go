// Package upkeep is the maintenance of all workspaces, by a queue with a message
// for each.
//
// What must stay true:
//
//   - An event of the schedule only lists the workspaces and sends messages.
//   - A run that comes near its deadline and has merged or removed something is no
//     failure: it sends its message once more, and the next one finds that done.
//   - What another run cannot better is not tried again: a workspace in which
//     the check found problems, a message that nobody understands. It is put among
//     the dead letters at once, with the reason, and an alarm rings. Everything else that fails is left to the
//     queue, which hands it out again some times and then does the same.
//   - A message may come twice, and two for one workspace may be worked on at
//     once: that costs time and does no harm.
package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/bucket"
)

// Stores is what is looked after.
type Stores interface {
	WorkspaceIDs(ctx context.Context) ([]access.ID, error)
	MaintainWorkspace(ctx context.Context, id access.ID, logger *slog.Logger) (done admin.MaintainedWorkspace, more bool, err error)
}

// Messages sends messages to queues.
type Messages interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// Function is the function. Queue and DeadLetters are addresses of queues.
type Function struct {
	Stores      Stores
	Messages    Messages
	Queue       string
	DeadLetters string
	Logger      *slog.Logger
}

// EndpointVariable is the one of SQS.
const EndpointVariable = "AWS_ENDPOINT_URL_SQS"

// New is the function over AWS.
func New(connect table.AWS, s settings.Settings, logger *slog.Logger) *Function {
	return &Function{
		Stores:   admin.New(connect.Client(), bucket.Client(connect(bucket.EndpointVariable)), s.Table, s.Bucket),
		Messages: sqs.NewFromConfig(connect(EndpointVariable)), Queue: s.Queue, DeadLetters: s.DeadLetters, Logger: logger,
	}
}

// Answer tells the queue which messages failed. The others are done.
type Answer struct {
	BatchItemFailures []Failure `json:"batchItemFailures"`
}

// Failure is a message that failed.
type Failure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

type message struct {
	MessageID string `json:"messageId"`
	Body      string `json:"body"`
}

// Handle takes an event of the queue or of the schedule.
func (f *Function) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	var of struct{ Records []message }
	if err := json.Unmarshal(event, &of); err != nil {
		return nil, fmt.Errorf("the event is no JSON object: %w", err)
	}
	if len(of.Records) == 0 {
		return nil, f.ask(ctx)
	}
	answer := Answer{BatchItemFailures: []Failure{}}
	for _, m := range of.Records {
		if err := f.work(ctx, m); err != nil {
			f.Logger.ErrorContext(ctx, "maintenance failed and is tried again later", "message", m.Body, "error", err.Error())
			answer.BatchItemFailures = append(answer.BatchItemFailures, Failure{m.MessageID})
		}
	}
	return answer, nil
}

// ask sends a message for each workspace. With none it sends one that asks for
// nothing: that the queue is worked off shows that maintenance works.
func (f *Function) ask(ctx context.Context) error {
	ids, err := f.Stores.WorkspaceIDs(ctx)
	if err != nil {
		return err
	}
	all := ids
	if len(all) == 0 {
		all = []access.ID{""}
	}
	for batch := range slices.Chunk(all, maxEntries) {
		err = errors.Join(err, f.send(ctx, batch))
	}
	if err != nil {
		return err
	}
	f.Logger.InfoContext(ctx, "asked for maintenance", "workspaces", len(ids))
	return nil
}

// maxEntries is how many messages one request sends.
const maxEntries = 10

// send sends a batch. What the queue does not take of it is an error: the next run of the
// schedule sends all of it again, and twice does no harm.
func (f *Function) send(ctx context.Context, batch []access.ID) error {
	var entries []types.SendMessageBatchRequestEntry
	for i, id := range batch {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(fmt.Sprintf(`{"workspace":%q}`, id))})
	}
	out, err := f.Messages.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &f.Queue, Entries: entries})
	if err == nil && len(out.Failed) > 0 {
		err = fmt.Errorf("the queue did not take %d messages, the first because of %s", len(out.Failed), aws.ToString(out.Failed[0].Code))
	}
	if err != nil {
		return fmt.Errorf("asking for maintenance: %w", err)
	}
	return nil
}

// work does what one message asks for. An error is for another try.
func (f *Function) work(ctx context.Context, m message) error {
	id, err := decode(m.Body)
	if err != nil {
		return f.setAside(ctx, m.Body, "the message is not understood: "+err.Error())
	}
	if id == "" {
		return nil
	}
	done, more, err := f.Stores.MaintainWorkspace(ctx, id, f.Logger)
	switch {
	case err != nil:
		return err
	case len(done.Problems) > 0:
		return f.setAside(ctx, m.Body, fmt.Sprintf("%d problems, the first: %s; svcadmin fsck tells more", len(done.Problems), done.Problems[0]))
	case more:
		return f.send(ctx, []access.ID{id})
	}
	return nil
}

// decode reads a message, and nothing but one: a field that is not known is of
// another version, which meant something by it.
func decode(body string) (access.ID, error) {
	var asked struct {
		Workspace string `json:"workspace"`
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&asked); err != nil || asked.Workspace == "" {
		return "", err
	}
	if d.More() {
		return "", errors.New("something follows its end")
	}
	return access.ParseID(asked.Workspace)
}

// maxReason bounds the reason of a dead letter, in bytes.
const maxReason = 1000

// setAside puts a message among the dead letters, with the reason. To be sent
// again later, it begins again.
func (f *Function) setAside(ctx context.Context, body, reason string) error {
	reason = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
	reason = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, reason)
	f.Logger.ErrorContext(ctx, "maintenance is set aside", "message", body, "reason", reason)
	_, err := f.Messages.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &f.DeadLetters, MessageBody: &body,
		MessageAttributes: map[string]types.MessageAttributeValue{
			"reason": {DataType: aws.String("String"), StringValue: &reason},
		}})
	if err != nil {
		return fmt.Errorf("setting a message aside: %w", err)
	}
	return nil
}
