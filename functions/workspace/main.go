// Command workspace is the Lambda function that serves who a key is, its workspace, and
// what a context is served there.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/httpapi"
)

func main() { start.HTTP(api.Function(table.FromEnvironment, httpapi.Workspace())) }
