package service

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"svc.example/svc/infra/samlocal/template"
	"svc.example/svc/shared/backoff"
)

// Client is a client of the SQS that settings name.
func (s Settings) Client() *sqs.Client {
	return sqs.NewFromConfig(aws.Config{Region: s.Region, BaseEndpoint: &s.SQS, Credentials: credentials.NewStaticCredentialsProvider(s.AccessKey, s.Secret, "")})
}

// MakeQueues makes the queues of a template, with what it says of them. Change,
// which may be nil, has a say in that before.
func (s *Settings) MakeQueues(ctx context.Context, path string, change func(*template.Queue)) error {
	t, err := template.Read(path)
	if err != nil {
		return err
	}
	s.Queues = map[string]string{}
	client, suffix := s.Client(), strings.ToLower(rand.Text()[:8])
	for _, q := range t.Queues() {
		if change != nil {
			change(&q)
		}
		attributes := map[string]string{"VisibilityTimeout": strconv.Itoa(q.VisibilityTimeout)}
		if q.DeadLetters != "" {
			out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
				QueueUrl: aws.String(s.Queues[q.DeadLetters]), AttributeNames: []types.QueueAttributeName{"QueueArn"},
			})
			if err != nil {
				return err
			}
			policy, err := json.Marshal(map[string]any{"deadLetterTargetArn": out.Attributes["QueueArn"], "maxReceiveCount": q.MaxReceive})
			if err != nil {
				return err
			}
			attributes["RedrivePolicy"] = string(policy)
		}
		made, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(q.ID + "-" + suffix), Attributes: attributes})
		if err != nil {
			return fmt.Errorf("making the queue %s: %w", q.ID, err)
		}
		s.Queues[q.ID] = *made.QueueUrl
	}
	return nil
}

// QueueVariables are the variables that name queues, where all functions get the
// same, as SAM gives them.
func (s Settings) QueueVariables() []string {
	return []string{"QUEUE=" + s.Queues["MaintenanceQueue"], "DEAD_LETTERS=" + s.Queues["MaintenanceDeadLetters"]}
}

// queuesOf are the variables of a function that name queues.
func (s Settings) queuesOf(f template.Function) []string {
	var out []string
	for name, value := range f.Variables {
		if id, isRef := template.At(value, "Ref").(string); isRef && s.Queues[id] != "" {
			out = append(out, name+"="+s.Queues[id])
		}
	}
	return out
}

// takeMessages hands the messages of the queues to functions, as Lambda's
// mappings do: with the function's own rights. What a function does not say it
// has failed with is deleted; the rest the queue hands out again.
func (s *Service) takeMessages(t *template.Template, o Options, endpoints map[string]Settings) error {
	mappings, err := t.Mappings()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	for _, m := range mappings {
		queue := o.Settings.Queues[m.Queue]
		if queue == "" || o.Settings.SQS == "" {
			continue
		}
		w := worker{service: s, mapping: m, queue: queue, client: endpoints[m.Function].Client()}
		for range max(m.AtOnce, 1) {
			s.taking.Go(func() { w.run(ctx) })
		}
	}
	return nil
}

// worker hands one batch after the other to a function.
type worker struct {
	service *Service
	mapping template.Mapping
	queue   string
	client  *sqs.Client
}

func (w worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		out, err := w.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &w.queue, MaxNumberOfMessages: int32(min(max(w.mapping.BatchSize, 1), 10)), WaitTimeSeconds: 20,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}, MessageAttributeNames: []string{"All"},
		})
		switch {
		case err != nil && ctx.Err() == nil:
			w.service.Denied.Add(fmt.Errorf("taking messages for %s: %w", w.mapping.Function, err))
			_ = backoff.Sleep(ctx, time.Second)
		case err == nil && len(out.Messages) > 0:
			w.hand(ctx, out.Messages)
		}
	}
}

// hand invokes the function with messages, and deletes those that are done.
func (w worker) hand(ctx context.Context, messages []types.Message) {
	type record struct {
		MessageID   string            `json:"messageId"`
		Receipt     string            `json:"receiptHandle"`
		Body        string            `json:"body"`
		Attributes  map[string]string `json:"attributes"`
		EventSource string            `json:"eventSource"`
	}
	var records []record
	for _, m := range messages {
		records = append(records, record{*m.MessageId, *m.ReceiptHandle, *m.Body, m.Attributes, "aws:sqs"})
	}
	event, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		return
	}
	text, err := w.service.Pool.Invoke(ctx, w.mapping.Function, event)
	var answer struct {
		ErrorMessage      string
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	if err != nil || json.Unmarshal(text, &answer) != nil || answer.ErrorMessage != "" || !w.mapping.Partial && len(answer.BatchItemFailures) > 0 {
		return // the whole batch failed
	}
	for _, m := range messages {
		failed := slices.ContainsFunc(answer.BatchItemFailures, func(f struct{ ItemIdentifier string }) bool { return f.ItemIdentifier == *m.MessageId })
		if !failed {
			_, _ = w.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &w.queue, ReceiptHandle: m.ReceiptHandle}) // else it comes again
		}
	}
}
