package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/devserver/embedded"
	"svc.example/svc/devserver/sample"
	"svc.example/svc/devserver/server"
	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/heap"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/webhook"
)

// apiFlags are the flags of svc api.
type apiFlags struct {
	listenFlags
	data      string
	imported  string
	workspace string
	publicURL string
	limit     ratelimit.Rate
	polls     ratelimit.Rate
	telemetry ratelimit.Rate
	anonymous ratelimit.Rate
	signIn    signInFlags
	remote    gitRemoteFlags
	// contextDays is how long contexts are kept.
	contextDays int
	// webhookAllow are ranges of addresses that webhooks may be in.
	webhookAllow []string
}

const (
	defaultData = ".svc-data"
	apiPort     = 6581
)

// exposedWarning is for a server that takes keys where other machines reach it.
const exposedWarning = "warning: other machines can reach this address, and keys cross the network unencrypted; put a reverse proxy with TLS in front"

func newAPI(in Invocation) *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "api",
		Short: "Run the control plane: the REST API over a git repository on disk",
		Long: `Run the control plane in one process, over a git repository on disk: the whole
REST API under /v1, and the delivery protocol for every environment at the same
address, so that a change made through the API reaches a browser on its next
poll.

The first start creates the data directory, from samples or from what --import
names, and prints a first key, once. When standard output is not a terminal but a
log, the key goes into a file that only you can read, and the output names the
file. svc key creates more.

The repository is ordinary git: you can clone it and push to it while the server
runs.`,
		Example: `  svc api
  svc api --import ./our-config
  svc api --data /var/lib/svc --import ../clone-of-our-config`,
		Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runAPI(cmd.Context(), in, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", defaultData, "data directory; created on the first start")
	flags.StringVar(&f.imported, "import", "", "config directory or git repository that the first start imports (default samples)")
	flags.StringVar(&f.workspace, "workspace", "", "name of the workspace that the first start creates (default the directory's)")
	f.listenFlags.add(cmd, apiPort, "")
	flags.StringVar(&f.publicURL, "public-url", "", "address that clients use, when a proxy stands in front (default where it listens)")
	f.signIn.add(flags)
	f.remote.add(flags)
	rateFlags(flags, &f.limit, "rate", httpapi.DefaultLimit, "with one key of the REST API")
	rateFlags(flags, &f.polls, "poll", sdkapi.DefaultPolls, "with one SDK key; a public key is counted for each address")
	rateFlags(flags, &f.telemetry, "telemetry", sdkapi.DefaultTelemetry, "with telemetry and one SDK key; a public key is counted for each address")
	rateFlags(flags, &f.anonymous, "anonymous", defaultAnonymous, "from one address without a key that is known to be good")
	flags.IntVar(&f.contextDays, "context-days", telemetry.ContextDays, "how many days a context that applications report is kept after it was last seen; days on which the server ran")
	flags.StringArrayVar(&f.webhookAllow, "webhook-allow", nil, cli.WebhookAllow)
	return cmd
}

func runAPI(ctx context.Context, in Invocation, f apiFlags) error {
	proxies, loopback, err := f.listenFlags.check()
	if err != nil {
		return err
	}
	for name, rate := range map[string]ratelimit.Rate{"rate": f.limit, "poll": f.polls, "telemetry": f.telemetry, "anonymous": f.anonymous} {
		if err := checkRate(name, rate); err != nil {
			return err
		}
	}
	if f.contextDays < 1 || f.contextDays > 3650 {
		return cli.Usagef("--context-days must be a number from 1 to 3650")
	}
	signIn, err := f.signIn.settings(in, f.publicURL)
	if err != nil {
		return err
	}
	remote, err := f.remote.follower(in)
	if err != nil {
		return err
	}
	allowed, err := webhook.ReadAllowed(f.webhookAllow)
	if err != nil {
		return cli.Usagef("--webhook-allow: %v", err)
	}
	public, ok := baseurl.Parse(cmp.Or(f.publicURL, server.URL(f.host, f.port)))
	if !ok {
		return cli.Usagef("--public-url must be an address like https://flags.example.com")
	}
	f.publicURL = strings.TrimSuffix(public.String(), "/v1") // the contract's base URL ends in it
	if !loopback && !f.allowNonLoopback {
		return cli.Usagef("--host %s can be reached from other machines, and keys cross the network unencrypted: put a reverse proxy with TLS in front, and add --allow-non-loopback to confirm it", f.host)
	}
	// The port first: a first start must not make a directory and then fail.
	listening, err := f.monitor.listen(f.host, f.port)
	if err != nil {
		return err
	}
	heap.WithinContainer()
	data := in.Absolute(f.data)
	first, err := firstStart(ctx, in, f, data)
	if err != nil {
		listening.close()
		return err
	}
	program, err := os.Executable()
	if err != nil {
		listening.close()
		return err
	}
	logger := f.monitor.logger(in.Stderr)
	watched := f.monitor.monitor(logger, proxies)
	service, err := embedded.Open(ctx, data, embedded.Options{
		PublicURL: f.publicURL, Program: program, Streams: f.streams(), ContextDays: f.contextDays,
		Limit: f.limit, Polls: f.polls, Telemetry: f.telemetry, Anonymous: f.anonymous, Proxies: proxies, SignIn: signIn, WebhookAllow: allowed,
		Logger: logger, Monitor: watched, Remote: remote,
		Progress: func(commits int) { cli.Line(in.Stderr)(fmt.Sprintf("indexing history: %d commits ", commits), false) },
	})
	if err != nil {
		listening.close()
		return err
	}
	fmt.Fprint(in.Stdout, in.apiStartUp(f, service.Repository(), first)+remoteLine(remote))
	if !loopback {
		fmt.Fprintln(in.Stderr, exposedWarning)
	}
	err = listening.serve(ctx, service.Handler(), service.EndStreams, watched, logger)
	return errors.Join(err, service.Close())
}

// firstStart makes the data directory when there is none yet.
func firstStart(ctx context.Context, in Invocation, f apiFlags, data string) (*embedded.Bootstrap, error) {
	there, err := embedded.Exists(data)
	if err != nil {
		return nil, err
	}
	if there {
		if f.imported != "" {
			fmt.Fprintf(in.Stderr, "%s holds a workspace already: nothing is imported\n", in.Display(data))
		}
		return nil, nil
	}
	creation, err := f.creation(ctx, in)
	if err != nil {
		return nil, err
	}
	first, err := embedded.Create(ctx, data, creation)
	return &first, err
}

// cloneFirst refuses what git clone or tar makes a directory of.
func (f apiFlags) cloneFirst(in Invocation) error {
	info, err := os.Stat(in.Absolute(f.imported))
	host, _, remote := strings.Cut(f.imported, ":")
	switch {
	case strings.Contains(f.imported, "://"):
		return cli.Usagef("--import takes a path; git clone %s first, and name the clone", baseurl.Redacted(f.imported))
	case err != nil && remote && len(host) > 1 && !strings.ContainsAny(host, `/\`): // C: is a disk
		return cli.Usagef("--import takes a path; git clone %s first, and name the clone", f.imported)
	case err != nil || info.IsDir():
		return nil
	case strings.HasSuffix(f.imported, ".bundle"):
		return cli.Usagef("--import takes a directory, and %s is a bundle of git's; git clone it first, and name the clone", f.imported)
	case strings.HasSuffix(f.imported, ".tgz"), strings.HasSuffix(f.imported, ".tar.gz"), strings.HasSuffix(f.imported, ".zip"):
		return cli.Usagef("--import takes a directory, and %s is an archive; unpack it first, and name the directory (svc restore takes an archive of svc backup)", f.imported)
	}
	return nil
}

// creation is what the first start makes the workspace from.
func (f apiFlags) creation(ctx context.Context, in Invocation) (embedded.Creation, error) {
	c := embedded.Creation{Name: f.workspace, KeepKey: !in.Person(in.Stdout), By: cli.Actor(in.Getenv), Progress: func(done, total int64) {
		cli.Line(in.Stderr)(fmt.Sprintf("copying the repository: %d %%", 100*done/max(total, 1)), done == total)
	}}
	if f.imported == "" {
		c.Source, c.Files = "samples", map[string][]byte{}
		for _, file := range sample.All() {
			c.Files[file.Path] = file.Content
		}
		c.Name = cmp.Or(c.Name, "samples")
		return c, nil
	}
	if err := f.cloneFirst(in); err != nil {
		return c, err
	}
	path, err := in.discover(f.imported)
	if err != nil {
		return c, fmt.Errorf("--import: %w", err)
	}
	c.Name = cmp.Or(c.Name, filepath.Base(path))
	read, err := source.Read(ctx, path, in.Display)
	for _, note := range read.Notes {
		fmt.Fprintln(in.Stderr, note)
	}
	if refused, ok := errors.AsType[*source.Refusal](err); ok {
		return c, in.locate(&directory.Refusal{Attempt: "import", Path: path, Problems: refused.Problems})
	}
	if err != nil {
		return c, fmt.Errorf("--import: %w", err)
	}
	c.Git, c.Files, c.Source = read.Git, read.Files, read.Name
	return c, nil
}

func (in Invocation) apiStartUp(f apiFlags, repository string, first *embedded.Bootstrap) string {
	base := server.URL(f.host, f.port)
	var b strings.Builder
	fmt.Fprintf(&b, "Listening    %s/v1\nConsole      %s/console/\nRepository   %s\n", base, f.publicURL, repository)
	if first == nil {
		fmt.Fprintf(&b, "Keys         svc key create creates one, svc key list shows them\n")
		return b.String()
	}
	if in.Person(in.Stdout) { // neither does what signs somebody in belong into a log
		fmt.Fprintf(&b, "Sign in      %s\n             (as %s, once, within 10 minutes; svc login prints another)\n", cli.SignInAddress(f.publicURL, first.OneTime), first.Principal.Name)
	} else {
		fmt.Fprintf(&b, "Sign in      svc login --name <you> --data '%s' --public-url %s\n             (prints an address that signs you in to the console, once)\n", in.Display(in.Absolute(f.data)), f.publicURL)
	}
	key, roles := first.Key.Reveal(), strings.Join(first.Principal.Roles, ", ")
	if !in.Person(in.Stdout) { // a key does not belong into a log
		file := filepath.Join(in.Display(in.Absolute(f.data)), embedded.FirstKeyName)
		fmt.Fprintf(&b, "Key          in the file %s\n             (%s; take it from there and delete the file)\n", file, roles)
		fmt.Fprintf(&b, "Try          curl -H \"Authorization: Bearer $(cat '%s')\" %s/v1/flags\n", file, f.publicURL)
		return b.String()
	}
	fmt.Fprintf(&b, "Key          %s\n             (%s; shown only once)\n", key, roles)
	fmt.Fprintf(&b, "Try          curl -H 'Authorization: Bearer %s' %s/v1/flags\n", key, f.publicURL)
	return b.String()
}
