// Package webhooks tells the webhooks of all workspaces what has changed, by a queue with a
// message for each change of a head, and for each event of a change request.
//
// What must stay true:
//
//   - A message only says where to look. It may come twice, late, or two at once: what a
//     webhook was told of is in the table, and one invocation at a time tells it.
//   - What is to be tried again has a message that comes then, of which there is one at a time.
//   - What fails is left to the queue, which hands it out again some times and then puts it
//     among the dead letters, where an alarm rings. The next change takes up what was left.
package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"path"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"svc.example/svc/functions/internal/repositories"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/webhook"
)

// Messages sends messages to a queue.
type Messages interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Function is the function. Queue is the address of its queue.
type Function struct {
	Sender   *webhook.Sender
	Messages Messages
	Queue    string
	Logger   *slog.Logger
}

// EndpointVariable is the one of SQS.
const EndpointVariable = "AWS_ENDPOINT_URL_SQS"

// New is the function over AWS.
func New(connect table.AWS, s settings.Settings, logger *slog.Logger) *Function {
	rows, plain := connect.OpenWithoutSecret(s), dynamo.New(connect.Client(), s.Table)
	all, feed := repositories.Open(connect, s, rows), webhook.Feed()
	sources := func(ctx context.Context, workspace string) (map[string]webhook.Source, error) {
		head, err := rows.Ledger(access.ID(workspace)).Head(ctx)
		if err != nil {
			return nil, err
		}
		repo, err := all.Find(ctx, workspace)
		return map[string]webhook.Source{
			webhook.SourceHistory:  &webhook.History{Workspace: workspace, Head: head, Commits: repo, Feed: feed},
			webhook.SourceAudit:    webhook.Audit{Registry: rows.Registry(access.ID(workspace)), Access: head.Access},
			webhook.SourceRequests: webhook.Requests{Store: request.Store{Table: plain}, Workspace: workspace},
		}, err
	}
	return &Function{
		Sender: &webhook.Sender{Table: plain, Client: webhook.Client(s.Allowed(), nil), PublicURL: s.PublicURL, Now: time.Now, Logger: logger,
			Sources: sources, Turn: rand.Text()},
		Messages: sqs.NewFromConfig(connect(EndpointVariable)), Queue: s.WebhookQueue, Logger: logger,
	}
}

// Handle takes an event of the queue.
func (f *Function) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	var of struct {
		Records []struct{ MessageID, Body string }
	}
	if err := json.Unmarshal(event, &of); err != nil {
		return nil, fmt.Errorf("the event is no JSON object: %w", err)
	}
	failed := []map[string]string{}
	for _, m := range of.Records {
		if err := f.work(ctx, m.Body); err != nil {
			f.Logger.ErrorContext(ctx, "webhooks were not told and are tried again later", "message", m.Body, "error", err.Error())
			failed = append(failed, map[string]string{"itemIdentifier": m.MessageID})
		}
	}
	return map[string]any{"batchItemFailures": failed}, nil
}

// maxDelay is how late a message can be sent: a wait that is longer takes several.
const maxDelay = 15 * time.Minute

// work tells the webhooks of a workspace, which a message names by a partition of its rows.
func (f *Function) work(ctx context.Context, body string) error {
	var asked struct{ Workspace string }
	if err := json.Unmarshal([]byte(body), &asked); err != nil {
		return err
	}
	id, err := access.ParseID(path.Base(asked.Workspace))
	if err != nil {
		return err
	}
	return f.Sender.All(ctx, string(id), func(due time.Time) (comes time.Time, err error) {
		delay := min(max(due.Sub(f.Sender.Now()), 0), maxDelay).Round(time.Second)
		_, err = f.Messages.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &f.Queue, DelaySeconds: int32(delay / time.Second),
			MessageBody: aws.String(fmt.Sprintf(`{"workspace":%q}`, id))})
		return f.Sender.Now().Add(delay), err
	})
}
