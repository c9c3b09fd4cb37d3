// Command changerequests is the Lambda function of change requests: change sets that others
// approve.
package main

import (
	"svc.example/svc/functions/internal/requests"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
)

func main() { start.HTTP(requests.Function(table.FromEnvironment)) }
