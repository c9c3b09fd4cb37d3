package command

import (
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
)

const trustedProxy = "address or range of a proxy in front whose X-Forwarded-For is believed; may be repeated"

// defaultStrangers is what an address may ask of svc api without a key: enough
// to load the reference a few times, too little to try keys.
var defaultStrangers = ratelimit.Rate{PerSecond: 10, Burst: 100}

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

// limited bounds what each address may ask of svc serve; the zero Rate is no
// limit.
func limited(rate ratelimit.Rate, proxies ratelimit.Proxies, tables delivery.Tables) delivery.Tables {
	buckets := ratelimit.NewBuckets(rate, time.Now)
	if buckets == nil {
		return tables
	}
	return func(w http.ResponseWriter, r *http.Request, key string) (*delivery.Table, error) {
		if wait := buckets.Take(ratelimit.KeyID("", proxies.Address(r))); wait > 0 {
			return nil, fault.New(fault.RateLimited, "too many requests from this address").After(wait)
		}
		return tables(w, r, key)
	}
}
