package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"svc.example/svc/infra/samlocal/template"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/testing/standin"
)

// The queues, by their names in the template.
const (
	maintenanceQueue = "MaintenanceQueue"
	deadLetters      = "MaintenanceDeadLetters"
)

// patience is how long a test waits for what must happen: the longest is the
// maintenance of many workspaces, two at a time.
const patience = 5 * time.Minute

// drained waits until nothing is in a queue, nor being worked on.
func (l *local) drained(t *testing.T, queue string) {
	t.Helper()
	all := []types.QueueAttributeName{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		url := l.settings.Queues[queue]
		out, err := l.settings.Client().GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: all})
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for _, value := range out.Attributes {
			n, _ := strconv.Atoi(value)
			left += n
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s still holds %v", queue, out.Attributes)
		}
	}
}

func (l *local) send(t *testing.T, body string) {
	t.Helper()
	url := l.settings.Queues[maintenanceQueue]
	if _, err := l.settings.Client().SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
		t.Fatal(err)
	}
}

// deadLetter takes the next dead letter.
func (l *local) deadLetter(t *testing.T) (body, reason string) {
	t.Helper()
	url := l.settings.Queues[deadLetters]
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		out, err := l.settings.Client().ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 10, MessageAttributeNames: []string{"All"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			continue
		}
		m := out.Messages[0]
		if _, err := l.settings.Client().DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
		return *m.Body, aws.ToString(m.MessageAttributes["reason"].StringValue)
	}
	t.Fatalf("there is no dead letter; the log:\n%s", l.log)
	return "", ""
}

// ask does what the schedule does.
func (l *local) ask(t *testing.T) {
	t.Helper()
	answer, err := l.Invoke(t.Context(), "MaintenanceFunction")
	if err != nil || strings.Contains(answer, "errorMessage") {
		t.Fatalf("%v %s", err, answer)
	}
}

// maintenance asks for all workspaces, and looks at what became of it: there are enough
// packs to be merged.
func (l *local) maintenance(t *testing.T) {
	for n := range 70 {
		if r, body := l.do(t, "PATCH", "/v1/flags/new-checkout/environments/development", fmt.Sprintf(`{"enabled": %t}`, n%2 == 0), nil); r.StatusCode != 200 {
			t.Fatalf("%d %s", r.StatusCode, body)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.Schedule(ctx, "MaintenanceFunction", time.Hour, func(err error) { t.Error(err) })
	for deadline := time.Now().Add(patience); !strings.Contains(l.log.String(), `"msg":"maintained"`) && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	l.drained(t, maintenanceQueue)
	l.drained(t, deadLetters)
	if !regexp.MustCompile(`"msg":"maintained","workspace":"` + l.workspace.ID + `","merged":[1-9]`).MatchString(l.log.String()) {
		t.Error("no packs were merged")
	}
	if !strings.Contains(l.log.String(), `"msg":"maintained","workspace":"`+l.workspace.ID+`"`) {
		t.Errorf("the workspace was not maintained:\n%s", l.log)
	}
	config, err := standin.Config(ctx, l.settings.S3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s3.NewFromConfig(config, standin.PathStyle).HeadObject(ctx, &s3.HeadObjectInput{Bucket: &l.settings.Bucket, Key: aws.String("maintenance/" + l.workspace.ID + ".json")}); err != nil {
		t.Errorf("what was checked is not noted: %v", err)
	}
}

// TestWhatMaintenanceCannotDoIsADeadLetter at once, with the reason, where
// another try would end like the first.
func TestWhatMaintenanceCannotDoIsADeadLetter(t *testing.T) {
	l := start(t)
	l.send(t, `{"workspace": 7}`)
	if body, reason := l.deadLetter(t); body != `{"workspace": 7}` || !strings.Contains(reason, "not understood") {
		t.Errorf("%s: %s", body, reason)
	}
	// A commit whose row is gone is a problem that a check finds.
	problem := l.damage(t)
	l.ask(t)
	body, reason := l.deadLetter(t)
	if body != fmt.Sprintf(`{"workspace":%q}`, l.workspace.ID) || !strings.Contains(reason, problem) {
		t.Errorf("%s: %s", body, reason)
	}
	l.drained(t, maintenanceQueue)
	// Mended and sent back, it is done.
	if _, err := l.workspace.Reindex(t.Context(), "", admin.Checking{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	l.send(t, body)
	l.drained(t, maintenanceQueue)
	l.drained(t, deadLetters)
}

// TestMaintenanceThatFailsIsTriedAgainAndThenSetAside: three times, as the
// template says, by the queue itself.
func TestMaintenanceThatFailsIsTriedAgainAndThenSetAside(t *testing.T) {
	l := startWith(t, options{queue: func(q *template.Queue) {
		if q.ID == maintenanceQueue {
			q.VisibilityTimeout = 1
		}
	}}, "BUCKET=no-such-bucket")
	l.ask(t)
	if body, _ := l.deadLetter(t); body != fmt.Sprintf(`{"workspace":%q}`, l.workspace.ID) {
		t.Errorf("the dead letter is %s", body)
	}
	if n := strings.Count(l.log.String(), "is tried again later"); n != 3 {
		t.Errorf("it was tried %d times:\n%s", n, l.log)
	}
}

// TestMaintenanceWithoutTimeGoesOnInOtherRuns, and those end: the function has
// no more time than it keeps back for the end.
func TestMaintenanceWithoutTimeGoesOnInOtherRuns(t *testing.T) {
	l := startWith(t, options{template: changed(t, "      Timeout: 900\n", "      Timeout: 30\n")})
	l.ask(t)
	if body, reason := l.deadLetter(t); body != fmt.Sprintf(`{"workspace":%q}`, l.workspace.ID) || !strings.Contains(reason, "maintenance has not ended after 3 runs") {
		t.Errorf("%s: %s", body, reason)
	}
	if n := strings.Count(l.log.String(), "goes on in another run"); n != 2 {
		t.Errorf("it went on %d times:\n%s", n, l.log)
	}
	l.drained(t, maintenanceQueue)
}

// TestAFunctionIsDeniedWhatItsPolicyDoesNotAllow: the guards stand before the
// stores of the functions' own binaries.
func TestAFunctionIsDeniedWhatItsPolicyDoesNotAllow(t *testing.T) {
	l := startWith(t, options{template: changed(t, "dynamodb:LeadingKeys: [log/*, ids/*, item/*, once/*, queue/*]", "dynamodb:LeadingKeys: [ids/*, item/*, once/*, queue/*]")})
	if r, body := l.do(t, "GET", "/v1/flags", "", nil); r.StatusCode != 200 {
		t.Errorf("a read: %d %s", r.StatusCode, body)
	}
	if r, body := l.do(t, "POST", "/v1/flags", `{"key":"denied"}`, nil); r.StatusCode/100 != 5 {
		t.Errorf("a write: %d %s", r.StatusCode, body)
	}
	denied := fmt.Sprint(l.Denied.Take())
	if !strings.Contains(denied, "FlagsFunction is not authorized to perform dynamodb:PutItem") || !strings.Contains(denied, "log/"+l.workspace.ID) {
		t.Errorf("denied was %s", denied)
	}
}

// changed is the template with another text in the place of one.
func changed(t *testing.T, old, text string) string {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(whole), old) != 1 {
		t.Fatalf("%q does not stand once in the template", old)
	}
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(string(whole), old, text, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// damage removes the row of a commit, and says what a check tells of that.
func (l *local) damage(t *testing.T) string {
	t.Helper()
	client := standin.DynamoDBClient(t)
	rows, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &l.settings.Table})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows.Items {
		if pk := row["pk"].(*dynamodbtypes.AttributeValueMemberS).Value; strings.HasPrefix(pk, "log/"+l.workspace.ID) {
			key := map[string]dynamodbtypes.AttributeValue{"pk": row["pk"], "sk": row["sk"]}
			if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &l.settings.Table, Key: key}); err != nil {
				t.Fatal(err)
			}
			return "the row of commit"
		}
	}
	t.Fatal("there is no row of a commit")
	return ""
}
