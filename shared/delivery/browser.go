package delivery

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Browser tells the browsers of an address apart, for events.Stream.Owner: "" for what
// is none.
func Browser(r *http.Request) string {
	if r.Header.Get("Sec-Fetch-Mode") == "" { // which all browsers send
		return ""
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host + " " + r.UserAgent()
}

// LocalBrowser is Browser where the page is one of a developer, from this machine, and
// the browser with it. The pages of others come by a proxy, which speaks HTTP/2 to their
// browsers, and one of this machine makes all of them look like one.
func LocalBrowser(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return ""
	}
	// A page of the same origin sends no Origin, and the Host may be the proxy's choice.
	page, err := url.Parse(cmp.Or(r.Header.Get("Origin"), r.Referer()))
	if err != nil {
		return ""
	}
	name := hostName(page.Hostname())
	if ip := net.ParseIP(name); name != "localhost" && !strings.HasSuffix(name, ".localhost") && !ip.IsLoopback() {
		return ""
	}
	return Browser(r)
}
