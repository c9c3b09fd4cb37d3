// Command loglevels is the Lambda function that serves log levels.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/shared/httpapi"
)

func main() { api.Serve(httpapi.LogLevels()) }
