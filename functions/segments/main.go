// Command segments is the Lambda function that serves segments.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/shared/httpapi"
)

func main() { api.Serve(httpapi.Segments()) }
