package httpapi

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/settings"
	"svc.example/svc/shared/webhook"
	"svc.example/svc/shared/workspace"
)

// Console makes the routes those of the console's page, beside the REST API: who asks is
// told by a session in a cookie, and by nothing else.
//
// What must stay true: a request that the page did not send does nothing, whatever cookie
// comes with it. Browsers say where a request comes from, and let no other page send the
// header that this one sends.
type Console struct {
	// Stores are those of a workspace's settings. Nothing is asked.
	Stores func(workspace string) settings.Stores
	// Workspace is the one that people sign in to; "" where there are several, one of which
	// each request names.
	Workspace string
	// SignIn is whom people sign in with, if anybody.
	SignIn settings.SignIn
	// Begin begins a sign-in with the issuer and returns its address there, and a cookie; with
	// the id of a principal it links them to who signs in.
	Begin func(ctx context.Context, workspace string, link access.ID) (address string, cookie *http.Cookie, err error)
	// Refresh reads anew what the issuer says of a session's person, where that is due, and
	// tells whether anything may have changed; its error is why the session is over. Nil: never.
	Refresh func(ctx context.Context, session access.Key, record access.KeyRecord) (changed bool, err error)
}

// PageEndpoints are those that the page has beside the API's.
func PageEndpoints() []endpoints.Endpoint {
	all := slices.DeleteFunc(consoleDescribed().endpoints(), func(e endpoints.Endpoint) bool { return e == endpoints.DocsFile })
	for i := range all {
		all[i].Path = ConsolePath + all[i].Path
	}
	return all
}

// ConsolePath is what the paths of the console's own routes begin with.
const ConsolePath = "/console/api"

const (
	// SessionCookie is the cookie of a session. Browsers take one of such a name from the
	// host itself alone, over TLS or on the same machine.
	SessionCookie = "__Host-svc-session"
	// PageHeader is sent by the page with each request.
	PageHeader = "Svc-Console"
)

//go:embed console.json
var consoleJSON []byte

// consoleDescribed is the description of what the page asks beside the API.
var consoleDescribed = sync.OnceValue(func() *description {
	tree, _ := jsontree.Parse(consoleJSON) // a test reads it
	return readDescription(tree)
})

var sessionKeys = authentication.Keys{
	Kinds:  []access.Kind{access.KindSession},
	Wanted: "the console takes a session; sign in",
}

// SetSession has the browser keep a session, or with the zero Key forget it.
func SetSession(header http.Header, session access.Key) {
	cookie := http.Cookie{Name: SessionCookie, Value: session.Reveal(), Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(access.SessionFor.Seconds())}
	if cookie.Value == "" {
		cookie.MaxAge = -1
	}
	header.Add("Set-Cookie", cookie.String())
}

// Session is the one that a browser has; the zero Key for none.
func Session(r *http.Request) access.Key {
	var session access.Key
	if cookie, err := r.Cookie(SessionCookie); err == nil {
		session, _ = access.ParseKey(cookie.Value) // what is none ends nothing
	}
	return session
}

// fromThePage refuses what another page may have sent.
func (c *call) fromThePage() error {
	r := c.request
	site, same := r.Header.Get("Sec-Fetch-Site"), false
	if site == "" {
		same = r.Header.Get("Origin") == c.origin()
	} else {
		same = site == "same-origin"
	}
	if same && r.Header.Get(PageHeader) != "" {
		return nil
	}
	return fault.New(fault.Forbidden, "only the console's own page asks here; programs send a key to %s", version)
}

// origin is the page's.
func (c *call) origin() string {
	if u, err := url.Parse(c.options.PublicURL); err == nil && u.Host != "" && !isLoopback(c.request.Host) {
		return u.Scheme + "://" + u.Host
	}
	return "http://" + c.request.Host
}

// private refuses to sign somebody in where others could read along.
func (c *call) private() error {
	if strings.HasPrefix(c.options.PublicURL, "https://") || isLoopback(c.request.Host) || c.request.TLS != nil {
		return nil
	}
	return fault.New(fault.Forbidden, "signing in needs HTTPS: whoever runs the server puts a proxy with TLS in front and names its address with --public-url")
}

func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// ways tell whom nobody knows how to sign in.
func (c *call) ways() map[string]any {
	return map[string]any{"principal": nil, "issuer": c.options.Console.SignIn.Issuer, "private": c.private() == nil}
}

// SessionRow is who is signed in.
type SessionRow struct {
	Workspace   string              `json:"workspaceId"`
	Principal   SessionPrincipal    `json:"principal"`
	Permissions []access.Permission `json:"permissions"`
	Administers bool                `json:"administers"`
	ExpiresAt   time.Time           `json:"expiresAt"`
	Issuer      *string             `json:"issuer"` // null: nobody signs in with one here
}

// SessionPrincipal is the person.
type SessionPrincipal struct {
	ID     access.ID          `json:"id"`
	Type   string             `json:"type"`
	Name   string             `json:"name"`
	Email  string             `json:"email,omitempty"`
	Roles  []settings.RoleRow `json:"roles"`
	Linked bool               `json:"linked"` // to an identity at the issuer
}

func (c *call) sessionRow(workspace string, p access.Principal, expires time.Time) SessionRow {
	row := SessionRow{
		Workspace: workspace, Administers: access.Administers(p.EffectiveRoles()), ExpiresAt: expires,
		Permissions: append([]access.Permission{}, access.Permissions(p.EffectiveRoles())...),
		Principal:   SessionPrincipal{p.ID, string(p.Type), p.Name, p.Email, settings.RoleRows(p.EffectiveRoles()), p.Identity != access.Identity{}},
	}
	if issuer := c.options.Console.SignIn.Issuer; issuer != "" {
		row.Issuer = &issuer
	}
	return row
}

// Sessions is signing in and out.
func Sessions() Group {
	return asDescribed(Group{"session", map[string]handler{
		"getSession": func(_ context.Context, c *call) (any, error) {
			if _, err := c.request.Cookie(SessionCookie); err != nil {
				return c.ways(), nil
			}
			err := c.open()
			if err != nil && fault.Of(err).Kind == fault.Unauthorized {
				SetSession(c.header, access.Key{}) // it is over
				return c.ways(), nil
			}
			if err != nil {
				return nil, err
			}
			return c.sessionRow(c.session.Whoami().WorkspaceID, c.session.Principal(), c.session.Key().ExpiresAt), nil
		},
		"signIn": func(ctx context.Context, c *call) (any, error) {
			if err := c.private(); err != nil {
				return nil, err
			}
			oneTime, err := access.ParseKey(text(c.body, "oneTimeKey"))
			workspace := string(oneTime.Workspace())
			if only := c.options.Console.Workspace; err != nil || only != "" && only != workspace {
				return nil, errSpent
			}
			stores := c.options.Console.Stores(workspace)
			before := Session(c.request)
			session, owner, err := stores.Registry.SignIn(ctx, oneTime, before)
			switch {
			case err == nil:
			case errors.Is(err, access.ErrNotFound), errors.Is(err, access.ErrKeyMismatch), errors.Is(err, access.ErrKeyRevoked), errors.Is(err, access.ErrKeyExpired), errors.Is(err, access.ErrDisabled):
				return nil, errSpent
			default:
				return nil, repository.Fault(err)
			}
			SetSession(c.header, session)
			if other := before.Workspace(); other != "" && other != oneTime.Workspace() {
				_ = c.options.Console.Stores(string(other)).Registry.EndSession(ctx, before) // else it ends by itself
			}
			return c.sessionRow(workspace, owner, stores.Now().UTC().Truncate(time.Second).Add(access.SessionFor)), nil
		},
		"beginSignIn": func(ctx context.Context, c *call) (any, error) {
			workspace := cmp.Or(c.options.Console.Workspace, text(c.body, "workspace"))
			if _, err := access.ParseID(workspace); err != nil {
				return nil, fault.New(fault.BadRequest, "which workspace to sign in to stands in the console's address, as in %s/console/?workspace=<id>: open the one that your administrator has given to you", c.origin())
			}
			return c.beginSignIn(ctx, workspace, "")
		},
		"linkIdentity": func(ctx context.Context, c *call) (any, error) {
			return c.beginSignIn(ctx, c.session.Whoami().WorkspaceID, c.session.Principal().ID)
		},
		"signOut": func(ctx context.Context, c *call) (any, error) {
			err := c.options.Console.Stores(c.session.Whoami().WorkspaceID).Registry.EndSession(ctx, Session(c.request))
			SetSession(c.header, access.Key{})
			return map[string]any{}, repository.Fault(err)
		},
	}})
}

// asDescribed refuses what the description does not have, before a group's own work.
func asDescribed(g Group) Group {
	for name, work := range g.handlers {
		g.handlers[name] = func(ctx context.Context, c *call) (any, error) {
			if len(c.issues) > 0 {
				return nil, refusal.Malformed(c.issues...)
			}
			return work(ctx, c)
		}
	}
	return g
}

func (c *call) beginSignIn(ctx context.Context, workspace string, link access.ID) (any, error) {
	if err := c.private(); err != nil {
		return nil, err
	}
	if c.options.Console.SignIn.Issuer == "" {
		return nil, fault.New(fault.NotFound, "nobody signs in with a provider here: whoever runs the service names one")
	}
	address, cookie, err := c.options.Console.Begin(ctx, workspace, link)
	if errors.Is(err, access.ErrNotFound) {
		return nil, fault.New(fault.NotFound, "there is no such workspace: open the address that your administrator has given to you")
	}
	if err != nil {
		return nil, repository.Fault(err)
	}
	c.header.Add("Set-Cookie", cookie.String())
	return map[string]any{"address": address}, nil
}

var errSpent = fault.New(fault.Unauthorized, "this address signs nobody in: it was used already, is older than 10 minutes, or is not whole; ask for another")

// SettingsGroup is what people who are signed in manage beside documents.
func SettingsGroup() Group {
	on := func(work func(ctx context.Context, c *call, s *settings.Settings) (any, error)) handler {
		return func(ctx context.Context, c *call) (any, error) {
			return work(ctx, c, settings.Of(c.options.Console.Stores(c.session.Whoami().WorkspaceID), c.session.Principal()))
		}
	}
	id := func(c *call) access.ID { return access.ID(c.request.PathValue("id")) }
	return asDescribed(Group{"settings", map[string]handler{
		"listPrincipals": on(func(ctx context.Context, _ *call, s *settings.Settings) (any, error) { return s.Principals(ctx) }),
		"addPrincipal": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return s.AddPrincipal(ctx, settings.NewPrincipal{Type: access.PrincipalType(text(c.body, "type")), Name: text(c.body, "name"), Email: text(c.body, "email"), Roles: texts(c.body, "roles")})
		}),
		"changePrincipal": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			var change settings.PrincipalChange
			change.Disabled = optional(c.body.Get("disabled").Bool())
			change.Name, change.Email = optional(c.body.Get("name").Text()), optional(c.body.Get("email").Text())
			if c.body.Get("roles") != nil {
				roles := texts(c.body, "roles")
				change.Roles = &roles
			}
			if identity := c.body.Get("identity"); identity != nil {
				change.Identity = &access.Identity{Issuer: text(identity, "issuer"), Subject: text(identity, "subject")}
			}
			return s.ChangePrincipal(ctx, id(c), change)
		}),
		"makeSignInAddress": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) { return s.SignInKey(ctx, id(c)) }),
		"endSessions": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return map[string]any{}, s.EndSessions(ctx, id(c))
		}),
		"listKeys": on(func(ctx context.Context, _ *call, s *settings.Settings) (any, error) { return s.Keys(ctx) }),
		"createKey": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			days := whole(c.body, "expiresInDays")
			return s.CreateKey(ctx, access.KeyRequest{Kind: access.Kind(text(c.body, "kind")), Name: text(c.body, "name"), Environment: text(c.body, "environment"), Topic: text(c.body, "topic"),
				Principal: access.ID(text(c.body, "principalId")), Expires: time.Duration(days) * 24 * time.Hour})
		}),
		"revokeKey": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) { return s.RevokeKey(ctx, id(c)) }),
		"rotateKey": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return s.RotateKey(ctx, id(c), time.Duration(whole(c.body, "overlapHours"))*time.Hour)
		}),
		"listAllEnvironments": on(func(ctx context.Context, _ *call, s *settings.Settings) (any, error) { return s.Environments(ctx) }),
		"addEnvironment": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			e := provision.EnvironmentEdit{Name: text(c.body, "name"), Add: true, Type: text(c.body, "type")}
			if boolean(c.body, "protected") {
				e.Protected = optional(true, true)
			}
			return s.EditEnvironment(ctx, e)
		}),
		"changeEnvironment": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			e := provision.EnvironmentEdit{Name: c.request.PathValue("name"), Type: text(c.body, "type"), Position: whole(c.body, "position"),
				Protected: optional(c.body.Get("protected").Bool()), Archived: optional(c.body.Get("archived").Bool())}
			if review := c.body.Get("review"); review != nil {
				if e.Reviewed = true; review.Kind == jsontree.Object {
					e.Review = &workspace.Review{Approvals: whole(review, "approvals"), Roles: texts(review, "roles"), AuthorMayApprove: boolean(review, "authorMayApprove")}
				}
			}
			return s.EditEnvironment(ctx, e)
		}),
		"listWebhooks": on(func(ctx context.Context, _ *call, s *settings.Settings) (any, error) { return s.ListWebhooks(ctx) }),
		"createWebhook": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return s.CreateWebhook(ctx, webhookEdit(c.body))
		}),
		"getWebhook": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) { return s.Webhook(ctx, id(c)) }),
		"changeWebhook": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return s.ChangeWebhook(ctx, id(c), webhookEdit(c.body))
		}),
		"deleteWebhook": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return map[string]any{}, s.DeleteWebhook(ctx, id(c))
		}),
		"rotateWebhook": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return s.RotateWebhook(ctx, id(c), time.Duration(whole(c.body, "overlapHours"))*time.Hour, text(c.body, "address"))
		}),
		"testWebhook": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return s.TestWebhook(ctx, id(c))
		}),
		"redeliver": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			return s.Redeliver(ctx, id(c), c.request.PathValue("delivery"))
		}),
		"getSignIn": on(func(_ context.Context, c *call, s *settings.Settings) (any, error) {
			return s.ShowSignIn(c.options.Console.SignIn)
		}),
		"listAudit": on(func(ctx context.Context, c *call, s *settings.Settings) (any, error) {
			newest := 200
			if n := c.query.number("limit"); n != nil {
				newest = *n
			}
			return s.ListAudit(ctx, newest)
		}),
	}})
}

// webhookEdit is what a body says of a webhook.
func webhookEdit(body *jsontree.Node) webhook.Edit {
	list := func(name string) *[]string {
		if body.Get(name) == nil {
			return nil
		}
		all := texts(body, name)
		return &all
	}
	return webhook.Edit{Name: optional(body.Get("name").Text()), Address: optional(body.Get("address").Text()), Form: optional(body.Get("form").Text()),
		Kinds: list("kinds"), Environments: list("environments"), Tags: list("tags"), Types: list("types")}
}

// credential is what tells whose request it is.
func (c *call) credential() (keys authentication.Keys, text string, err error) {
	switch {
	case c.operation.Keys == endpoints.Guard:
		text, err = guardKey(c.request)
		return guardKeys, text, err
	case c.options.Console == nil:
		text, err = bearer(c.request.Header)
		return managementKeys, text, err
	}
	cookie, err := c.request.Cookie(SessionCookie)
	if err != nil {
		return sessionKeys, "", fault.New(fault.Unauthorized, "nobody is signed in")
	}
	return sessionKeys, cookie.Value, nil
}

// refreshed has the claims of a session's person read anew where that is due.
func (c *call) refreshed() (changed bool, err error) {
	if c.options.Console == nil || c.options.Console.Refresh == nil {
		return false, nil
	}
	_, text, err := c.credential()
	if err != nil {
		return false, err
	}
	session, err := sessionKeys.Parse(text)
	if err != nil {
		return false, err
	}
	return c.options.Console.Refresh(c.request.Context(), session, c.session.Key())
}

// whole is a whole number of a body; 0 for none.
func whole(tree *jsontree.Node, name string) int {
	n, _ := strconv.Atoi(tree.Get(name).Literal())
	return n
}
