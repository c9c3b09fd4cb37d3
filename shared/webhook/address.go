package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// closed are ranges that no receiver on the internet has: of this machine, private networks
// and links, carriers, documentation and tests, multicast, and what leads to such by
// translation (6to4, Teredo, local NAT64).
var closed = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"::/32", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/9", "ff00::/8")

// translated is the range in which a network without IPv4 has its addresses.
var translated = netip.MustParsePrefix("64:ff9b::/96")

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// inside reports whether an address lies in one of some ranges, in whichever way it is written.
func inside(ip netip.Addr, ranges []netip.Prefix) bool {
	ip = ip.Unmap().WithZone("")
	if translated.Contains(ip) {
		bytes := ip.As16()
		ip = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

type refusedAddress struct{ message string }

func (r *refusedAddress) Error() string { return r.message }

// admit says whether an address may be dialled: after names were resolved, of the address
// itself, so that no name can lead elsewhere in between.
func admit(address string, plain bool, allowed []netip.Prefix) error {
	at, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return &refusedAddress{"the address cannot be read"}
	case inside(at.Addr(), allowed):
		return nil
	case inside(at.Addr(), closed):
		return &refusedAddress{fmt.Sprintf("%s is an address of a private network or of this machine: whoever runs the server allows such with --webhook-allow", at.Addr())}
	case plain:
		return &refusedAddress{"an address of the internet begins with https://"}
	}
	return nil
}

// Refused makes what says of an address, as somebody writes it, why it could never be dialled:
// its host is a number, or this machine, and not allowed. What a name leads to is known when
// it is dialled.
func Refused(allowed []netip.Prefix) func(address string) error {
	return func(address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return nil // said elsewhere
		}
		host := u.Hostname()
		if strings.EqualFold(host, "localhost") {
			host = "127.0.0.1"
		}
		if _, err := netip.ParseAddr(host); err != nil {
			return nil
		}
		return admit(net.JoinHostPort(host, "443"), u.Scheme == "http", allowed)
	}
}

const (
	connectWithin = 5 * time.Second
	answerWithin  = 10 * time.Second // an attempt as a whole
)

// plainly marks a request that is not encrypted.
type plainly struct{}

// Client sends to receivers. It follows no redirect and asks no proxy, which would resolve
// names by itself: each address is checked when it is dialled, and what is allowed is
// reached too. Names are resolved by resolver, nil for the system's.
func Client(allowed []netip.Prefix, resolver *net.Resolver) *http.Client {
	dialer := &net.Dialer{Timeout: connectWithin, Resolver: resolver, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		return admit(address, ctx.Value(plainly{}) != nil, allowed)
	}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: connectWithin,
			MaxResponseHeaderBytes: 16 << 10, DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       answerWithin,
	}
}

// ReadAllowed reads ranges of addresses, such as 10.0.0.0/8 or 127.0.0.1.
func ReadAllowed(texts []string) (allowed []netip.Prefix, err error) {
	for _, text := range texts {
		p, wrong := netip.ParsePrefix(text)
		if ip, single := netip.ParseAddr(text); wrong != nil && single == nil && ip.Zone() == "" {
			p, wrong = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%.100q is no address or range, such as 10.0.0.0/8", text))
			continue
		}
		allowed = append(allowed, p.Masked())
	}
	return allowed, err
}
