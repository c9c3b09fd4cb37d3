package requestscope_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/contexts/requestscope"
)

func user(ctx context.Context) string {
	v, _ := contexts.Merged(ctx, nil).Lookup("user", "key")
	return v.Text()
}

func describe(r *http.Request) *contexts.Set {
	return contexts.Named("request", map[string]any{"path": r.URL.Path})
}

// signIn adds what only becomes known inside.
func signIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		contexts.Put(r.Context(), "user", map[string]any{"key": r.Header.Get("X-User")})
		next.ServeHTTP(w, r)
	})
}

func TestMergingRule6TheLifetimeIsTheRequest(t *testing.T) {
	var after context.Context
	h := requestscope.Middleware(describe)(signIn(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after = r.Context()
		path, _ := contexts.Merged(r.Context(), nil).Lookup("request", "path")
		fmt.Fprint(w, user(r.Context()), " ", path.Text())
	})))
	r := httptest.NewRequest("GET", "/cart", nil)
	r.Header.Set("X-User", "u-1")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Body.String() != "u-1 /cart" {
		t.Errorf("during the request: %s", w.Body)
	}
	if n := contexts.Merged(after, nil).Len(); n != 0 {
		t.Errorf("after the request %d named contexts are left", n)
	}
	if contexts.Put(after, "user", nil) {
		t.Error("an ended request takes a context")
	}
}

func TestAPanicEndsTheScopeToo(t *testing.T) {
	var after context.Context
	h := requestscope.Middleware(nil)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		after = r.Context()
		contexts.Put(after, "user", map[string]any{"key": "u-1"})
		panic("broken")
	}))
	func() {
		defer func() { recover() }()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}()
	if user(after) != "" {
		t.Error("the scope outlives a panic")
	}
}

// TestEachRequestSeesItsOwnScope, also one that is answered within another.
func TestEachRequestSeesItsOwnScope(t *testing.T) {
	var h http.Handler
	ask := func(name string) string {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-User", name)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	h = requestscope.Middleware(describe)(signIn(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner := ""
		if r.Header.Get("X-User") == "outer" {
			inner = ask("inner")
		}
		fmt.Fprint(w, user(r.Context()), inner)
	})))
	if got := ask("outer"); got != "outerinner" {
		t.Error(got)
	}
}

func ExampleMiddleware() {
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, contexts.Merged(r.Context(), nil).Len(), "named context")
	})
	h := requestscope.Middleware(func(r *http.Request) *contexts.Set {
		return contexts.Named("request", map[string]any{"path": r.URL.Path})
	})(app)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/cart", nil))
	fmt.Print(w.Body)
	// Output: 1 named context
}
