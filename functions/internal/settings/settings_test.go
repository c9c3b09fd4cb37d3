package settings

import (
	"log/slog"
	"strings"
	"testing"

	"svc.example/svc/shared/ratelimit"
)

func from(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

func TestDefaults(t *testing.T) {
	got, err := Read(from(nil), Nothing)
	want := Settings{BasePath: "/v1", Limit: ratelimit.Rate{PerSecond: 5, Burst: 25}, Polls: ratelimit.Rate{PerSecond: 50, Burst: 200},
		Telemetry: ratelimit.Rate{PerSecond: 5, Burst: 50}, Anonymous: ratelimit.Rate{PerSecond: 10, Burst: 100}, ContextDays: 90, Memory: 256 << 20}
	if err != nil || got != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}

func TestAllThatIsSet(t *testing.T) {
	got, err := Read(from(map[string]string{
		"TABLE": "t", "BUCKET": "b", "PUBLIC_URL": "https://flags.example.com/", "BASE_PATH": "/flags/v1", "STREAM_URL": "https://events.example.com",
		"LIMIT_PER_SECOND": "50", "LIMIT_BURST": "100", "LOG_LEVEL": "WARN",
		"POLL_LIMIT_PER_SECOND": "1", "POLL_LIMIT_BURST": "2", "TELEMETRY_LIMIT_PER_SECOND": "3", "TELEMETRY_LIMIT_BURST": "4",
		"ANONYMOUS_LIMIT_PER_SECOND": "5", "ANONYMOUS_LIMIT_BURST": "6", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "CONTEXT_DAYS": "30",
	}), TableAndBucket)
	want := Settings{Table: "t", Bucket: "b", PublicURL: "https://flags.example.com", BasePath: "/flags/v1", StreamURL: "https://events.example.com",
		Limit: ratelimit.Rate{PerSecond: 50, Burst: 100}, Polls: ratelimit.Rate{PerSecond: 1, Burst: 2}, Telemetry: ratelimit.Rate{PerSecond: 3, Burst: 4},
		Anonymous: ratelimit.Rate{PerSecond: 5, Burst: 6}, ContextDays: 30, LogLevel: slog.LevelWarn, Memory: 512 << 20}
	if err != nil || got != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}

func TestEverythingThatIsWrongIsSaid(t *testing.T) {
	_, err := Read(from(map[string]string{
		"PUBLIC_URL": "flags.example.com", "STREAM_URL": "events", "BASE_PATH": "v2", "LIMIT_PER_SECOND": "-1", "LIMIT_BURST": "NaN", "LOG_LEVEL": "LOUD",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "much",
	}), TableAndBucket)
	if err == nil {
		t.Fatal("nothing is said")
	}
	for _, name := range []string{"TABLE is not set", "BUCKET is not set", "PUBLIC_URL", "STREAM_URL", "BASE_PATH", "LIMIT_PER_SECOND", "LIMIT_BURST", "LOG_LEVEL", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not mentioned in: %v", name, err)
		}
	}
	for _, url := range []string{"https://a/v1", "https://", "ftp://a", "https://a?b", "https://u@a", "https://a#b"} {
		if _, err := Read(from(map[string]string{"PUBLIC_URL": url}), Nothing); err == nil {
			t.Errorf("PUBLIC_URL %s is taken", url)
		}
	}
	if _, err := Read(from(nil), Table); err == nil || strings.Contains(err.Error(), "BUCKET") {
		t.Errorf("a function that needs no bucket: %v", err)
	}
}
