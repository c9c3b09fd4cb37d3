package signin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"svc.example/svc/shared/access"
)

// signatures are those that only the issuer can make: neither none nor HMAC.
var signatures = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// person is who a token speaks of. The nonce is "" for one that was refreshed.
func (p *Provider) person(ctx context.Context, provider *oidc.Provider, config *oauth2.Config, token *oauth2.Token, nonce string) (access.Arrival, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return access.Arrival{}, fmt.Errorf("%w: there is no ID token", errDenied)
	}
	ctx = oidc.ClientContext(ctx, p.client)
	verifier := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.settings.ClientID, SupportedSigningAlgs: signatures, Now: p.settings.Now})
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return access.Arrival{}, fmt.Errorf("%w: %w", errDenied, err)
	}
	if nonce != "" && id.Nonce != nonce {
		return access.Arrival{}, fmt.Errorf("%w: the nonce is another", errDenied)
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return access.Arrival{}, fmt.Errorf("%w: %w", errDenied, err)
	}
	if len(id.Audience) > 1 && claims["azp"] != p.settings.ClientID {
		return access.Arrival{}, fmt.Errorf("%w: the token is for somebody else", errDenied)
	}
	if err := p.more(ctx, provider, config, token, claims); err != nil {
		return access.Arrival{}, err
	}
	return p.arrival(access.Identity{Issuer: id.Issuer, Subject: id.Subject}, claims), nil
}

// more adds the claims that some issuers tell at another address alone.
func (p *Provider) more(ctx context.Context, provider *oidc.Provider, config *oauth2.Config, token *oauth2.Token, claims map[string]any) error {
	_, mailed := claims["email"]
	if provider.UserInfoEndpoint() == "" || mailed && (p.settings.RolesClaim == "" || find(claims, p.settings.RolesClaim) != nil) {
		return nil
	}
	info, err := provider.UserInfo(ctx, config.TokenSource(ctx, token))
	if err != nil {
		return asked(err)
	}
	if info.Subject != claims["sub"] {
		return fmt.Errorf("%w: the issuer tells of another person", errDenied)
	}
	told := map[string]any{}
	if err := info.Claims(&told); err != nil {
		return fmt.Errorf("%w: %w", errDenied, err)
	}
	for name, value := range told {
		if _, known := claims[name]; !known {
			claims[name] = value
		}
	}
	return nil
}

// arrival is what the claims of a person come to.
func (p *Provider) arrival(who access.Identity, claims map[string]any) access.Arrival {
	text := func(name string) string { value, _ := claims[name].(string); return value }
	a := access.Arrival{Identity: who, Name: text("name")}
	if verified := claims["email_verified"]; verified == true || verified == "true" {
		a.Email = text("email")
	}
	for _, name := range []string{"preferred_username", "email", "sub"} {
		if access.PlainName(a.Name) == "" {
			a.Name = text(name)
		}
	}
	for _, group := range list(find(claims, p.settings.RolesClaim)) {
		a.Claimed = append(a.Claimed, p.settings.Roles[group]...)
	}
	slices.Sort(a.Claimed)
	a.Claimed = slices.Compact(a.Claimed)
	_, domain, _ := strings.Cut(a.Email, "@")
	allowed := slices.ContainsFunc(p.settings.Domains, func(d string) bool { return domain != "" && strings.EqualFold(d, domain) })
	a.Welcome = allowed || len(p.settings.Domains) == 0 && len(a.Claimed) > 0
	return a
}

// find follows the full stops of a claim's name, unless the whole is one.
func find(claims map[string]any, name string) any {
	if value, there := claims[name]; there || name == "" {
		return value
	}
	first, rest, _ := strings.Cut(name, ".")
	inner, _ := claims[first].(map[string]any)
	if inner == nil {
		return nil
	}
	return find(inner, rest)
}

// list is a claim of one text or several.
func list(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return []string{claim}
	case []any:
		var all []string
		for _, one := range claim {
			if text, is := one.(string); is {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}
