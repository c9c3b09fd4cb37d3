// Command hungry is a function that takes as many megabytes of memory as its
// query says, asks the server that stands for S3, and answers what it was told.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		megabytes, _ := strconv.Atoi(e.QueryStringParameters["megabytes"])
		taken := make([]byte, megabytes<<20)
		for i := 0; i < len(taken); i += 4096 {
			taken[i] = 1
		}
		response, err := http.Get(os.Getenv("AWS_ENDPOINT_URL_S3"))
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		defer response.Body.Close()
		said, err := io.ReadAll(response.Body)
		return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: fmt.Sprintf("took %d MB of %s, S3 said %s, table %s", len(taken)>>20, os.Getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), said, os.Getenv("TABLE"))}, err
	})
}
