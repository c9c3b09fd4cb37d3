// Command flags is the Lambda function that serves feature flags.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/shared/httpapi"
)

func main() { api.Serve(httpapi.Flags()) }
