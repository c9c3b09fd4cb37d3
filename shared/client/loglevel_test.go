package client

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"svc.example/svc/shared/contexts"
)

func loggerRule(prefix, level string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"PROP_STARTS_WITH_ONE_OF","propertyName":"svc-sdk-logging.key","valueToMatch":{"type":"string_list","value":[%q]}}],"value":{"type":"log_level","value":%q}}`, prefix, level)
}

func shopLevels(service, fallback string) string {
	return documentOf("log_level", "log-level."+service, "log_level",
		loggerRule("com.acme.cart", "TRACE"), when("user.key", "watched", plainValue("log_level", `"DEBUG"`)),
		loggerRule("com.acme", "ERROR"), always(plainValue("log_level", `"`+fallback+`"`)))
}

func TestLogLevels(t *testing.T) {
	c := serving(t, shopLevels("shop", "FATAL"))
	watched := contexts.With(t.Context(), contexts.Named("user", props{"key": "watched"}))
	for _, tt := range []struct {
		ctx    context.Context
		logger string
		want   slog.Level
	}{
		{t.Context(), "com.acme.cart", LevelTrace}, {t.Context(), "com.acme.cartoon", LevelTrace}, {t.Context(), "com.acme.pay", slog.LevelError},
		{t.Context(), "org", LevelFatal}, {t.Context(), "", LevelFatal}, {watched, "com.acme.pay", slog.LevelDebug}, {watched, "com.acme.cart.x", LevelTrace},
		{contexts.With(t.Context(), contexts.Named("svc-sdk-logging", props{"key": "com.acme.cart"})), "org", LevelFatal},
	} {
		if got := c.LogLevel(tt.ctx, tt.logger, 99); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.logger, got, tt.want)
		}
	}
}

func TestWhichLogLevelDocument(t *testing.T) {
	dir := datadirOf(t, shopLevels("shop", "WARN"), shopLevels("desk", "INFO"))
	for service, want := range map[string]slog.Level{"shop": slog.LevelWarn, "desk": slog.LevelInfo, "log-level.desk": slog.LevelInfo, "": 99, "nowhere": 99} {
		if got := open(t, Options{Datadir: dir, Service: service}).LogLevel(t.Context(), "org", 99); got != want {
			t.Errorf("service %q: %v, want %v", service, got, want)
		}
	}
	odd := documentOf("log_level", "log-level.odd", "log_level", always(plainValue("log_level", `"LOUD"`)))
	if got := serving(t, odd).LogLevel(t.Context(), "x", 99); got != 99 {
		t.Errorf("an unknown level: %v", got)
	}
}

func TestWithoutAnApplicableLogLevelDocumentThereIsOneWarning(t *testing.T) {
	ask := func(c *Client) {
		for range 3 {
			c.LogLevel(t.Context(), "org", 99)
			c.Handler(slog.DiscardHandler, "org").Enabled(t.Context(), slog.LevelInfo)
		}
	}
	both := []string{shopLevels("shop", "WARN"), shopLevels("desk", "INFO")}
	for _, tt := range []struct {
		service string
		docs    []string
		want    string // "" for silence
	}{
		{"", both, "there are: log-level.desk, log-level.shop"},
		{"nowhere", both, "there are: log-level.desk, log-level.shop"},
		{"nowhere", both[:1], `Options.Service \"nowhere\" names no log-level document; there are: log-level.shop`},
		{"nowhere", []string{switched("true")}, "there are: none"},
		{"shop", both, ""}, {"log-level.desk", both, ""}, {"", both[:1], ""}, {"", []string{switched("true")}, ""},
	} {
		var j journal
		c := open(t, Options{Datadir: datadirOf(t, tt.docs...), Service: tt.service, Log: j.log()})
		c.Bool(t.Context(), "f", false)
		ask(c)
		want := 0
		if tt.want != "" {
			want = 1
			eventually(t, "a warning", func() bool { return j.count("no log level applies") > 0 })
		}
		if j.count("no log level applies") != want || !strings.Contains(j.String(), tt.want) {
			t.Errorf("service %q, %d documents:\n%s", tt.service, len(tt.docs), j.String())
		}
	}
}

func TestHandler(t *testing.T) {
	dir := datadirOf(t, shopLevels("shop", "WARN"))
	c := open(t, Options{Datadir: dir})
	var j journal
	wide := slog.NewTextHandler(&j, &slog.HandlerOptions{Level: LevelTrace})
	log := slog.New(c.Handler(wide, "com.acme.pay")).With("a", 1).WithGroup("g")
	watched := contexts.With(t.Context(), contexts.Named("user", props{"key": "watched"}))
	log.Warn("hidden 1")
	log.Error("shown 1", "b", 2)
	log.DebugContext(watched, "shown 2")
	log.DebugContext(t.Context(), "hidden 2")
	slog.New(c.Handler(wide, "com.acme.cart")).Log(t.Context(), LevelTrace, "shown 3")
	slog.New(c.Handler(slog.NewTextHandler(&j, nil), "com.acme.cart")).Debug("hidden by the next handler")
	withoutALevel := slog.New(serving(t, switched("true")).Handler(slog.NewTextHandler(&j, nil), "x"))
	withoutALevel.Debug("hidden by the next handler")
	withoutALevel.Info("shown by the next handler")

	write(t, dir, strings.ReplaceAll(shopLevels("shop", "WARN"), "ERROR", "DEBUG"))
	eventually(t, "the level changes", func() bool { return log.Enabled(t.Context(), slog.LevelDebug) })
	log.Debug("shown 4")
	if j.count("shown") != 5 || j.count("hidden") != 0 || !strings.Contains(j.String(), "a=1 g.b=2") {
		t.Errorf("logged:\n%s", j.String())
	}
}

func TestAHandlerDoesNotEvaluateAgainWhileNothingChanges(t *testing.T) {
	c := serving(t, shopLevels("shop", "WARN"))
	h := c.Handler(slog.DiscardHandler, "org")
	ctx := contexts.With(t.Context(), somebody)
	if n := testing.AllocsPerRun(100, func() { h.Enabled(ctx, slog.LevelDebug) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
