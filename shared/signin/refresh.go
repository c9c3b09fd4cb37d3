package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
)

// Refresh reads the claims of a session's person anew where that is due, and reports whether
// anything has changed in the registry. Of several who ask at a time, on whatever instance,
// one asks the issuer: a refresh token may be good for once.
func (p *Provider) Refresh(ctx context.Context, session access.Key, record access.KeyRecord) (changed bool, err error) {
	now := p.settings.Now()
	if record.Refresh == "" || now.Sub(record.RefreshedAt) < refreshAfter {
		return false, nil
	}
	registry, err := p.settings.Registry(ctx, string(record.WorkspaceID))
	if err != nil {
		return false, repository.Fault(err)
	}
	registry = registry.By("the issuer " + p.settings.Issuer)
	mine, err := registry.TakeRefresh(ctx, record)
	if err != nil || !mine {
		return false, repository.Fault(err)
	}
	who, token, err := p.again(ctx, session, record)
	switch {
	case errors.Is(err, errAway):
		p.settings.Logger.Warn("the issuer is away; who is signed in stays so", "cause", err)
		return true, nil
	case err != nil:
		p.settings.Logger.Warn("a session has ended: the issuer no longer stands for it", "cause", err)
		_, err = registry.RevokeKey(ctx, record.ID, now)
		if err != nil {
			return false, repository.Fault(err)
		}
		return false, fault.New(fault.Unauthorized, "the session is over: the provider no longer stands for it; sign in again")
	}
	return true, repository.Fault(registry.Refreshed(ctx, session, who.Claimed, token))
}

func (p *Provider) again(ctx context.Context, session access.Key, record access.KeyRecord) (who access.Arrival, next string, err error) {
	refresh, err := session.Unseal(record.Refresh)
	if err != nil {
		return who, "", err
	}
	// What has been begun is brought to its end, whoever leaves: the token may be spent.
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), p.client), 2*askFor)
	defer cancel()
	provider, err := p.provider(ctx)
	if err != nil {
		return who, "", err
	}
	config := p.config(provider)
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return who, "", asked(err)
	}
	who, err = p.person(ctx, provider, config, token, "")
	if err == nil && who.Issuer != p.settings.Issuer {
		err = fmt.Errorf("%w: another issuer", errDenied)
	}
	return who, token.RefreshToken, err
}
