// Command telemetry is the Lambda function that takes in what applications
// report of the contexts that they evaluate for. It reads no repository and
// links nothing of S3.
package main

import (
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/functions/internal/telemetry"
)

func main() { start.HTTP(telemetry.Function(table.FromEnvironment)) }
