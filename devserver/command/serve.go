package command

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/devserver/overrides"
	"svc.example/svc/devserver/server"
	"svc.example/svc/devserver/worktree"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/heap"
	"svc.example/svc/shared/ratelimit"
)

// serveFlags are the flags of svc serve.
type serveFlags struct {
	listenFlags
	datadir        string
	environment    string
	key            string
	origins        []string
	allowedHosts   []string
	watch, noWatch bool
	console        bool
	polls          ratelimit.Rate
	relay          relayFlags
}

const defaultEnvironment = "development"

func newServe(in Invocation) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a config directory to browser clients, or relay a workspace",
		Long: `Serve a config directory over the protocol of the hosted service, so that browser
clients work without a change when their API URL points here.

Feature flags are always served, and configs if their file has
"sendToClientSdk": true. Segments, log levels, schemas and confidential values are
never served. Edits are served as soon as they are saved. On a loopback address,
values set by svc override take precedence over the files.

Endpoints:
  GET  /api/v2/configs/eval-with-context/{token}   everything, for one context
  POST /ofrep/v1/evaluate/flags                    the same for OpenFeature (OFREP)
  POST /ofrep/v1/evaluate/flags/{key}              one flag for OpenFeature (OFREP)
  GET  /ofrep/v1/events                            change notifications, for OpenFeature clients
  GET  /healthz                                    200 while the server runs

With --url it is a relay: it serves a workspace of svc api, or a hosted one,
evaluates locally, and answers as that service does. It follows the service, and
keeps serving the last good state while the service is down. Clients use the same
keys as with the service. In addition to the endpoints above there are:
  GET  /api/v2/configs                             the documents, for servers
  GET  /api/v2/sse/config                          change notifications, for servers
  POST /api/v1/telemetry/                          telemetry, which is passed on
  GET  /readyz                                     200 once there is a state to serve`,
		Example: `  svc serve
  svc serve --datadir ./our-config --environment staging
  svc serve --frontend-sdk-key dev --cors-origin http://localhost:3000
  svc serve --url https://flags.example.com --key-file production.key --cache /var/cache/svc`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("watch") && cmd.Flags().Changed("no-watch") {
				return cli.Usagef("--watch and --no-watch cannot be used together")
			}
			if err := f.relay.check(cmd); err != nil {
				return err
			}
			f.environment = in.environment(f.environment)
			return serve(cmd.Context(), in, f, cmd.Flags().Changed("cors-origin"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.datadir, "datadir", "", datadirUsage)
	flags.StringVar(&f.environment, "environment", "", "environment whose values are served (default $SVC_ENVIRONMENT, then development)")
	f.listenFlags.add(cmd, 6580, "with --url: ")
	flags.StringVar(&f.key, "frontend-sdk-key", "", "key that every request must present (default none)")
	flags.StringArrayVar(&f.origins, "cors-origin", []string{delivery.AnyOrigin}, "origin whose pages may read the answers; may be repeated")
	flags.StringArrayVar(&f.allowedHosts, "allowed-host", nil, "another host name that requests may ask for, together with --cors-origin; may be repeated (default localhost and IP addresses)")
	flags.BoolVar(&f.watch, "watch", true, "serve edits as they are saved")
	flags.BoolVar(&f.noWatch, "no-watch", false, "serve the directory as it was at the start")
	flags.BoolVar(&f.console, "console", false, "serve the console at /console/, which shows and edits the files; on a loopback host. With --url: lead to that of the workspace")
	flags.Float64Var(&f.polls.PerSecond, "poll-limit", 0, "requests per second from one address; 0 is no limit")
	flags.IntVar(&f.polls.Burst, "poll-burst", 0, "requests at once from one address; 0 is four times --poll-limit")
	f.relay.add(cmd)
	return cmd
}

func serve(ctx context.Context, in Invocation, f serveFlags, originsGiven bool) error {
	if f.polls.PerSecond > 0 && f.polls.Burst == 0 {
		f.polls.Burst = max(1, int(min(4*f.polls.PerSecond, maxRate)))
	}
	proxies, loopback, err := f.listenFlags.check()
	if err != nil {
		return err
	}
	if err := f.check(loopback, originsGiven); err != nil {
		return err
	}
	if f.relay.url != "" {
		return serveRelay(ctx, in, f, proxies, loopback)
	}
	path, err := in.discover(f.datadir)
	if err != nil {
		return err
	}
	if f.console { // what a killed writer left is taken back before it is read; where that fails the first write says so
		if lock, err := datadir.Lock(ctx, path); err == nil {
			lock.Close()
		}
	}
	heap.WithinContainer()
	report := func(line string) { fmt.Fprintln(in.Stderr, strings.Replace(line, path, in.Display(path), 1)) }
	dir, err := directory.Open(path, f.environment, report)
	if err != nil {
		return in.locate(err)
	}
	listeners, err := server.Listen(f.host, f.port)
	if err != nil {
		return err
	}
	file, overridden := in.startOverrides(f, path, loopback, dir, report)
	follows := f.watch && !f.noWatch
	beside, token, err := in.openConsole(f, path, worktree.Options{Overrides: file,
		Served: func() (datadir.State, bool) {
			state, behind := dir.Behind()
			return state, behind || !follows
		},
		ServedOverrides: func() ([]byte, bool) { return dir.OverridesText(), !follows }})
	if err != nil {
		return err
	}
	fmt.Fprint(in.Stdout, startUp(f, path, dir.Contents(), token, overridden))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	buckets := ratelimit.NewBuckets(f.polls, time.Now)
	handler := &delivery.Handler{Tables: limited(buckets, proxies, dir.Tables(f.key)), Now: time.Now, Random: rand.Float64, Proxies: proxies}
	endStreams := func() {}
	if most := f.streams(); most > 0 {
		handler.Streams = dir.Streams(f.key, most)
		handler.Streams.Follow = limited(buckets, proxies, handler.Streams.Follow)
		endStreams = handler.Streams.Hub.Close
	}
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		if !follows {
			dir.Warn()
			return
		}
		var others sync.WaitGroup
		if file != nil {
			others.Go(func() { dir.FollowOverrides(ctx, *file) })
		}
		dir.Follow(ctx)
		others.Wait()
	}()
	err = server.Serve(ctx, listeners, beside(delivery.CORS(f.origins, f.guard(loopback, handler.Mux()))), endStreams)
	stop()
	<-followed
	return err
}

// guard keeps pages of other origins than those named from reading the answers
// by way of a name that leads here. Where any page may read them, and where
// other machines reach the server by names that it does not know, there is
// nothing to guard.
func (f serveFlags) guard(loopback bool, next http.Handler) http.Handler {
	if !loopback || slices.Contains(f.origins, delivery.AnyOrigin) {
		return next
	}
	return delivery.Hosts(append(f.allowedHosts, f.host), next)
}

// check refuses what can be seen to be wrong before anything is opened.
func (f serveFlags) check(loopback, originsGiven bool) error {
	if f.polls != (ratelimit.Rate{}) {
		if err := checkRate("poll", f.polls); err != nil {
			return err
		}
	}
	for _, origin := range f.origins {
		if err := delivery.CheckOrigin(origin); err != nil {
			return cli.Usagef("--cors-origin %v", err)
		}
	}
	for _, name := range f.allowedHosts {
		if err := delivery.CheckHost(name); err != nil {
			return cli.Usagef("--allowed-host %v", err)
		}
	}
	if strings.ContainsAny(f.key, "\r\n") {
		return cli.Usagef("--frontend-sdk-key holds a line break")
	}
	if loopback {
		return nil
	}
	if f.console && f.relay.url == "" {
		return cli.Usagef("--console lets anybody who opens it edit the files, and --host %s can be reached from other machines: leave one of them out", f.host)
	}
	var missing []string
	if !f.allowNonLoopback {
		missing = append(missing, "--allow-non-loopback to confirm it")
	}
	if !originsGiven {
		missing = append(missing, "--cors-origin with the origin of your pages")
	}
	if len(missing) > 0 {
		return cli.Usagef("--host %s can be reached from other machines; add %s", f.host, strings.Join(missing, " and "))
	}
	return nil
}

// startOverrides has the overrides served that there are, if other machines do not
// reach the server; the file is nil where there is none to follow.
func (in Invocation) startOverrides(f serveFlags, path string, loopback bool, dir *directory.Directory, report func(line string)) (file *overrides.File, inForce int) {
	of, err := overrides.Of(in.Getenv, path, f.environment)
	if err != nil {
		return nil, 0 // there is no place for any
	}
	if !loopback {
		if all, err := of.Read(); err == nil && len(overrides.InForce(all, time.Now())) > 0 {
			report("warning: overrides are left out, as other machines can reach " + f.host)
		}
		return nil, 0
	}
	inForce, _ = dir.ReadOverrides(of)
	return &of, inForce
}

// openConsole has the console served beside what applications ask for, if that is
// asked for.
func (in Invocation) openConsole(f serveFlags, path string, o worktree.Options) (beside func(http.Handler) http.Handler, token string, err error) {
	if !f.console {
		return func(next http.Handler) http.Handler { return next }, "", nil
	}
	who := "you"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = u.Username
	}
	o.Dir, o.Environment, o.Who = path, f.environment, who
	o.Hosts, o.Logger = worktree.OwnHosts(f.host, f.port), slog.Default()
	api, err := worktree.New(o)
	if err != nil {
		return nil, "", err
	}
	return api.Beside, api.Token(), nil
}

// startUp is what a person must know when the server is up.
func startUp(f serveFlags, path, contents, token string, overridden int) string {
	auth := "none, every request is served"
	if f.key != "" {
		auth = "key required, Authorization: Basic base64(1:<key>)"
	}
	readers := strings.Join(f.origins, ", ")
	if slices.Contains(f.origins, delivery.AnyOrigin) {
		readers = "every origin"
	}
	lines := fmt.Sprintf("Listening    %s\nDatadir      %s\nEnvironment  %s, %s\nAuth         %s; CORS: pages of %s may read the answers\n",
		server.URL(f.host, f.port), path, f.environment, contents, auth, readers)
	if f.console {
		lines += fmt.Sprintf("Console      %s/console/#token=%s\n", server.URL(f.host, f.port), token)
	}
	if overridden > 0 {
		lines += fmt.Sprintf("Overrides    %d, which svc override list shows\n", overridden)
	}
	return lines
}
