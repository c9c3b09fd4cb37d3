// Command workspace is the Lambda function that serves who a key is, and its workspace.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/shared/httpapi"
)

func main() { api.Serve(httpapi.Workspace()) }
