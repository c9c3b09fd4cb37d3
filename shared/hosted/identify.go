package hosted

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"svc.example/svc/shared/requestid"
)

type requestKey struct{}

// request is what the log calls a request.
type request struct{ id, named string }

// identified gives every answer a name, under which the log tells of causes.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := request{requestid.New(), requestid.Named(r.Header.Get(requestid.Header))}
		w.Header().Set(requestid.Header, cmp.Or(q.named, q.id))
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, q)))
	})
}

// requestAttrs name the request in the log.
func requestAttrs(ctx context.Context) []any {
	q, _ := ctx.Value(requestKey{}).(request)
	attrs := []any{slog.String("requestId", q.id)}
	if q.named != "" {
		attrs = append(attrs, slog.String("clientRequestId", q.named))
	}
	return attrs
}
