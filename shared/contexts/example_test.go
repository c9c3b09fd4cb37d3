package contexts_test

import (
	"context"
	"fmt"

	"svc.example/svc/shared/contexts"
)

func show(s *contexts.Set) {
	for c := range s.All() {
		for name, value := range c.All() {
			fmt.Printf("%s.%s=%s\n", c.Name(), name, value.Text())
		}
	}
	fmt.Println("--")
}

func Example() {
	var global contexts.Global
	global.Put("device", map[string]any{"os": "linux"})

	ctx, scope := contexts.Begin(context.Background(), contexts.Named("user", map[string]any{"key": "u-1", "plan": "pro"}))
	show(contexts.Merged(ctx, global.Current()))

	// The whole user is replaced; the plan is gone.
	contexts.Put(ctx, "user", map[string]any{"key": "u-2"})
	show(contexts.Merged(ctx, global.Current()))

	scope.End()
	show(contexts.Merged(ctx, global.Current()))
	// Output:
	// device.os=linux
	// user.key=u-1
	// user.plan=pro
	// --
	// device.os=linux
	// user.key=u-2
	// --
	// device.os=linux
	// --
}

func ExampleWith() {
	outer := contexts.With(context.Background(), contexts.Named("user", map[string]any{"key": "u-1"}))
	inner := contexts.With(outer, contexts.Named("team", map[string]any{"key": "t-1"}))
	show(contexts.Merged(inner, nil))
	show(contexts.Merged(outer, nil))
	// Output:
	// team.key=t-1
	// user.key=u-1
	// --
	// user.key=u-1
	// --
}
