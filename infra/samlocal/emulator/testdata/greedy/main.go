// Command greedy is a Lambda function that takes as many megabytes of memory as
// the event says, gives them back, and answers with its process.
package main

import (
	"os"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(event struct{ Megabytes int }) (int, error) {
		taken := make([]byte, event.Megabytes<<20)
		for i := 0; i < len(taken); i += 4096 {
			taken[i] = 1
		}
		taken = nil
		debug.FreeOSMemory()
		return os.Getpid(), nil
	})
}
