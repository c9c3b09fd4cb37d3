// Command activity is the Lambda function that serves the change feed.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/shared/httpapi"
)

func main() { api.Serve(httpapi.Activity()) }
