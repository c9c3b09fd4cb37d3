package opentelemetry_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/log/global"

	"svc.example/svc/shared/client"
	"svc.example/svc/shared/opentelemetry"
)

// To the provider that the application has set up for itself.
func Example() {
	flags, err := client.Open(context.Background(), client.Options{
		Datadir:   "../../devserver/sample/directory",
		Evaluated: opentelemetry.Evaluated(global.GetLoggerProvider()),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer flags.Close()
	flags.Bool(context.Background(), "new-checkout", false) // emits feature_flag.evaluation
	// Output:
}
