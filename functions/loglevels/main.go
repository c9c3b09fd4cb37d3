// Command loglevels is the Lambda function that serves log levels.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/httpapi"
)

func main() { start.HTTP(api.Function(table.FromEnvironment, httpapi.LogLevels())) }
