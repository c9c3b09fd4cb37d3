// Command console is the Lambda function that answers the console's page: signing in, the
// settings of a workspace, and the REST API for who has a session. It alone writes keys,
// principals and the audit trail.
package main

import (
	"svc.example/svc/functions/internal/console"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
)

func main() { start.HTTP(console.Function(table.FromEnvironment)) }
