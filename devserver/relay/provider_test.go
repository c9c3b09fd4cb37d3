package relay

import (
	"log/slog"
	"testing"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/client"
	"svc.example/svc/shared/openfeature"
)

// TestTheGoProviderFollowsARelay over its event stream, and over polls where there is
// none; it says which.
func TestTheGoProviderFollowsARelay(t *testing.T) {
	t.Parallel()
	for name, streams := range map[string]int{"an event stream": 100, "polls": -1} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop)
			secret := w.key(access.KindSecretSDK, "production")
			r := w.relay(Options{Keys: []string{secret}, Streams: streams})
			w.must(r.Await(t.Context()))
			every := time.Hour // so that nothing but the stream can bring a change
			if streams < 0 {
				every = time.Second // the least
			}
			c, err := client.Open(t.Context(), client.Options{URL: r.Server.URL, Key: secret, PollEvery: every, Log: slog.New(slog.NewTextHandler(&w.log, nil))})
			w.must(err)
			provider := openfeature.New(c)
			w.must(of.SetNamedProviderAndWait(t.Name(), provider))
			defer func() { w.must(of.SetNamedProviderAndWait(t.Name(), of.NoopProvider{})) }()
			flags := of.NewClient(t.Name())
			changed := make(chan []string, 10)
			heard := func(d of.EventDetails) { changed <- d.FlagChanges }
			flags.AddHandler(of.ProviderConfigChange, &heard)
			defer flags.RemoveHandler(of.ProviderConfigChange, &heard)

			w.eventually("it says how changes come", func() bool { return provider.Streaming() == (streams > 0) })
			w.patch("flags/timed/environments/production", `{"value":7}`)
			if keys := <-changed; len(keys) != 1 || keys[0] != "timed" {
				t.Errorf("changed is %v", keys)
			}
			if got, err := flags.IntValue(t.Context(), "timed", 0, of.NewEvaluationContext("u", nil)); got != 7 || err != nil {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
}
