package browsertest

import (
	"fmt"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/must"
)

// People sign in to a workspace of the hosted service: by an address, and then with the
// provider, where the console's address says which workspace.
func TestConsoleSignsInHosted(t *testing.T) {
	var i issuer
	base, workspace := startHosted(t, nil, func(site *instance.Site) {
		i = startIssuer(t, site.PublicURL)
		site.SignIn = fmt.Sprintf(`{"issuer": %q, "clientId": "svc", "clientSecret": %q, "scopes": ["groups"], "rolesClaim": "groups", "roles": {"platform": ["engineer"]}}`, i.base, clientSecret)
	})
	oneTime, _, err := workspace.IssueKey(t.Context(), "", access.KeyRequest{Kind: access.KindOneTime, Name: "you", Roles: []string{"admin", "engineer"}, Expires: access.OneTimeFor})
	must.Do(t, err)
	p := blankTab(t, desk)
	p.load(t, cli.SignInAddress(base, oneTime))
	p.click(t, ".signin .primary")
	p.says(t, ".me", "you")
	p.visit(t, "#/flags/dark-mode")
	p.says(t, "main", "dark-mode")
	p = blankTab(t, desk)
	p.load(t, base+"/console/")
	p.says(t, ".signin", "Sign in with 127.0.0.1")
	p.click(t, ".signin .primary")
	p.says(t, ".signin [role=alert]", "/console/?workspace=<id>")
	p.load(t, base+"/console/?workspace=0000000000000000")
	p.says(t, ".signin", "Sign in with 127.0.0.1")
	p.click(t, ".signin .primary")
	p.says(t, ".signin [role=alert]", "There is no such workspace")

	open := func(name string) docsPage {
		p := blankTab(t, desk)
		p.load(t, base+"/console/?workspace="+workspace.ID)
		p.says(t, ".signin", "Sign in with 127.0.0.1")
		p.at(t, name)
		return p
	}
	p = open("eve")
	p.says(t, ".signin", "Nobody has let you in here yet")
	if at := call[string](t, p.tab, `() => location.search`); at != "?workspace="+workspace.ID {
		t.Errorf("the address is no longer that of the workspace: %q", at)
	}
	i.is(t, `{"account": "ada", "claims": {"groups": ["platform"]}}`)
	p = open("ada")
	p.says(t, ".me", "ada@acme.example")
	p.click(t, `[aria-label="Sign out"]`)
	p.says(t, ".signin", "Sign in with 127.0.0.1")
}
