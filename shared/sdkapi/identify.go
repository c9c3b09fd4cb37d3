package sdkapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"

	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/requestid"
)

type requestKey struct{}

// request is what is known of a request beside what it says: what the log calls
// it, and where it comes from.
type request struct {
	id, named string
	address   netip.Addr
}

// identified gives every answer a name, under which the log tells of causes,
// and notes where the request comes from.
func identified(proxies ratelimit.Proxies, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := request{requestid.New(), requestid.Named(r.Header.Get(requestid.Header)), proxies.Address(r)}
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

func addressOf(ctx context.Context) netip.Addr {
	q, _ := ctx.Value(requestKey{}).(request)
	return q.address
}
