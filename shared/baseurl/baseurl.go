// Package baseurl reads the addresses that services are reached at.
package baseurl

import (
	"net"
	"net/url"
	"strings"
)

// Parse reads a base URL: http or https, a host, perhaps a path, and nothing
// else. A slash at its end does not count. What is none is not ok; the caller
// knows what it should look like.
func Parse(text string) (u *url.URL, ok bool) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, false
	}
	return u, true
}

// Exposed reports whether what is sent to an address crosses a network unencrypted.
func Exposed(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return u.Scheme == "http" && !local
}

// Redacted is an address, or what should be one, without the user name and the
// password in it, either of which may be a secret.
func Redacted(text string) string {
	end := strings.LastIndexByte(text, '@')
	if end < 0 {
		return text
	}
	begin := 0
	if i := strings.Index(text[:end], "://"); i >= 0 {
		begin = i + len("://")
	}
	return text[:begin] + "xxxxx" + text[end:]
}
