package worktree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/console"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/release"
	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/workspace"
)

// Options are how the API of a directory is served.
type Options struct {
	// Dir is the config directory, and Environment the one that is served of it.
	Dir, Environment string
	// Overrides are those of both; nil where there is no place for any.
	Overrides *overrides.File
	// Served is the state that is served of both where that is not the one on disk, and
	// whether it is not; nil where it always is.
	Served func() (state datadir.State, behind bool)
	// ServedOverrides is the text of the overrides that are served, and whether those go
	// on being served whatever the file has.
	ServedOverrides func() (text []byte, fixed bool)
	// Who is the name under which the page edits.
	Who string
	// Hosts are the hosts by which the server is reached, with the port: see OwnHosts.
	Hosts []string
	// Logger is told of what went wrong on our side; nil for nobody.
	Logger *slog.Logger
}

// API is the REST API on a directory, below /v1, for a page of the same server:
//
//	/v1/...                    as everywhere, see package httpapi
//	GET    /v1/problems        what svc verify --json says
//	GET    /v1/clients         who has asked for which flags since the start, and with which contexts
//	GET    /v1/overrides       the overrides in force, and why some come to nothing
//	PUT    /v1/overrides       sets one: {"key", "value", "for"?: {"property", "value"}, "until"?}
//	DELETE /v1/overrides?key=  takes those of a key back; without one, all; with &for=user.key%3Du1
//	                           the one for these contexts, and with &for= the one for all
//
// Writes take ?dryRun=true.
type API struct {
	options Options
	tree    *Worktree
	digest  [sha256.Size]byte // of the token
	hosts   map[string]bool
	clients clients
	handler http.Handler
	pages   http.Handler
}

// OwnHosts are the hosts by which a server on a loopback host is reached.
func OwnHosts(host string, port int) []string {
	var all []string
	for _, name := range []string{host, "localhost", "127.0.0.1", "::1"} {
		all = append(all, strings.ToLower(net.JoinHostPort(name, strconv.Itoa(port))))
		if port == 80 { // which browsers leave out
			all = append(all, strings.ToLower(strings.TrimSuffix(net.JoinHostPort(name, ""), ":")))
		}
	}
	return all
}

// New opens a directory and serves the API on it.
func New(options Options) (*API, error) {
	tree, err := Open(options.Dir, options.Who)
	if err != nil {
		return nil, err
	}
	tree.served = options.Served
	a := &API{options: options, tree: tree, digest: sha256.Sum256([]byte(tree.key.Reveal())), hosts: map[string]bool{},
		clients: clients{rows: lru.New[clientName, *client](maxClients),
			contexts: seenContexts{options.Environment, lru.New[[2]string, telemetry.Saved](maxSeenContexts)}}}
	tree.remembered.logger = options.Logger
	if path := answersOf(options.Dir, options.Overrides); path != "" {
		tree.remembered.open(path)
	}
	for _, host := range options.Hosts {
		a.hosts[host] = true
	}
	service := control.New(control.Settings{
		Authenticator: tree,
		Repository:    func(context.Context, string) (control.Repository, error) { return tree, nil },
		Now:           time.Now,
		Files:         true,
		Overrides:     a.overridden,
		Served:        a.served,
		Contexts:      a.clients.contexts,
		Random:        rand.Float64,
	})
	routes, notFound, err := a.routes(service)
	if err != nil {
		return nil, err
	}
	a.handler = router.New(routes, notFound)
	a.pages = router.New(console.Routes(true, options.Environment), http.NotFoundHandler())
	return a, nil
}

// routes are all of the API.
func (a *API) routes(service *control.Service) (routes []router.Route, notFound http.Handler, err error) {
	const enough = 1000 // for one page
	routes, notFound, err = httpapi.Routes(httpapi.Options{Service: service, Release: release.Name(), Logger: a.options.Logger, Directory: true,
		Limit: ratelimit.Rate{PerSecond: enough, Burst: enough}}, httpapi.All()...)
	if err != nil {
		return nil, nil, fmt.Errorf("the API's description and its handlers differ: %w", err)
	}
	for path, methods := range map[string]map[string]answering{
		"/v1/problems":  {http.MethodGet: a.problems},
		"/v1/clients":   {http.MethodGet: a.listClients},
		"/v1/overrides": {http.MethodGet: a.listOverrides, http.MethodPut: a.putOverride, http.MethodDelete: a.deleteOverrides},
	} {
		routes = append(routes, router.Route{Path: path, Handler: byMethod(methods)})
	}
	return routes, notFound, nil
}

// Token is what a request has to carry as Authorization: Bearer. The page has it from its
// address, behind #token=, which only who started the server was told.
func (a *API) Token() string { return a.tree.key.Reveal() }

// Beside serves the API below /v1, the schema of documents and the console, and everything else as next does:
// pages of other origins may read that, and nothing of this.
func (a *API) Beside(next http.Handler) http.Handler {
	next = a.clients.watch(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/v1" || strings.HasPrefix(path, "/v1/") || path == "/schemas/v1/stored-config.json":
			a.ServeHTTP(w, r)
		case path == "/" || path == "/console" || strings.HasPrefix(path, "/console/"):
			if f := a.ownHost(r); f != nil { // the console is there under the server's own names alone
				delivery.WriteFault(w, f)
				return
			}
			a.pages.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ServeHTTP answers the page of the server's own, and nobody else.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set(requestid.Header, cmp.Or(requestid.Named(r.Header.Get(requestid.Header)), requestid.New()))
	if f := a.admit(r); f != nil {
		if f.Kind == fault.Unauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="svc"`)
		}
		delivery.WriteFault(w, f)
		return
	}
	a.handler.ServeHTTP(w, r)
}

// ownHost says why a request for another name is not answered.
func (a *API) ownHost(r *http.Request) *fault.Fault {
	if a.hosts[strings.ToLower(r.Host)] {
		return nil
	}
	return fault.New(fault.Misdirected, "this server does not answer under that name")
}

// admit says why a request is none of the page's. A name that was made to lead here
// (DNS rebinding) is not among the hosts, and a page of another origin says which it
// is, or does not know the token.
func (a *API) admit(r *http.Request) *fault.Fault {
	if f := a.ownHost(r); f != nil {
		return f
	}
	if origins, there := r.Header["Origin"]; there && (len(origins) != 1 || !strings.EqualFold(origins[0], "http://"+r.Host)) {
		return fault.New(fault.Forbidden, "pages of other origins are not answered here")
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" && site != "none" {
			return fault.New(fault.Forbidden, "pages of other origins are not answered here")
		}
	}
	// The API's reference is the same for everybody and has nothing of the directory.
	if path := r.URL.Path; path == "/v1/openapi.json" || path == "/v1/docs" || strings.HasPrefix(path, "/v1/docs/") {
		return nil
	}
	var token string
	if lines := r.Header["Authorization"]; len(lines) == 1 {
		scheme, rest, _ := strings.Cut(lines[0], " ")
		if strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimSpace(rest)
		}
	}
	if digest := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(digest[:], a.digest[:]) != 1 {
		return fault.New(fault.Unauthorized, "the token of this server is missing: the address that it printed when it was started has it")
	}
	return nil
}

// served is the version of the directory that an environment is served, where that is
// not the one on disk.
func (a *API) served(environment string) string {
	if a.options.Served != nil && environment == a.options.Environment {
		if state, behind := a.options.Served(); behind {
			return state.Version()
		}
	}
	return ""
}

// overridden are the overrides of an environment, for evaluations. Those that cannot
// be read are reported by the server.
func (a *API) overridden(environment string) control.Overrides {
	file := a.options.Overrides
	if file == nil || environment != a.options.Environment {
		return control.Overrides{}
	}
	text, err := file.Text()
	all, wrong := file.Decode(text)
	if served, fixed := a.options.ServedOverrides(); fixed || err != nil || wrong != nil {
		text = served
		all, _ = file.Decode(text) // which the server has read
	}
	if text == nil {
		return control.Overrides{}
	}
	sum := sha256.Sum256(text)
	return control.Overrides{Version: hex.EncodeToString(sum[:]), Of: func(ws *workspace.Workspace) explanation.Overrides {
		return overrides.Apply(ws, all, time.Now()).Rules()
	}}
}
