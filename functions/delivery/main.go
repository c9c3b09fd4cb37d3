// Command delivery is the Lambda function that applications poll: evaluated
// flags for public SDK keys, documents for secret ones. It links nothing of
// the REST API.
package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc.example/svc/functions/internal/gateway"
	"svc.example/svc/functions/internal/repositories"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
)

func main() { start.HTTP(settings.TableAndBucket, wire) }

func wire(_ context.Context, s settings.Settings, logger *slog.Logger) (http.Handler, error) {
	rows := table.OpenWithoutSecret(s)
	plane := control.New(control.Settings{
		Authenticator: rows, Repository: repositories.Open(s, rows).Find, Now: time.Now, PublicURL: s.PublicURL, Used: table.Uses(rows, logger),
		CacheBytes: s.ViewBytes(), Unlisted: true,
	})
	handler := sdkapi.Delivery(sdkapi.Options{
		Service: plane, Logger: logger, TellBroken: true, MaxAnswer: gateway.MaxAnswer, CacheBytes: s.TableBytes(),
		Polls: s.Polls, Strangers: ratelimit.NewBuckets(s.Strangers, time.Now),
	})
	return gateway.KeepPlus("/api/v2/configs/eval-with-context/", handler), nil
}
