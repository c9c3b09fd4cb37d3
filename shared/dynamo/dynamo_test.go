package dynamo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/testing/must"
)

// answers are what the table says to requests, one after the other; the last
// one to all that follow.
type answers struct {
	list   []string // JSON; "" breaks the connection
	bodies []string
}

var errBroken = errors.New("the connection broke")

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := a.list[min(len(a.bodies), len(a.list)-1)]
	a.bodies = append(a.bodies, string(body))
	status := 200
	switch {
	case answer == "":
		return nil, errBroken
	case strings.Contains(answer, "InternalServerError"):
		status = 500
	case strings.Contains(answer, "__type"):
		status = 400
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer))}, nil
}

var errBusy = errors.New("busy")

func tableOf(list ...string) (*dynamo.Table, *answers) {
	a := &answers{list: list}
	config := aws.Config{Region: "us-east-1", HTTPClient: a, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
	return dynamo.New(dynamodb.NewFromConfig(config), "t", errBusy), a
}

func says(code string) string { return fmt.Sprintf(`{"__type": "com.amazonaws.dynamodb#%s"}`, code) }

func cancelled(codes ...string) string {
	var reasons []string
	for _, code := range codes {
		reasons = append(reasons, fmt.Sprintf(`{"Code": %q}`, code))
	}
	return `{"__type": "TransactionCanceledException", "CancellationReasons": [` + strings.Join(reasons, ",") + `]}`
}

const lost = ""

// TestTransact: how a transaction ended is known, or it is said that it is not.
func TestTransact(t *testing.T) {
	for name, test := range map[string]struct {
		answers  []string
		requests int
		refused  bool
		unknown  bool
		busy     bool
	}{
		"done":                      {[]string{`{}`}, 1, false, false, false},
		"busy, then done":           {[]string{says("ThrottlingException"), cancelled("None", "TransactionConflict"), `{}`}, 3, false, false, false},
		"lost, then done":           {[]string{lost, `{}`}, 2, false, false, false},
		"refused":                   {[]string{cancelled("TransactionConflict", "ConditionalCheckFailed")}, 1, true, false, false},
		"busy, then refused":        {[]string{says("ThrottlingException"), cancelled("ConditionalCheckFailed")}, 2, true, false, false},
		"lost, then refused":        {[]string{lost, cancelled("ConditionalCheckFailed")}, 2, true, true, false},
		"lost for good":             {[]string{lost}, 6, false, true, false},
		"lost, then busy for good":  {[]string{lost, says("ThrottlingException")}, 6, false, true, false},
		"busy for good":             {[]string{says("ThrottlingException")}, 6, false, false, true},
		"not allowed":               {[]string{says("AccessDeniedException")}, 1, false, false, false},
		"not valid, and so refused": {[]string{cancelled("ValidationError", "ConditionalCheckFailed")}, 1, false, false, false},
		"for no reason, then done":  {[]string{cancelled(), `{}`}, 2, false, false, false},
		"throttled items":           {[]string{cancelled("ThrottlingError"), cancelled("ProvisionedThroughputExceeded", "None"), `{}`}, 3, false, false, false},
		"a collection that is full": {[]string{cancelled("ItemCollectionSizeLimitExceeded")}, 1, false, false, false},
		"over a limit, then done":   {[]string{says("RequestLimitExceeded"), says("ProvisionedThroughputExceededException"), `{}`}, 3, false, false, false},
		"in progress for good":      {[]string{says("TransactionInProgressException")}, 6, false, true, false},
		"an error of the table's":   {[]string{says("InternalServerError")}, 6, false, true, false},
		"no table":                  {[]string{says("ResourceNotFoundException")}, 1, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, a := tableOf(test.answers...)
			err := table.Transact(t.Context(), "testing", table.Put(dynamo.Key("a", "b"), dynamo.Missing("a")))
			if errors.Is(err, dynamo.ErrRefused) != test.refused || errors.Is(err, dynamo.ErrUnknown) != test.unknown || errors.Is(err, errBusy) != test.busy {
				t.Errorf("it says %v", err)
			}
			if landed := test.answers[len(test.answers)-1] == `{}`; landed != (err == nil) {
				t.Errorf("it says %v", err)
			}
			if len(a.bodies) != test.requests {
				t.Errorf("it took %d requests, not %d", len(a.bodies), test.requests)
			}
			tokens := map[string]bool{}
			for _, body := range a.bodies {
				var in struct{ ClientRequestToken string }
				must.Do(t, json.Unmarshal([]byte(body), &in))
				tokens[in.ClientRequestToken] = true
			}
			if len(tokens) != 1 || tokens[""] {
				t.Errorf("the attempts have the tokens %v", tokens)
			}
		})
	}
}

// TestReads are repeated, and are busy when that does not help.
func TestReads(t *testing.T) {
	key := dynamo.Key("a", "b")
	for name, read := range map[string]func(*dynamo.Table) error{
		"a row": func(table *dynamo.Table) error { _, _, err := table.Get(t.Context(), "testing", key); return err },
		"rows": func(table *dynamo.Table) error {
			_, _, err := table.GetAll(t.Context(), "testing", []dynamo.Item{key})
			return err
		},
		"a partition": func(table *dynamo.Table) error {
			return table.Query(t.Context(), "testing", dynamo.Query{Partition: "a"}, nil)
		},
	} {
		for _, broken := range []string{says("ThrottlingException"), says("InternalServerError"), lost} {
			table, a := tableOf(broken, broken, `{}`)
			if err := read(table); err != nil || len(a.bodies) != 3 {
				t.Errorf("%s after two of %q: %v after %d requests", name, broken, err, len(a.bodies))
			}
		}
		if table, a := tableOf(lost); !errors.Is(read(table), errBusy) || len(a.bodies) != 6 {
			t.Errorf("%s of a table that is away: %d requests", name, len(a.bodies))
		}
		table, a := tableOf(says("AccessDeniedException"))
		if err := read(table); err == nil || errors.Is(err, errBusy) || len(a.bodies) != 1 {
			t.Errorf("%s without permission: %v after %d requests", name, err, len(a.bodies))
		}
	}
}

// TestOnce: what is not worth repeating is not repeated.
func TestOnce(t *testing.T) {
	table, a := tableOf(lost)
	_, err := table.Write(t.Context(), "testing", table.Delete(dynamo.Key("a", "b")), dynamo.Once)
	if !errors.Is(err, errBusy) || len(a.bodies) != 1 {
		t.Errorf("after %d requests %v", len(a.bodies), err)
	}
}

// TestUnprocessed: what a batch leaves out is asked for, and written, again.
func TestUnprocessed(t *testing.T) {
	const row = `{"pk": {"S": "a"}, "sk": {"S": "%s"}}`
	b, c := fmt.Sprintf(row, "b"), fmt.Sprintf(row, "c")
	keys := []dynamo.Item{dynamo.Key("a", "b"), dynamo.Key("a", "c")}
	table, a := tableOf(`{"Responses": {"t": [`+b+`]}, "UnprocessedKeys": {"t": {"Keys": [`+c+`]}}}`, `{"Responses": {"t": [`+c+`]}}`)
	found, _, err := table.GetAll(t.Context(), "testing", keys)
	if err != nil || len(found) != 2 || dynamo.TextOf(found[1], dynamo.RangeKey) != "c" || strings.Contains(a.bodies[1], `"b"`) {
		t.Errorf("%v, %v, asked %v", found, err, a.bodies)
	}
	table, a = tableOf(`{"UnprocessedItems": {"t": [{"PutRequest": {"Item": `+c+`}}]}}`, `{}`)
	if err := table.PutAll(t.Context(), keys); err != nil || len(a.bodies) != 2 || strings.Contains(a.bodies[1], `"b"`) {
		t.Errorf("%v, asked %v", err, a.bodies)
	}
	table, a = tableOf(`{"UnprocessedItems": {"t": [{"DeleteRequest": {"Key": ` + c + `}}]}}`)
	if err := table.DeleteAll(t.Context(), keys[1:]); !errors.Is(err, errBusy) {
		t.Errorf("for good: %v after %d requests", err, len(a.bodies))
	}
}
