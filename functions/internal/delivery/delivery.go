// Package delivery wires the function that applications poll.
package delivery

import (
	"log/slog"
	"net/http"
	"time"

	"svc.example/svc/functions/internal/gateway"
	"svc.example/svc/functions/internal/repositories"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/heap"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
)

// Function serves what applications poll.
func Function(connect table.AWS) start.Function {
	return start.Function{Required: settings.TableAndBucket, Wire: func(s settings.Settings, logger *slog.Logger) (http.Handler, error) {
		rows := connect.OpenWithoutSecret(s)
		service := control.New(control.Settings{
			Authenticator: rows.Keys(time.Now), Keys: rows, Repository: repositories.Open(connect, s, rows).Find, Now: time.Now, PublicURL: s.PublicURL, Used: table.Uses(rows, logger),
			CacheBytes: s.ViewBytes(), NoLists: true,
		})
		handler := sdkapi.Delivery(sdkapi.Options{
			Service: service, Logger: logger, TellBroken: true, MaxAnswer: gateway.MaxAnswer, CacheBytes: s.TableBytes(),
			MaxTable: s.MaxTable(), TooLarge: func(environment string, bytes int64) error {
				return fault.New(fault.Unavailable,
					"what the environment %q serves takes about %d MB of memory, and %d MB are the most with a MemorySize of %d MB; make long lists of arms, rules or words shorter, or the service's operator has to deploy it with a MemorySize of %d MB or more",
					environment, (bytes+1<<20-1)>>20, heap.Table(s.Memory)>>20, s.Memory>>20, heap.MemorySizeForTable(bytes))
			},
			StreamURL: s.StreamURL, Polls: s.Polls, Anonymous: ratelimit.NewBuckets(s.Anonymous, time.Now),
		})
		return gateway.KeepPlus(endpoints.Evaluate.Path, handler), nil
	}}
}
