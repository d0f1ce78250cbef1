package oidc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// Tokens verifies ID and access tokens (JWT) that programs send as bearer tokens, and
// finds their user. It implements auth.TokenVerifier.
type Tokens struct {
	providers []*Provider
	users     *auth.Users
}

// NewTokens returns the verifier for tokens of providers.
func NewTokens(providers []*Provider, users *auth.Users) *Tokens {
	return &Tokens{providers: providers, users: users}
}

// Verify implements auth.TokenVerifier. The token's issuer is one of the
// providers, its audience the client or a configured one, its signature by the
// provider's keys, and its user has signed in before.
func (t *Tokens) Verify(ctx context.Context, token string) (auth.Subject, error) {
	issuer, ok := issuerOf(token)
	if !ok {
		return auth.Subject{}, auth.ErrOtherToken
	}
	i := slices.IndexFunc(t.providers, func(p *Provider) bool { return p.cfg.Issuer == issuer })
	if i < 0 {
		return auth.Subject{}, auth.ErrOtherToken
	}
	verified, err := t.providers[i].verify(ctx, token)
	if err != nil {
		return auth.Subject{}, err
	}
	return t.users.ByIdentity(ctx, verified.Issuer, verified.Subject, "oidc:"+t.providers[i].ID())
}

// issuerOf reads the unverified issuer of a JWT.
func issuerOf(token string) (string, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	return claims.Issuer, json.Unmarshal(payload, &claims) == nil && claims.Issuer != ""
}

func (p *Provider) verify(ctx context.Context, token string) (*oidc.IDToken, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	verified, err := found.provider.Verifier(&oidc.Config{SkipClientIDCheck: true, Now: p.now}).Verify(p.with(ctx), token)
	if err != nil {
		if _, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
			return nil, apperr.New(apperr.Unauthenticated, "The token from %s has expired.", p.cfg.Name)
		}
		return nil, apperr.Wrap(apperr.Unauthenticated, err, "The token from "+p.cfg.Name+" is not valid.")
	}
	var claims struct {
		Events any    `json:"events"` // of a logout token, which must not sign a user in
		Party  string `json:"azp"`
	}
	if err := verified.Claims(&claims); err != nil {
		return nil, apperr.Wrap(apperr.Unauthenticated, err, "The token from "+p.cfg.Name+" is not valid.")
	}
	ours := slices.Contains(verified.Audience, p.cfg.ClientID) && (claims.Party == "" || claims.Party == p.cfg.ClientID)
	requested := slices.ContainsFunc(verified.Audience, func(a string) bool { return slices.Contains(p.cfg.Audience, a) })
	if claims.Events != nil || !ours && !requested {
		return nil, apperr.New(apperr.Unauthenticated, "The token from %s was issued for another service.", p.cfg.Name)
	}
	return verified, nil
}
