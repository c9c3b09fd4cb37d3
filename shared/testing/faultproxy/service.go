package faultproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// request is a request with its body in memory.
type request struct {
	*http.Request
	body []byte
}

func (r *request) setBody(body []byte) {
	r.body = body
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.TransferEncoding = nil
}

// operation is DynamoDB's name for it; "" for a request to S3.
func (r *request) operation() string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return operation
}

// Operation is the name of a request's DynamoDB operation, or the method of
// one to S3: what a plan's Only looks at.
func Operation(r *http.Request) string {
	in := request{Request: r}
	if operation := in.operation(); operation != "" {
		return operation
	}
	return r.Method
}

// canHave reports whether the real service may show a fault for this request.
func (r *request) canHave(kind Kind) bool {
	operation := r.operation()
	switch kind {
	case Conflict:
		switch operation {
		case "TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem":
			return true
		case "":
			return r.Method == http.MethodPut && (r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Match") != "")
		}
		return false
	case Partial:
		return (operation == "BatchGetItem" || operation == "BatchWriteItem") && len(r.items()) > 1
	case CutOff:
		return r.Method != http.MethodHead
	}
	return true
}

// refuse answers with an error, in the service's own words.
func (r *request) refuse(w http.ResponseWriter, d decision) {
	operation := r.operation()
	if operation == "" {
		r.refuseS3(w, d.kind)
		return
	}
	switch d.kind {
	case Throttle:
		transaction := strings.HasPrefix(r.operation(), "Transact")
		switch {
		case transaction && d.pick%3 == 0:
			r.cancel(w, d, "ThrottlingError", "Throughput exceeds the current capacity of your table")
		case d.pick%3 == 1:
			dynamo(w, 400, "com.amazon.coral.availability#ThrottlingException", "Rate of requests exceeds the allowed throughput.", nil)
		default:
			dynamo(w, 400, "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded.", nil)
		}
	case Conflict:
		if operation == "TransactWriteItems" {
			r.cancel(w, d, "TransactionConflict", "Transaction is ongoing for the item")
			return
		}
		dynamo(w, 400, "com.amazonaws.dynamodb.v20120810#TransactionConflictException", "Transaction is ongoing for the item", nil)
	case Unavailable:
		dynamo(w, 503, "com.amazonaws.dynamodb.v20120810#ServiceUnavailable", "Service is unavailable (injected)", nil)
	default:
		dynamo(w, 500, "com.amazonaws.dynamodb.v20120810#InternalServerError", "Internal server error (injected)", nil)
	}
}

// cancel answers that one item of a transaction stood in its way.
func (r *request) cancel(w http.ResponseWriter, d decision, code, message string) {
	var in struct{ TransactItems []json.RawMessage }
	_ = json.Unmarshal(r.body, &in) // a request that is none has no items
	reasons := make([]map[string]string, max(len(in.TransactItems), 1))
	codes := make([]string, len(reasons))
	guilty := int(d.pick % uint64(len(reasons)))
	for i := range reasons {
		reasons[i], codes[i] = map[string]string{"Code": "None"}, "None"
		if i == guilty {
			reasons[i], codes[i] = map[string]string{"Code": code, "Message": message}, code
		}
	}
	text := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"
	dynamo(w, 400, "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", text, map[string]any{"CancellationReasons": reasons})
}

func dynamo(w http.ResponseWriter, status int, kind, message string, more map[string]any) {
	answer := map[string]any{"__type": kind, "message": message}
	for name, value := range more {
		answer[name], answer["Message"] = value, message
	}
	body, _ := json.Marshal(answer) // texts and lists of texts
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amzn-Requestid", "INJECTED")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (r *request) refuseS3(w http.ResponseWriter, kind Kind) {
	status, code, message := 500, "InternalError", "We encountered an internal error. Please try again. (injected)"
	switch kind {
	case Throttle:
		status, code, message = 503, "SlowDown", "Please reduce your request rate."
	case Unavailable:
		status, code, message = 503, "ServiceUnavailable", "Service is unable to handle request. (injected)"
	case Conflict:
		status, code, message = 409, "ConditionalRequestConflict", "The conditional request cannot succeed due to a conflicting operation against this resource."
	}
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("X-Amz-Request-Id", "INJECTED")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message><RequestId>INJECTED</RequestId></Error>`, code, message)
	}
}

// item is one key or write of a batch.
type item struct {
	table string
	index int
	value any
}

// batch is the body of a batch of either kind.
type batch struct {
	RequestItems map[string]any
}

// listOf returns the keys to get, or the writes to make, of one table.
func listOf(value any) []any {
	if get, ok := value.(map[string]any); ok {
		value = get["Keys"]
	}
	list, _ := value.([]any)
	return list
}

func (r *request) items() []item {
	var in batch
	if json.Unmarshal(r.body, &in) != nil {
		return nil
	}
	var all []item
	for table, value := range in.RequestItems {
		for i, value := range listOf(value) {
			all = append(all, item{table, i, value})
		}
	}
	return all
}

// leaveOut takes one write out of a batch that is to be done in part.
func (r *request) leaveOut(d decision) item {
	if d.kind != Partial {
		return item{}
	}
	all := r.items()
	left := all[d.pick%uint64(len(all))]
	if r.operation() != "BatchWriteItem" {
		return left // the answer to a read is changed instead
	}
	var in map[string]any
	if json.Unmarshal(r.body, &in) != nil {
		return left
	}
	tables := in["RequestItems"].(map[string]any) // items has found one in it
	list := listOf(tables[left.table])
	if list = append(list[:left.index:left.index], list[left.index+1:]...); len(list) == 0 {
		delete(tables, left.table)
	} else {
		tables[left.table] = list
	}
	if body, err := json.Marshal(in); err == nil {
		r.setBody(body)
	}
	return left
}

// undone makes an answer say that an item was left out.
func (r *recorder) undone(in *request, left item, _ decision) {
	var answer map[string]any
	if r.status != http.StatusOK || json.Unmarshal(r.body.Bytes(), &answer) != nil {
		return
	}
	if in.operation() == "BatchWriteItem" {
		answer["UnprocessedItems"] = map[string]any{left.table: []any{left.value}}
	} else {
		var asked batch
		_ = json.Unmarshal(in.body, &asked) // items has read it before
		again, _ := asked.RequestItems[left.table].(map[string]any)
		again["Keys"] = []any{left.value}
		answer["UnprocessedKeys"] = map[string]any{left.table: again}
		takeOut(answer, left)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return
	}
	r.body.Reset()
	r.body.Write(body)
	r.header.Del("X-Amz-Crc32") // of the body that was
}

// takeOut removes the item of a key from the answer to a read.
func takeOut(answer map[string]any, left item) {
	responses, _ := answer["Responses"].(map[string]any)
	key, _ := left.value.(map[string]any)
	var rest []any
	for _, found := range listOf(responses[left.table]) {
		attributes, _ := found.(map[string]any)
		matches := true
		for name, value := range key {
			matches = matches && reflect.DeepEqual(attributes[name], value)
		}
		if !matches {
			rest = append(rest, found)
		}
	}
	if rest == nil {
		rest = []any{}
	}
	if responses != nil {
		responses[left.table] = rest
	}
}
