// Package settings reads what a function is deployed with: the environment
// variables that template.yaml sets.
//
//	TABLE, BUCKET       where workspaces are stored
//	QUEUE, DEAD_LETTERS the addresses of the queues of maintenance
//	WEBHOOK_QUEUE       the address of the queue of webhooks
//	WEBHOOK_ALLOW       ranges of addresses, with commas between them, that webhooks may be in
//	                    though they are no part of the internet; may be empty, as in the template
//	PUBLIC_URL          where clients reach the service, without /v1; may be empty
//	STREAM_URL          the server whose event streams clients are told of; may be empty
//	BASE_PATH           what the paths of the API begin with (/v1)
//	LIMIT_PER_SECOND    requests a second that a key of the REST API may send (5)
//	LIMIT_BURST         the same, at once (25)
//	POLL_LIMIT_PER_SECOND, POLL_LIMIT_BURST             of an SDK key (50, 200)
//	TELEMETRY_LIMIT_PER_SECOND, TELEMETRY_LIMIT_BURST   of an SDK key's telemetry (5, 50)
//	ANONYMOUS_LIMIT_PER_SECOND, ANONYMOUS_LIMIT_BURST   of an address without a known key (10, 100)
//	CONTEXT_DAYS        how many days contexts are kept after they were last seen (90)
//	SIGN_IN             with whom people sign in to the console, as signin.Read reads it; may be empty
//	LOG_LEVEL           DEBUG, INFO, WARN or ERROR (INFO)
//
// and what Lambda itself sets:
//
//	AWS_LAMBDA_FUNCTION_MEMORY_SIZE   megabytes that the function may take (256)
//
// All that is wrong is said at once: who deploys wants to hear it in one go.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"

	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/heap"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/webhook"
)

// Settings are a function's.
type Settings struct {
	Table, Bucket string
	Queue         string
	DeadLetters   string
	WebhookQueue  string
	PublicURL     string
	StreamURL     string
	BasePath      string
	SignIn        string
	// How many requests an instance takes: of a key of the REST API, of an SDK
	// key, of its telemetry, and of an address without a key that is known to be
	// good.
	Limit, Polls, Telemetry, Anonymous ratelimit.Rate
	ContextDays                        int // how long contexts are kept after they were last seen
	LogLevel                           slog.Level
	WebhookAllow                       string
	Memory                             int64 // bytes that the function may take
}

// Required is what a function cannot do without.
type Required int

// What may be required, each with the table and the bucket that stand before it.
const (
	Nothing Required = iota
	Table
	TableAndBucket
	Webhooks   // their queue too
	Everything // the queues of maintenance too
)

// Read reads the settings.
func Read(getenv func(string) string, required Required) (Settings, error) {
	r := reader{getenv: getenv}
	s := Settings{
		Table:        r.text("TABLE", required >= Table),
		Bucket:       r.text("BUCKET", required >= TableAndBucket),
		Queue:        r.text("QUEUE", required >= Everything),
		DeadLetters:  r.text("DEAD_LETTERS", required >= Everything),
		WebhookQueue: r.text("WEBHOOK_QUEUE", required == Webhooks),
		PublicURL:    r.address("PUBLIC_URL"),
		StreamURL:    r.address("STREAM_URL"),
		BasePath:     r.basePath("BASE_PATH"),
		SignIn:       r.text("SIGN_IN", false),
		Limit:        r.rate("LIMIT", 5, 25),
		Polls:        r.rate("POLL_LIMIT", 50, 200),
		Telemetry:    r.rate("TELEMETRY_LIMIT", 5, 50),
		Anonymous:    r.rate("ANONYMOUS_LIMIT", 10, 100),
		ContextDays:  int(r.number("CONTEXT_DAYS", telemetry.ContextDays)),
		WebhookAllow: r.ranges("WEBHOOK_ALLOW"),
		LogLevel:     r.level("LOG_LEVEL"),
		Memory:       int64(r.number("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", 256)) << 20,
	}
	return s, errors.Join(r.problems...)
}

// What a function remembers of workspaces is bounded in bytes, by its memory:
// all of it together takes a third. The garbage collector lets the heap grow to
// twice of what is in use, and the rest is for the requests at work.

// SnapshotBytes is for the files of workspaces. One that has more is not read.
func (s Settings) SnapshotBytes() int64 { return s.Memory * 3 / 16 }

// ViewBytes is for what lists and checks need of them.
func (s Settings) ViewBytes() int64 { return s.Memory / 16 }

// MaxTexts is how much the documents of a workspace may have together after a
// write.
func (s Settings) MaxTexts() int64 { return heap.Texts(s.Memory) }

// TableBytes is for what environments serve.
func (s Settings) TableBytes() int64 { return s.Memory * 3 / 32 }

// MaxTable is how much one environment may serve that alone has more: the one
// served last is held however large it is.
func (s Settings) MaxTable() int64 { return heap.Table(s.Memory) }

type reader struct {
	getenv   func(string) string
	problems []error
}

func (r *reader) wrong(name, want string) {
	r.problems = append(r.problems, fmt.Errorf("%s is %q: it should be %s", name, r.getenv(name), want))
}

func (r *reader) text(name string, needed bool) string {
	value := r.getenv(name)
	if value == "" && needed {
		r.problems = append(r.problems, fmt.Errorf("%s is not set", name))
	}
	return value
}

func (r *reader) address(name string) string {
	value := strings.TrimRight(r.getenv(name), "/")
	if value == "" {
		return ""
	}
	if _, ok := baseurl.Parse(value); !ok {
		r.wrong(name, "an address such as https://flags.example.com")
	} else if strings.HasSuffix(value, "/v1") {
		r.wrong(name, "the address without /v1")
	}
	return value
}

func (r *reader) ranges(name string) string {
	value := r.getenv(name)
	if _, err := webhook.ReadAllowed(split(value)); err != nil {
		r.wrong(name, "ranges such as 10.0.0.0/8, with commas between them")
	}
	return value
}

// Allowed are the ranges that webhooks may be in though they are no part of the internet.
func (s Settings) Allowed() []netip.Prefix {
	allowed, _ := webhook.ReadAllowed(split(s.WebhookAllow)) // Read has read them
	return allowed
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func (r *reader) basePath(name string) string {
	value := r.getenv(name)
	if value == "" {
		return "/v1"
	}
	if !strings.HasPrefix(value, "/") || !strings.HasSuffix(value, "/v1") {
		r.wrong(name, "a path that ends in /v1")
	}
	return value
}

func (r *reader) rate(name string, perSecond, burst float64) ratelimit.Rate {
	return ratelimit.Rate{PerSecond: r.number(name+"_PER_SECOND", perSecond), Burst: int(r.number(name+"_BURST", burst))}
}

func (r *reader) number(name string, otherwise float64) float64 {
	text := r.getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 1 && value <= 1e9) {
		r.wrong(name, "a number of at least 1")
	}
	return value
}

func (r *reader) level(name string) slog.Level {
	var level slog.Level
	if text := r.getenv(name); text != "" && level.UnmarshalText([]byte(text)) != nil {
		r.wrong(name, "DEBUG, INFO, WARN or ERROR")
	}
	return level
}
