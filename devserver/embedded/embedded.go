package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"svc.example/svc/devserver/monitor"
	"svc.example/svc/devserver/prereceive"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/console"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/git"
	"svc.example/svc/shared/gitremote"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/release"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/settings"
	"svc.example/svc/shared/signin"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/earlier"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/webhook"
)

// Options are how a data directory is served.
type Options struct {
	// PublicURL is where clients reach the service, without /v1.
	PublicURL string
	// Limit is of each key of the REST API; Polls and Telemetry are of each SDK
	// key; Anonymous is of each address, without a key that is known to be good.
	// The zero Rate is the default for Limit, and no limit else.
	Limit, Polls, Telemetry, Anonymous ratelimit.Rate
	// Proxies are believed where they say whose request they pass on.
	Proxies ratelimit.Proxies
	Logger  *slog.Logger
	// Program is the svc that checks what is pushed; "" leaves pushes unchecked.
	Program string
	// ContextDays is how many days a context is kept after it was last seen; 0 is
	// telemetry.ContextDays.
	ContextDays int
	// SignIn says with whom people sign in; nil for nobody. Where they are is filled in here.
	SignIn *signin.Settings
	// WebhookAllow are ranges of addresses that webhooks may be in beside those of the internet.
	WebhookAllow []netip.Prefix
	// Remote is a repository elsewhere that is kept in step; nil for none. Where the commits are
	// is filled in here.
	Remote *gitremote.Follower
	// Streams is how many event streams there may be; 0 is none.
	Streams int
	// Monitor counts requests and commits; nil for nobody.
	Monitor *monitor.Monitor
	// Progress hears how far the index of a long history has come.
	Progress func(commits int)
}

// Service serves one data directory.
type Service struct {
	workspace string // its id
	ledger    *local.Ledger
	repo      *repository.Repository
	service   *control.Service
	intake    *telemetry.Intake
	table     *bolt.Table
	seen      *rows.Store // over table
	streams   *events.Hub // nil for none
	handler   http.Handler
	logger    *slog.Logger
	uses      *local.Uses
	webhooks  *webhook.Sender
	told      chan struct{} // closed when no webhook is told any more
	remote    chan struct{} // closed when nothing is pushed any more
	stop      context.CancelFunc
	stopped   chan struct{}
}

// Open opens a data directory that Create has made. One that does not exist is
// fs.ErrNotExist.
func Open(ctx context.Context, dir string, options Options) (*Service, error) {
	if err := git.RefusePipes(dir); err != nil {
		return nil, err
	}
	ledger, err := local.Open(ctx, dir, local.Options{
		Progress:  options.Progress,
		Rewritten: func(r local.Rewrite) { options.Logger.Error("history was rewritten by force", "what", r.String()) },
	})
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(local.KeepOutOfGit(dir), ledger.Database().Check()); err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	table := bolt.New(ledger.Database())
	record, err := ledger.Registry().Workspace(ctx)
	if err == nil { // what earlier versions have of telemetry is moved into the table
		err = earlier.TakeOver(ctx, dir, record.ID, table, options.ContextDays)
	}
	if err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	seen := rows.New(table, options.ContextDays)
	if options.Program != "" {
		if err := prereceive.Install(ledger.Repository(), options.Program); err != nil {
			options.Logger.Error("what is pushed is not checked", "cause", err)
		}
	}
	requests, woken := request.Store{Table: table}, make(chan struct{}, 1)
	requests.Changed = func() {
		select {
		case woken <- struct{}{}:
		default: // it is awake, and looks after this
		}
	}
	repo := repository.New(ledger, ledger.Objects())
	written := counted{repo, options.Monitor.Counter("svc_commits_total", "Writes that landed."), options.Monitor.Counter("svc_lost_races_total", "Tries of writes that another write was before.")}
	s := &Service{workspace: record.ID, ledger: ledger, repo: repo, logger: options.Logger, stopped: make(chan struct{}), told: make(chan struct{}), remote: make(chan struct{}), uses: local.OpenUses(dir),
		table: table, seen: seen,
		intake: &telemetry.Intake{Store: seen, Now: time.Now, Logger: options.Logger}}
	var remote func() *control.RemoteRow
	if options.Remote != nil {
		remote = func() *control.RemoteRow { return remoteRow(options.Remote.Status()) }
	}
	s.service = control.New(control.Settings{
		Remote:        remote,
		Authenticator: ledger,
		Directory:     ledger,
		Keys:          ledger,
		Repository:    func(context.Context, string) (control.Repository, error) { return written, nil },
		OneWriter:     true,
		Now:           time.Now,
		PublicURL:     options.PublicURL,
		Used:          s.uses.Used,
		Registry: func(_ string, by access.Principal) *access.Registry {
			return ledger.Registry().Registry.By(by.Words())
		},
		Requests:    requests,
		Contexts:    seen,
		Evaluations: present{seen}, EvaluationsLocal: true,
	})
	feed := webhook.Feed()
	s.webhooks = &webhook.Sender{Table: table, Client: webhook.Client(options.WebhookAllow, nil), Refused: webhook.Refused(options.WebhookAllow), PublicURL: options.PublicURL, Now: time.Now, Logger: options.Logger,
		Sources: func(ctx context.Context, _ string) (map[string]webhook.Source, error) {
			head, err := ledger.Head(ctx)
			return map[string]webhook.Source{
				webhook.SourceHistory:  &webhook.History{Workspace: record.ID, Head: head, Commits: repo, Feed: feed},
				webhook.SourceAudit:    webhook.Audit{Registry: ledger.Registry().Registry, Access: head.Access},
				webhook.SourceRequests: webhook.Requests{Store: requests, Workspace: record.ID},
			}, err
		}}
	if err := s.route(options); err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	if options.Remote != nil {
		s.follow(options.Remote, requests, options.Monitor)
	}
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.upkeep(background)
	go func() {
		defer close(s.told)
		loop := webhook.Loop{Sender: s.webhooks, Workspace: s.workspace, Head: s.position, Wake: woken}
		loop.Run(background)
	}()
	go func() {
		defer close(s.remote)
		if options.Remote != nil {
			options.Remote.Run(background)
		}
	}()
	return s, nil
}

// keptAnswers bounds the lists and items that are kept as they were answered: it
// holds some lists of 10,000 flags.
const keptAnswers = 32 << 20

func (s *Service) route(options Options) error {
	if options.Streams > 0 {
		s.streams = events.NewHub(options.Streams, lookEvery)
	}
	anonymous := ratelimit.NewBuckets(options.Anonymous, time.Now)
	routes, notFound, err := httpapi.Routes(httpapi.Options{
		Service: s.service, PublicURL: options.PublicURL, Release: release.Name(), Logger: options.Logger, KeptAnswers: keptAnswers,
		Limit: options.Limit, Anonymous: anonymous, Proxies: options.Proxies,
	}, httpapi.All()...)
	if err != nil {
		return fmt.Errorf("the API's description and its handlers differ: %w", err)
	}
	routes = append(routes, sdkapi.Routes(sdkapi.Options{
		Service: s.service, Intake: s.intake, Logger: options.Logger,
		Polls: options.Polls, Telemetry: options.Telemetry, Anonymous: anonymous, Proxies: options.Proxies,
		Streams: s.streams,
	})...)
	pages, err := s.pages(options, anonymous)
	if err != nil {
		return err
	}
	routes = append(append(routes, console.Routes(false, "")...), router.Route{Path: httpapi.ConsolePath + "/", Handler: pages})
	routes, notFound = options.Monitor.Routes(routes, notFound)
	if s.streams != nil {
		options.Monitor.Gauge("svc_event_streams", "Event streams that are open.", nil, func() float64 { return float64(s.streams.Open()) })
	}
	s.handler = router.New(routes, notFound)
	return nil
}

// pages answers the console's page: the API, signing in and settings, for a session.
func (s *Service) pages(options Options, anonymous *ratelimit.Buckets) (http.Handler, error) {
	own := &httpapi.Console{Stores: s.settings, Workspace: s.workspace}
	var routes []router.Route
	if with := options.SignIn; with != nil {
		with.PublicURL, with.Now, with.Logger = options.PublicURL, time.Now, options.Logger
		with.Registry = func(context.Context, string) (*access.Registry, error) { return s.ledger.Registry().Registry, nil }
		with.Secret = func(ctx context.Context, _ string) ([]byte, error) {
			record, err := s.ledger.Registry().Workspace(ctx)
			return record.Secret, err
		}
		provider := signin.New(*with)
		own.SignIn, own.Begin, own.Refresh = with.Told(), provider.Begin, provider.Refresh
		routes = append(routes, router.Route{Path: signin.CallbackPath, Handler: provider.Callback(httpapi.Session, httpapi.SetSession)})
	}
	api, notFound, err := httpapi.Routes(httpapi.Options{
		Service: s.service, BasePath: httpapi.ConsolePath + "/v1", PublicURL: options.PublicURL, Logger: options.Logger, KeptAnswers: keptAnswers,
		Limit: options.Limit, Anonymous: anonymous, Proxies: options.Proxies, Console: own,
	}, append(httpapi.ForPages(), httpapi.Sessions(), httpapi.SettingsGroup())...)
	return router.New(append(routes, api...), notFound), err
}

// settings are the stores of the workspace's settings.
func (s *Service) settings(string) settings.Stores {
	registry := s.ledger.Registry().Registry
	return settings.Stores{Registry: registry, Now: time.Now,
		Workspace: func(ctx context.Context) (*provision.Workspace, error) {
			record, err := registry.Workspace(ctx)
			return provision.New(record, s.ledger, s.repo), err
		},
		Audit: func(ctx context.Context, newest int) ([]audit.Event, error) {
			return auditOf(ctx, registry, s.ledger.Repository(), newest)
		},
		Webhooks: func() *webhook.Manager {
			return &webhook.Manager{Sender: s.webhooks, Workspace: s.workspace, Head: s.position}
		}}
}

// position is where the workspace is, for webhooks. A directory that somebody else took has none.
func (s *Service) position(ctx context.Context) (webhook.Position, error) {
	if err := s.ledger.CheckLock(); err != nil {
		return webhook.Position{}, err
	}
	head, err := s.ledger.Head(ctx)
	return webhook.Position{Commit: head.Commit, Access: head.Access}, err
}

// counted counts the commits of a repository, and those that another one was before.
type counted struct {
	*repository.Repository
	commits, lost func()
}

// Commit implements control.Repository.
func (c counted) Commit(ctx context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error) {
	landed, err := c.Repository.Commit(ctx, base, draft)
	switch {
	case errors.Is(err, repository.ErrMoved):
		c.lost()
	case err == nil && len(draft.Changes) > 0:
		c.commits()
	}
	return landed, err
}

// Handler serves both products: the API below /v1, and what applications ask
// for and report.
func (s *Service) Handler() http.Handler { return s.handler }

// Repository is the directory of the bare repository.
func (s *Service) Repository() string { return s.ledger.Repository() }

// EndStreams ends the event streams, whose clients connect again.
func (s *Service) EndStreams() {
	if s.streams != nil {
		s.streams.Close()
	}
}

// Close stops what goes on in the background and lets go of the directory.
func (s *Service) Close() error {
	s.EndStreams()
	s.stop()
	<-s.stopped
	<-s.told
	<-s.remote
	var err error
	if s.ledger.CheckLock() == nil {
		err = errors.Join(s.uses.Flush(), s.seen.Flush(context.Background()))
	}
	return errors.Join(err, s.ledger.Close())
}

// lookEvery is how often the head is looked at while there are event streams. It
// costs some 20 µs.
const lookEvery = 50 * time.Millisecond

const (
	upkeepEvery = 2 * time.Second
	flushEvery  = 10 * time.Second // after which counts of evaluations do not wait any longer
	compactFrom = 64               // packs, one of which every commit adds
)

// upkeep does what no request should wait for.
func (s *Service) upkeep(ctx context.Context) {
	defer close(s.stopped)
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	watch := reporter{logger: s.logger}
	told := "" // the error that was logged last
	// A damaged pack is not mended within seconds, and a try may read all others.
	merging := backoff.Retry{Backoff: backoff.Backoff{First: upkeepEvery, Max: time.Hour}}
	// Open has locked the directory: nobody else writes there.
	s.ledger.Objects().Sweep(true)
	expiring := backoff.Retry{Backoff: backoff.Backoff{First: time.Minute, Max: time.Hour}}
	expired, flushed := time.Time{}, time.Now()
	for {
		err := s.look(ctx, &watch)
		if err == nil {
			told = ""
		} else if ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			s.logger.Error("reading the workspace", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.ledger.CheckLock() != nil {
			continue // which look has told: what lies there belongs to somebody else
		}
		if err := s.uses.Flush(); err != nil {
			s.logger.Error("noting when keys were used last", "error", err)
		}
		if now := time.Now(); now.Sub(flushed) >= flushEvery {
			if err := s.seen.Flush(ctx); err != nil && ctx.Err() == nil {
				s.logger.Error("counting evaluations", "error", err)
			}
			flushed = now
		}
		if now := time.Now(); now.Sub(expired) >= time.Hour && expiring.Due(now) {
			err := s.expire(ctx, now)
			if expiring.Ended(now, err); err == nil {
				expired = now
			} else if ctx.Err() == nil {
				s.logger.Error("forgetting contexts that were last seen long ago", "error", err)
			}
		}
		if !merging.Due(time.Now()) {
			continue
		}
		if err = s.ledger.Objects().IndexAgain(ctx, false); err == nil {
			err = s.mergePacks(ctx)
		}
		if merging.Ended(time.Now(), err); err != nil && ctx.Err() == nil {
			s.logger.Error("merging packs", "error", err)
		}
	}
}

// mergePacks merges packs once there are many.
func (s *Service) mergePacks(ctx context.Context) error {
	objects := s.ledger.Objects()
	if len(objects.Packs()) < compactFrom {
		return objects.DropStaleMultiPack(ctx)
	}
	_, err := objects.Compact(ctx)
	return err
}

// expire removes what is kept no longer: contexts, counts, files that keep packs from git.
func (s *Service) expire(ctx context.Context, now time.Time) error {
	s.ledger.Objects().Sweep(false)
	if err := s.seen.Trim(ctx, s.workspace, telemetry.MaxSaved, telemetry.MaxBatches); err != nil {
		return err
	}
	_, err := s.table.Tidy(ctx, now)
	return err
}

// look shows the reporter the newest state.
func (s *Service) look(ctx context.Context, watch *reporter) error {
	head, err := s.ledger.Head(ctx)
	if err != nil || watch.at == head.Commit {
		return err
	}
	snapshot, err := s.repo.Snapshot(ctx, head)
	if err != nil {
		return err
	}
	broken, err := s.service.Broken(ctx, s.workspace, snapshot)
	if err == nil {
		watch.see(snapshot, broken)
	}
	return err
}

// present tells counts of evaluations with those that wait to be written: this process has
// them all.
type present struct{ *rows.Store }

func (p present) Evaluations(ctx context.Context, workspace, key string, first, last telemetry.Day) (map[string][]telemetry.EvaluatedDay, error) {
	if err := p.Flush(ctx); err != nil {
		return nil, err
	}
	return p.Store.Evaluations(ctx, workspace, key, first, last)
}

// Exists reports whether a directory holds a workspace.
func Exists(dir string) (bool, error) {
	r, err := local.OpenRegistry(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, r.Close()
}
