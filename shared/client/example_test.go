package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"svc.example/svc/shared/client"
	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/contexts/requestscope"
)

const sample = "../../devserver/sample/directory"

func Example() {
	flags, err := client.Open(context.Background(), client.Options{Datadir: sample})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer flags.Close()

	ctx := contexts.With(context.Background(), contexts.Named("user", map[string]any{"key": "u-1", "plan": "pro"}))
	fmt.Println(flags.Bool(ctx, "new-checkout", false))
	fmt.Println(flags.Duration(ctx, "api.timeout", time.Second) > 0)
	fmt.Println(flags.String(ctx, "not.there", "the default"))
	// Output:
	// true
	// true
	// the default
}

// A request's contexts are set when it arrives, added to as more becomes
// known, and gone when it has been answered.
func Example_web() {
	flags, err := client.Open(context.Background(), client.Options{Datadir: sample})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer flags.Close()

	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		contexts.Put(r.Context(), "user", map[string]any{"key": "u-1", "plan": "pro"}) // signed in
		fmt.Fprint(w, flags.Bool(r.Context(), "new-checkout", false))
	})
	scoped := requestscope.Middleware(func(r *http.Request) *contexts.Set {
		return contexts.Named("request", map[string]any{"path": r.URL.Path})
	})
	w := httptest.NewRecorder()
	scoped(app).ServeHTTP(w, httptest.NewRequest("GET", "/cart", nil))
	fmt.Println(w.Body)
	// Output: true
}

func ExampleClient_Handler() {
	flags, err := client.Open(context.Background(), client.Options{Datadir: sample})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer flags.Close()

	everything := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: client.LevelTrace, ReplaceAttr: withoutTime})
	slog.New(flags.Handler(everything, "com.acme.checkout")).Debug("of the checkout")
	slog.New(flags.Handler(everything, "com.acme.search")).Debug("of the search")
	// Output: level=DEBUG msg="of the checkout"
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func ExampleEncrypt() {
	key := client.NewKey() // for an environment variable, never for the datadir
	// for the config payments.token, and no other
	stored, err := client.Encrypt(key, "payments.token", "a secret")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := client.Decrypt(key, "payments.token", stored)
	fmt.Println(text, err)
	// Output: a secret <nil>
}
