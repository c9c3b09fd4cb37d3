package standin

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Wire is a connection to DynamoDB that counts requests, and loses requests or their
// answers as Lose says; nil for none.
type Wire struct {
	Lose func(operation string) (before, after bool)

	mu   sync.Mutex
	sent []string // operations
}

var errLost = errors.New("the connection broke")

// Client is an option for DynamoDBClient: its requests go over the wire.
func (w *Wire) Client(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: w} }

// RoundTrip implements http.RoundTripper.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	w.mu.Lock()
	w.sent = append(w.sent, operation)
	before, after := false, false
	if w.Lose != nil {
		before, after = w.Lose(operation)
	}
	w.mu.Unlock()
	if before {
		return nil, errLost
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && after {
		answer.Body.Close()
		return nil, errLost
	}
	return answer, err
}

// Requests is what some work sends, such as "1 BatchGetItem, 2 Query": what reads first.
func (w *Wire) Requests(work func()) string {
	w.mu.Lock()
	w.sent = nil
	w.mu.Unlock()
	work()
	w.mu.Lock()
	defer w.mu.Unlock()
	var said []string
	for _, operation := range []string{"GetItem", "BatchGetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"} {
		if n := len(slices.DeleteFunc(slices.Clone(w.sent), func(one string) bool { return one != operation })); n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, operation))
		}
	}
	return strings.Join(said, ", ")
}
