package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/upstream"
)

// Options say where a client gets its flags from, and what else it does.
// Either Datadir or URL and Key: with none of them the datadir is discovered
// as svc serve does it (./our-config, ./.svc, $SVC_DIR).
type Options struct {
	// Datadir is a config directory on disk, which is watched.
	Datadir string
	// Environment of the datadir; $SVC_ENVIRONMENT, then development, when
	// empty. A hosted workspace's environment comes from the key.
	Environment string

	// URL of the hosted service, such as https://flags.example.com. The REST
	// base that the command line has, which ends in /v1, does as well.
	URL string
	// Key is a secret SDK key (svc_sk_...), with or without white space around
	// it. It stays in this process: a browser gets a public one.
	Key string
	// PollEvery is the time between two polls, where the server has no event
	// streams; 30 s when zero.
	PollEvery time.Duration
	// HTTP makes the requests; a client of its own when nil. Redirects are
	// followed only if it has a rule for them: they would take the key along.
	HTTP *http.Client

	// FirstLoad is how long Open waits for the first state; 10 s when zero.
	FirstLoad time.Duration
	// StartAnyway has Open return a client that serves defaults, and goes on
	// trying, when there is no first state in time.
	StartAnyway bool

	// Service names the log-level document, log-level.<service>. When empty
	// it is the only one there is; with several none applies, which is logged
	// when a level is asked for.
	Service string
	// Global is the global context at the start; see Client.Global.
	Global *contexts.Set

	// Telemetry uploads what was evaluated how often, the shapes of contexts,
	// and example contexts that have a key. With URL and Key only.
	Telemetry bool
	// TelemetryEvery is the time between two uploads; a minute when zero.
	TelemetryEvery time.Duration

	// Evaluated is told of each evaluation, in the getter: what it does the
	// getter's caller waits for, and it may be called from many goroutines at
	// once. Package opentelemetry makes one that emits events.
	Evaluated func(context.Context, Evaluation)

	// Log takes what a person should know; slog.Default() when nil.
	Log *slog.Logger
	// Getenv looks a provided value up; os.LookupEnv when nil.
	Getenv func(name string) (value string, set bool)
	// EnvironmentVariables are the names that a provided value may look up:
	// otherwise the editors of documents would choose what is read here. nil is
	// any, an empty list none.
	EnvironmentVariables []string

	now func() int64 // for tests
}

// tidied takes off what comes along when a key or an address is copied.
func (o Options) tidied() Options {
	o.Key = strings.TrimSpace(o.Key)
	o.URL = upstream.Base(o.URL)
	return o
}

func (o Options) withDefaults() Options {
	o.Environment = cmp.Or(o.Environment, os.Getenv("SVC_ENVIRONMENT"), "development")
	o.PollEvery = cmp.Or(o.PollEvery, 30*time.Second)
	o.FirstLoad = cmp.Or(o.FirstLoad, 10*time.Second)
	o.TelemetryEvery = cmp.Or(o.TelemetryEvery, time.Minute)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.now == nil {
		o.now = func() int64 { return time.Now().UnixMilli() }
	}
	return o
}

// check says all that is wrong with the options at once.
func (o Options) check() error {
	var wrong []error
	hosted := o.URL != "" || o.Key != ""
	if hosted && o.Datadir != "" {
		wrong = append(wrong, errors.New("Options.Datadir and Options.URL: a client has one of them"))
	}
	if hosted && o.Key == "" {
		wrong = append(wrong, errors.New("Options.Key is missing: a hosted workspace is read with a secret SDK key (svc_sk_...)"))
	}
	if _, ok := baseurl.Parse(o.URL); hosted && !ok {
		wrong = append(wrong, errors.New("Options.URL is scheme and host, like https://flags.example.com"))
	}
	if o.Telemetry && !hosted {
		wrong = append(wrong, errors.New("Options.Telemetry needs a hosted workspace: a datadir takes none"))
	}
	if min(o.PollEvery, o.FirstLoad, o.TelemetryEvery) < 0 {
		wrong = append(wrong, errors.New("a time in Options is negative"))
	}
	return errors.Join(wrong...)
}

// Client evaluates flags, configs and log levels in this process. All its
// methods may be called at any time from any goroutine; after Close they go on
// with the last state.
type Client struct {
	options   Options
	now       func() int64
	table     atomic.Pointer[table]
	global    contexts.Global
	telemetry *telemetry // nil when off

	stop    context.CancelFunc
	running sync.WaitGroup
	closing sync.Once

	first     chan struct{} // closed with the first state
	mu        sync.Mutex    // of what follows, and of changing the table
	status    Status
	cause     error           // why the source fails; nil while it does not
	health    upstream.Health // as the log has it
	listeners map[int]func(Event)
	enlisted  int

	streaming atomic.Bool // changes come over an event stream
	missing   string      // what was last said of values that cannot be had; the source's
}

// source brings states until ctx is done. It calls hopeless at most once, when
// there is no first state and trying again will hardly bring one: Open ends
// with that error.
type source interface {
	run(ctx context.Context, c *Client, hopeless func(error))
}

// Format writes the options without the key, whatever the verb.
func (o Options) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{Datadir:%s Environment:%s URL:%s Key:%s}", o.Datadir, o.Environment, o.URL, redacted)
}

// Open makes a client and waits for its first state, until ctx is done or
// Options.FirstLoad is over. A key that is refused and a directory that cannot
// be served are errors at once.
func Open(ctx context.Context, o Options) (*Client, error) {
	o = o.tidied()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("svc: %w", err)
	}
	o = o.withDefaults()
	c := &Client{options: o, now: o.now, first: make(chan struct{}), status: Starting, listeners: map[int]func(Event){}}
	c.global.Replace(o.Global)
	var from source
	if o.URL != "" {
		connection := upstream.Connect(o.URL, o.Key, o.HTTP)
		if o.Telemetry {
			c.telemetry = newTelemetry(c, connection)
		}
		from = &hosted{connection: connection}
	} else if d, err := newDirectory(o); err == nil {
		from = d
	} else {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	c.stop = stop
	failed := make(chan error, 1)
	c.running.Go(func() { from.run(running, c, func(err error) { failed <- err }) })
	if c.telemetry != nil {
		c.running.Go(func() { c.telemetry.run(running) })
	}
	if err := c.await(ctx, failed); err != nil && !o.StartAnyway {
		c.Close()
		return nil, err
	} else if err != nil {
		c.startAnyway(err)
	}
	return c, nil
}

func (c *Client) await(ctx context.Context, failed <-chan error) error {
	late := time.NewTimer(c.options.FirstLoad)
	defer late.Stop()
	select {
	case <-c.first:
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
		return c.tooLate(ctx.Err())
	case <-late.C:
		return c.tooLate(errors.New("no state within " + c.options.FirstLoad.String()))
	}
}

// Global is the global context: under every scope, until it is changed.
func (c *Client) Global() *contexts.Global { return &c.global }

// Close ends watching, polling and telemetry, whose last batch it sends in at
// most five seconds. Evaluation goes on with the last state.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.stop()
		c.running.Wait()
		c.telemetry.close()
	})
	return nil
}
