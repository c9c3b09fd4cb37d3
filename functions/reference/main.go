// Command reference is the Lambda function that serves the API's description,
// and the gateway's default route: every path that no other function has is
// answered here, with our own 404. It needs no store and links none.
package main

import (
	"svc.example/svc/functions/internal/reference"
	"svc.example/svc/functions/internal/start"
)

func main() { start.HTTP(reference.Function()) }
