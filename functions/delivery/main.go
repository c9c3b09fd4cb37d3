// Command delivery is the Lambda function that applications poll: evaluated
// flags for public SDK keys, documents for secret ones. It links nothing of
// the REST API.
package main

import (
	"svc.example/svc/functions/internal/delivery"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
)

func main() { start.HTTP(delivery.Function(table.FromEnvironment)) }
