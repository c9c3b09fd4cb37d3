package openfeature_test

import (
	"context"
	"fmt"

	of "github.com/open-feature/go-sdk/openfeature"

	"svc.example/svc/shared/client"
	svcfeature "svc.example/svc/shared/openfeature"
)

func Example() {
	flags, err := client.Open(context.Background(), client.Options{Datadir: "../../devserver/sample/directory"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := of.SetNamedProviderAndWait("example", svcfeature.New(flags)); err != nil {
		fmt.Println(err)
		return
	}
	defer of.SetNamedProviderAndWait("example", of.NoopProvider{})

	user := of.NewEvaluationContext("u-1", map[string]any{"user.plan": "pro"})
	on, err := of.NewClient("example").BooleanValue(context.Background(), "new-checkout", false, user)
	fmt.Println(on, err)
	// Output: true <nil>
}
