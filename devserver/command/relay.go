package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/relay"
	"svc.example/svc/devserver/server"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/heap"
	"svc.example/svc/shared/ratelimit"
)

// relayFlags are the flags of svc serve that are for a relay.
type relayFlags struct {
	url      string
	keyFiles []string
	cache    string
}

func (f *relayFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "url", "", "serve the workspace of this address, of svc api or hosted, instead of a directory")
	cmd.Flags().StringArrayVar(&f.keyFiles, "key-file", nil, "with --url: file that holds a secret SDK key (svc_sk_...), which decides on the environment, - for standard input; may be repeated")
	cmd.Flags().StringVar(&f.cache, "cache", "", "with --url: directory that keeps the last good state, to start from while the address does not answer")
}

// check refuses flags that do not go together.
func (f relayFlags) check(cmd *cobra.Command) error {
	if f.url == "" {
		for _, name := range append([]string{"key-file", "cache"}, monitorNames...) {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s is for a relay: add --url with the address of the service that it follows", name)
			}
		}
		return nil
	}
	for _, name := range []string{"datadir", "environment", "watch", "no-watch"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s is for a directory, and --url for a workspace elsewhere, whose environment is that of the key: leave one of them out", name)
		}
	}
	if _, ok := baseurl.Parse(f.url); !ok {
		return cli.Usagef("--url %q is not the address of a service; it looks like https://flags.example.com", baseurl.Redacted(f.url))
	}
	if len(f.keyFiles) == 0 {
		return cli.Usagef("--url needs --key-file with a file that holds a secret SDK key (svc_sk_...); svc key create --kind secret creates one")
	}
	return nil
}

// keys reads the keys from the files.
func (f relayFlags) keys(in Invocation) ([]string, error) {
	var keys []string
	for _, name := range f.keyFiles {
		text, err := in.readKeyFile(name)
		if err != nil {
			return nil, err
		}
		text = strings.TrimSpace(text)
		key, err := access.ParseKey(text)
		if err != nil {
			return nil, cli.Usagef("--key-file %s: %v", name, err)
		}
		if key.Kind() != access.KindSecretSDK {
			return nil, cli.Usagef("--key-file %s holds a %s key; a relay reads what it serves with a secret SDK key (svc_sk_...)", name, key.Kind())
		}
		keys = append(keys, text)
	}
	return keys, nil
}

// firstState is how long a relay waits before it says what it serves.
const firstState = 3 * time.Second

// serveRelay serves what another service serves.
func serveRelay(ctx context.Context, in Invocation, f serveFlags, proxies ratelimit.Proxies, loopback bool) error {
	keys, err := f.relay.keys(in)
	if err != nil {
		return err
	}
	if f.key != "" && len(keys) > 1 {
		return cli.Usagef("--frontend-sdk-key is one key for all browsers, and does not tell which of %d environments they read: leave it out, and they show the public SDK key of theirs", len(keys))
	}
	listening, err := f.monitor.listen(f.host, f.port)
	if err != nil {
		return err
	}
	heap.WithinContainer()
	cache := f.relay.cache
	if cache != "" {
		cache = in.Absolute(cache)
	}
	logger := f.monitor.logger(in.Stderr)
	watched := f.monitor.monitor(logger, proxies)
	r, err := relay.Open(relay.Options{
		URL: f.relay.url, Keys: keys, FrontendKey: f.key, Cache: cache, Origins: f.origins, Polls: f.polls, Proxies: proxies,
		Streams: f.streams(), Logger: logger, Monitor: watched, LeadToConsole: f.console,
	})
	if err != nil {
		listening.close()
		return err
	}
	patience, cancel := context.WithTimeout(ctx, firstState)
	err = r.Await(patience)
	cancel()
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintln(in.Stderr, "warning: the service has not answered yet: 503 until it does")
	}
	var environments []string
	for _, name := range r.Environments() {
		environments = append(environments, cmp.Or(name, "(not known yet)"))
	}
	auth := "the keys of the service"
	if f.key != "" {
		auth = "key required, Authorization: Basic base64(1:<key>)"
	}
	fmt.Fprintf(in.Stdout, "Listening    %s\nUpstream     %s\nEnvironment  %s\nAuth         %s\n", server.URL(f.host, f.port), baseurl.Redacted(f.relay.url), strings.Join(environments, ", "), auth)
	if f.console {
		fmt.Fprintf(in.Stdout, "Console      that of the upstream, where /console/ leads\n")
	}
	if !loopback {
		fmt.Fprintln(in.Stderr, exposedWarning)
	}
	if address, ok := baseurl.Parse(f.relay.url); ok && baseurl.Exposed(address) {
		fmt.Fprintln(in.Stderr, "warning: keys cross the network unencrypted; use https")
	}
	err = listening.serve(ctx, f.guard(loopback, r.Handler()), r.EndStreams, watched, logger)
	r.Close()
	return err
}
