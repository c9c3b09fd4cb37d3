// Command configs is the Lambda function that serves configs.
package main

import (
	"svc.example/svc/functions/internal/contexts"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/httpapi"
)

func main() { start.HTTP(contexts.Function(table.FromEnvironment, httpapi.Configs())) }
