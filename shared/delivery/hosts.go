package delivery

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"svc.example/svc/shared/fault"
)

// Hosts has next answer only to requests whose Host is a loopback name
// (localhost and what lies below it), an IP address or one of the given names.
//
// It is for a server on a loopback address whose answers are for the pages of
// certain origins. A page of any other origin can have the name of its own host
// lead to 127.0.0.1 (DNS rebinding): its requests are then of the same origin for
// the browser, which CORS lets pass. But they name that host.
func Hosts(names []string, next http.Handler) http.Handler {
	allowed := map[string]bool{}
	for _, name := range names {
		allowed[hostName(name)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := hostName(r.Host); name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name) != nil || allowed[name] {
			next.ServeHTTP(w, r)
			return
		}
		Refuse(w, r, fault.New(fault.Misdirected, "this server answers to localhost and IP addresses; start it with --allowed-host and the name that you use, if the name is yours"))
	})
}

// hostName is the name in a Host header: without a port, brackets, or the dot
// that may end a name, in small letters.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// hostForm is the form of names that browsers ask for. An underscore is no
// letter of a host's name, but some have one.
var hostForm = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

// CheckHost says what is wrong with a value that should be the name of a host,
// or nil.
func CheckHost(name string) error {
	if hostForm.MatchString(name) && len(name) <= 253 {
		return nil
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return fault.New(fault.BadRequest, "%q is not how browsers ask for a host: write names in other letters as they do, like xn--bcher-kva.test", name)
	}
	return fault.New(fault.BadRequest, "%q is not the name of a host: write it without scheme and port, like flags.test", name)
}
