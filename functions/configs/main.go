// Command configs is the Lambda function that serves configs.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/shared/httpapi"
)

func main() { api.Serve(httpapi.Configs()) }
