package command

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc.example/svc/devserver/server"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
)

// listenFlags are the flags of every server: svc serve and svc api.
type listenFlags struct {
	host             string
	port             int
	allowNonLoopback bool
	proxies          []string
	maxStreams       int
	noEvents         bool
	monitor          monitorFlags
}

func (f *listenFlags) add(cmd *cobra.Command, port int, monitored string) {
	flags := cmd.Flags()
	flags.StringVar(&f.host, "host", "127.0.0.1", "address to listen on; localhost means IPv4 and IPv6")
	flags.IntVar(&f.port, "port", port, "port to listen on; it is an error if it is taken")
	flags.BoolVar(&f.allowNonLoopback, "allow-non-loopback", false, "confirm a --host that other machines can reach")
	flags.StringArrayVar(&f.proxies, "trusted-proxy", nil, "address or range of a proxy in front whose X-Forwarded-For is believed; may be repeated")
	flags.IntVar(&f.maxStreams, "max-streams", server.MaxStreams, "event streams at once, over which clients hear of changes; fewer where the system lets too few files be open")
	flags.BoolVar(&f.noEvents, "no-events", false, "offer no event streams: clients poll")
	f.monitor.add(cmd, monitored)
}

// check refuses what can be seen to be wrong before anything is opened.
func (f *listenFlags) check() (proxies ratelimit.Proxies, loopback bool, err error) {
	f.host = strings.TrimSuffix(strings.TrimPrefix(f.host, "["), "]") // as in a URL
	if f.port < 1 || f.port > 65535 {
		return proxies, false, cli.Usagef("--port %d: choose a port from 1 to 65535", f.port)
	}
	if f.maxStreams < 1 {
		return proxies, false, cli.Usagef("--max-streams must be above zero; --no-events offers none")
	}
	if proxies, err = ratelimit.ParseProxies(f.proxies); err != nil {
		return proxies, false, cli.Usagef("--trusted-proxy: %v", err)
	}
	if err := f.monitor.check(f.allowNonLoopback); err != nil {
		return proxies, false, err
	}
	loopback, err = server.Loopback(f.host)
	return proxies, loopback, err
}

// defaultAnonymous is what an address may ask of svc api without a key: enough
// to load the reference a few times, too little to try keys.
var defaultAnonymous = ratelimit.Rate{PerSecond: 10, Burst: 100}

// rateFlags adds the two flags of a rate.
func rateFlags(flags *pflag.FlagSet, rate *ratelimit.Rate, name string, otherwise ratelimit.Rate, what string) {
	flags.Float64Var(&rate.PerSecond, name+"-limit", otherwise.PerSecond, "requests per second "+what)
	flags.IntVar(&rate.Burst, name+"-burst", otherwise.Burst, "the same, at once")
}

func checkRate(name string, rate ratelimit.Rate) error {
	if rate.PerSecond > 0 && rate.PerSecond <= maxRate && rate.Burst >= 1 && rate.Burst <= maxRate {
		return nil
	}
	return cli.Usagef("--%s-limit and --%s-burst must be above zero and at most %d", name, name, maxRate)
}

const maxRate = 1_000_000_000

// limited bounds what each address may ask of svc serve with a text, a key or a
// token; the zero Rate is no limit.
func limited[T any](buckets *ratelimit.Buckets, proxies ratelimit.Proxies, find func(http.ResponseWriter, *http.Request, string) (T, error)) func(http.ResponseWriter, *http.Request, string) (T, error) {
	if buckets == nil {
		return find
	}
	return func(w http.ResponseWriter, r *http.Request, text string) (found T, err error) {
		if wait := buckets.Take(ratelimit.KeyID("", proxies.Address(r))); wait > 0 {
			return found, fault.New(fault.RateLimited, "too many requests from this address").After(wait)
		}
		return find(w, r, text)
	}
}

// streams is how many event streams there may be, 0 for none.
func (f *listenFlags) streams() int {
	switch {
	case f.noEvents:
		return 0
	case f.maxStreams == server.MaxStreams: // nobody has said otherwise
		return min(f.maxStreams, server.Files()/2)
	}
	return f.maxStreams
}
