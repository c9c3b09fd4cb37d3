package ratelimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses of proxies whose X-Forwarded-For is believed.
type Proxies []netip.Prefix

// ParseProxies reads addresses such as 10.0.0.7 and ranges such as 10.0.0.0/8.
func ParseProxies(texts []string) (Proxies, error) {
	var proxies Proxies
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, notOne := netip.ParseAddr(text)
			if notOne != nil || address.Zone() != "" {
				return nil, fmt.Errorf("%q is not an address such as 10.0.0.7 or a range such as 10.0.0.0/8", text)
			}
			prefix = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

// maxHops is how many proxies may stand between a client and the first of
// ours. What lies beyond is not looked at.
const maxHops = 16

// Address is where a request comes from: the other end of its connection, or,
// when that is a proxy of ours, the last address of X-Forwarded-For that is
// not. Of an IPv6 address only the network counts (64 bits): a household or a
// server has one of these, with any number of addresses. What is no address is
// the zero Addr.
func (p Proxies) Address(r *http.Request) netip.Addr {
	address := parseHop(r.RemoteAddr)
	if !p.ours(address) {
		return network(address)
	}
	hops := strings.Join(r.Header["X-Forwarded-For"], ",")
	for range maxHops {
		comma := strings.LastIndexByte(hops, ',') // the nearest proxy wrote the last one
		before := parseHop(strings.TrimSpace(hops[comma+1:]))
		if !before.IsValid() {
			break // the nearest that can be read stands for it
		}
		if address = before; comma < 0 || !p.ours(address) {
			break
		}
		hops = hops[:comma]
	}
	return network(address)
}

// Trust reports whether a request comes straight from one of the proxies.
func (p Proxies) Trust(r *http.Request) bool { return p.ours(parseHop(r.RemoteAddr)) }

func (p Proxies) ours(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

func network(address netip.Addr) netip.Addr {
	if address.Is4() {
		return address
	}
	prefix, err := address.WithZone("").Prefix(64)
	if err != nil {
		return netip.Addr{}
	}
	return prefix.Addr()
}

// parseHop reads an address, with or without a port; what is none is the zero Addr.
func parseHop(text string) netip.Addr {
	both, err := netip.ParseAddrPort(text)
	if address := both.Addr(); err == nil {
		return address.Unmap()
	}
	address, _ := netip.ParseAddr(text)
	return address.Unmap()
}
