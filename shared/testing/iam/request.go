package iam

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Requests are what IAM is asked about an HTTP request of an AWS client.
func Requests(r *http.Request, body []byte) ([]Request, error) {
	service, operation, found := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch {
	case strings.HasPrefix(service, "DynamoDB_"):
		return tableRequests(operation, body)
	case service == "AmazonSQS":
		return queueRequests(operation, body)
	case found:
		return nil, fmt.Errorf("requests to %s are not understood", service)
	}
	return bucketRequests(r)
}

// The part of DynamoDB's requests that IAM looks at.
type tableInput struct {
	tableItem
	RequestItems  json.RawMessage
	TransactItems []map[string]tableItem
}

type tableItem struct {
	TableName                                                                           string
	Key, Item                                                                           map[string]json.RawMessage
	ProjectionExpression, UpdateExpression, ConditionExpression, KeyConditionExpression string
	FilterExpression                                                                    string
	ReturnValues, ReturnValuesOnConditionCheckFailure                                   string
	ExpressionAttributeNames                                                            map[string]string
	ExpressionAttributeValues                                                           map[string]json.RawMessage
}

func tableRequests(operation string, body []byte) ([]Request, error) {
	var in tableInput
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("DynamoDB %s: %w", operation, err)
	}
	switch operation {
	case "TransactWriteItems":
		var all []Request
		actions := map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
		for _, one := range in.TransactItems {
			for kind, i := range one {
				r := i.request(actions[kind])
				r.Keys["dynamodb:EnclosingOperation"] = []string{operation}
				all = append(all, r)
			}
		}
		return all, nil
	case "BatchGetItem":
		return batchGet(in.RequestItems)
	case "BatchWriteItem":
		return batchWrite(in.RequestItems)
	}
	r := in.request(operation)
	if operation == "Query" || operation == "Scan" || operation == "GetItem" {
		in.reads(&r)
	}
	return []Request{r}, nil
}

// request is a request about one item, or one partition.
func (i tableItem) request(operation string) Request {
	r := Request{Action: "dynamodb:" + operation, Resource: tableARN(i.TableName), Keys: map[string][]string{}}
	for _, of := range []map[string]json.RawMessage{i.Key, i.Item} {
		if key := textIn(of[hashKey]); key != "" {
			r.Keys["dynamodb:LeadingKeys"] = []string{key}
		}
		for name := range of {
			r.add("dynamodb:Attributes", name)
		}
	}
	if i.KeyConditionExpression != "" {
		if value := i.partition(); value != "" {
			r.Keys["dynamodb:LeadingKeys"] = []string{value}
		}
	}
	for _, expression := range []string{i.UpdateExpression, i.ConditionExpression} {
		r.add("dynamodb:Attributes", i.names(expression)...)
	}
	// What a failed condition returns is no parameter of its own to IAM; taken for
	// the other one, it is denied wherever AWS may deny it.
	for _, returned := range []string{i.ReturnValues, i.ReturnValuesOnConditionCheckFailure} {
		if returned != "" {
			r.add("dynamodb:ReturnValues", returned)
		}
	}
	return r
}

// reads notes what a read asks for. Of one without a projection AWS does not
// say that it has the key Attributes: it has none.
func (i tableItem) reads(r *Request) {
	delete(r.Keys, "dynamodb:Attributes")
	r.Keys["dynamodb:Select"] = []string{"ALL_ATTRIBUTES"}
	if i.ProjectionExpression != "" {
		r.Keys["dynamodb:Select"] = []string{"SPECIFIC_ATTRIBUTES"}
		r.add("dynamodb:Attributes", i.names(i.ProjectionExpression)...)
		r.add("dynamodb:Attributes", i.names(i.FilterExpression)...)
	}
}

const hashKey = "pk"

func (r *Request) add(key string, values ...string) {
	for _, v := range values {
		if !slices.Contains(r.Keys[key], v) {
			r.Keys[key] = append(r.Keys[key], v)
		}
	}
}

var keyCondition = regexp.MustCompile(`^\s*([#\w]+)\s*=\s*(:\w+)`)

// partition is the hash key that a query asks for.
func (i tableItem) partition() string {
	m := keyCondition.FindStringSubmatch(i.KeyConditionExpression)
	if m == nil || m[1] != hashKey && i.ExpressionAttributeNames[m[1]] != hashKey {
		return ""
	}
	return textIn(i.ExpressionAttributeValues[m[2]])
}

var (
	word = regexp.MustCompile(`[#:]?\w+(?:\s*\()?`)
	// reserved are the words of expressions that name no attribute.
	reserved = []string{"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}
)

// names are the attributes that an expression names.
func (i tableItem) names(expression string) []string {
	var out []string
	for _, w := range word.FindAllString(expression, -1) {
		switch {
		case strings.HasPrefix(w, ":") || strings.HasSuffix(w, "(") || slices.Contains(reserved, w):
		case strings.HasPrefix(w, "#"):
			out = append(out, i.ExpressionAttributeNames[w])
		default:
			out = append(out, w)
		}
	}
	return out
}

// textIn is the text of {"S": "..."}.
func textIn(value json.RawMessage) string {
	var text struct{ S string }
	_ = json.Unmarshal(value, &text) // another kind is no text
	return text.S
}

func batchGet(items json.RawMessage) ([]Request, error) {
	var byTable map[string]struct {
		tableItem
		Keys []map[string]json.RawMessage
	}
	if err := json.Unmarshal(items, &byTable); err != nil {
		return nil, fmt.Errorf("DynamoDB BatchGetItem: %w", err)
	}
	var all []Request
	for table, asked := range byTable {
		asked.TableName = table
		r := asked.request("BatchGetItem")
		for _, key := range asked.Keys {
			r.add("dynamodb:LeadingKeys", textIn(key[hashKey]))
		}
		asked.reads(&r)
		all = append(all, r)
	}
	return all, nil
}

func batchWrite(items json.RawMessage) ([]Request, error) {
	var byTable map[string][]struct{ PutRequest, DeleteRequest tableItem }
	if err := json.Unmarshal(items, &byTable); err != nil {
		return nil, fmt.Errorf("DynamoDB BatchWriteItem: %w", err)
	}
	var all []Request
	for table, writes := range byTable {
		r := tableItem{TableName: table}.request("BatchWriteItem")
		for _, w := range writes {
			for _, of := range []map[string]json.RawMessage{w.PutRequest.Item, w.DeleteRequest.Key} {
				for name := range of {
					r.add("dynamodb:Attributes", name)
				}
				if key := textIn(of[hashKey]); key != "" {
					r.add("dynamodb:LeadingKeys", key)
				}
			}
		}
		all = append(all, r)
	}
	return all, nil
}

func queueRequests(operation string, body []byte) ([]Request, error) {
	var in struct{ QueueUrl, QueueName string }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("SQS %s: %w", operation, err)
	}
	name := in.QueueName
	if in.QueueUrl != "" {
		name = path.Base(in.QueueUrl)
	}
	// A batch is allowed with the action of one.
	return []Request{{Action: "sqs:" + strings.TrimSuffix(operation, "Batch"), Resource: queueARN(name)}}, nil
}

// bucketRequests are those to S3, with the bucket's name in the path.
func bucketRequests(r *http.Request) ([]Request, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	one := func(action, key string) []Request {
		resource := bucketARN(bucket)
		if key != "" {
			resource += "/" + key
		}
		return []Request{{Action: action, Resource: resource, Keys: map[string][]string{
			"s3:prefix": query["prefix"], "s3:if-none-match": r.Header["If-None-Match"], "s3:if-match": r.Header["If-Match"],
		}}}
	}
	switch {
	case key == "" && r.Method == http.MethodGet && query.Has("list-type"):
		return one("s3:ListBucket", ""), nil
	case key == "":
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return one("s3:GetObject", key), nil
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") == "":
		return one("s3:PutObject", key), nil
	case r.Method == http.MethodDelete && len(query) <= 1: // with the operation's name
		return one("s3:DeleteObject", key), nil
	}
	return nil, fmt.Errorf("the request %s %s to S3 is not understood", r.Method, r.URL)
}
