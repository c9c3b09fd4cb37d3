package requestscope

import (
	"net/http"

	"svc.example/svc/shared/contexts"
)

// Describe says what is known of a request when it arrives. What becomes known
// later (who is signed in, say) is added by contexts.Put.
type Describe func(*http.Request) *contexts.Set

// Middleware runs each request in a scope of its own. Describe may be nil.
func Middleware(describe Describe) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var known *contexts.Set
			if describe != nil {
				known = describe(r)
			}
			ctx, scope := contexts.Begin(r.Context(), known)
			defer scope.End()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}
