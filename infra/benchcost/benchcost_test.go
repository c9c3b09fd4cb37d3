package main

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

func TestPrices(t *testing.T) {
	got := priceOf(usage{rounds: 3, readUnits: 3, writeUnits: 8, puts: 2, gets: 1})
	// The time: 3 + 3*12 ms of a quarter GB.
	want := price{gateway: 1.00 + 0.15, function: 0.20 + 0.039*0.25*13.3334, table: 3*0.125 + 8*0.625, bucket: 2*5 + 0.4}
	if math.Abs(1e6*got.total()-want.total()) > 0.001 {
		t.Errorf("%.4f dollars a million, want %.4f", 1e6*got.total(), want.total())
	}
}

// TestLargeAnswersCostMore: their traffic, and a request for each 512 KB.
func TestLargeAnswersCostMore(t *testing.T) {
	small, large := priceOf(usage{answered: 1000}), priceOf(usage{answered: 1_500_000})
	if diff := 1e6 * (large.gateway - small.gateway); math.Abs(diff-2.00) > 0.001 {
		t.Errorf("1.5 MB are three requests, and cost %.2f more", diff)
	}
	if got := 1e6 * large.transfer; math.Abs(got-135) > 0.001 {
		t.Errorf("a million answers of 1.5 MB are 1,500 GB, and cost %.2f", got)
	}
}

// TestDynamoDBCharges holds what the stand-in says it has charged against the
// rules that infra/README.md goes by: 4 KB for each row that is read, 1 KB for
// each that is written, twice in a transaction.
func TestDynamoDBCharges(t *testing.T) {
	ctx := context.Background()
	client, c := standin.DynamoDBClient(t), newCounter(nil)
	name := standin.Table(t, client)
	if err := dynamo.New(client, name).Create(ctx); err != nil {
		t.Fatal(err)
	}
	client = dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, c.options()...) })
	row := func(key string, size int) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "p"}, "sk": &types.AttributeValueMemberS{Value: key}, "b": &types.AttributeValueMemberB{Value: make([]byte, size)}}
	}
	put := func(key string, size int) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: &name, Item: row(key, size)}}
	}
	if _, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put("a", 100), put("b", 2000), put("c", 9000)}}); err != nil {
		t.Fatal(err)
	}
	if u := c.take(1); u.writeUnits != 2*(1+2+9) {
		t.Errorf("rows of 1, 2 and 9 KB in a transaction took %.1f write units", u.writeUnits)
	}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: row("d", 2000)}); err != nil {
		t.Fatal(err)
	}
	if u := c.take(1); u.writeUnits != 2 {
		t.Errorf("a row of 2 KB took %.1f write units", u.writeUnits)
	}
	var keys []map[string]types.AttributeValue
	for _, key := range []string{"a", "b", "c"} {
		keys = append(keys, map[string]types.AttributeValue{"pk": row(key, 0)["pk"], "sk": row(key, 0)["sk"]})
	}
	for _, only := range []*string{nil, aws.String("sk")} {
		if _, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{name: {Keys: keys, ConsistentRead: aws.Bool(true), ProjectionExpression: only}}}); err != nil {
			t.Fatal(err)
		}
		if u := c.take(1); u.readUnits != 1+1+3 {
			t.Errorf("rows of 1, 2 and 9 KB took %.1f read units, each by itself", u.readUnits)
		}
	}
}

// TestOperationsAreMeasured: that there are figures, in a sensible relation.
func TestOperationsAreMeasured(t *testing.T) {
	ctx := context.Background()
	s, err := open(ctx, 12)
	if errors.Is(err, standin.ErrMissing) {
		testenv.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, err := s.measure(ctx, 15)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]usage{}
	for _, r := range ours {
		found[r.what] = r.usage
		if r.usage.requests() == 0 || r.usage.readUnits == 0 || r.usage.received == 0 {
			t.Errorf("%s took %+v", r.what, r.usage)
		}
	}
	if w := found[aWrite]; w.puts < 2 || w.writeUnits < 2 || found[aPoll].requests() != 1 {
		t.Errorf("a write took %+v, a poll %+v", w, found[aPoll])
	}
	reported, err := s.telemetry(ctx)
	if err != nil || len(reported) != 4 || reported[1].usage.writeUnits >= reported[0].usage.writeUnits || reported[2].usage.writeUnits <= reported[0].usage.writeUnits {
		t.Errorf("telemetry took %+v, %v", reported, err)
	}
	answers, err := s.fullAnswers(ctx)
	if err != nil || len(answers) != 3 || answers[0].usage.answered < 12*50 {
		t.Errorf("full answers took %+v, %v", answers, err)
	}
}
