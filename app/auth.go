package app

import (
	"context"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/web"
)

// publicURL returns the public address of the server, without a trailing slash.
func (a *App) publicURL() string {
	if a.cfg.PublicURL != "" {
		return strings.TrimRight(a.cfg.PublicURL, "/")
	}
	return "http://" + a.Addr()
}

// startAuth starts authentication and authorisation.
func (a *App) startAuth(ctx context.Context, p *parts) error {
	tasks, err := a.keys.read("task-tokens")
	if err != nil {
		return err
	}
	if p.signer, err = auth.NewSigner(tasks); err != nil {
		return err
	}
	if p.policies, err = auth.NewPolicies(ctx, p.pool); err != nil {
		return err
	}
	a.life.background("the policies", func(ctx context.Context) error { return p.policies.Run(ctx, p.watch) })
	p.users = auth.NewUsers(p.pool, p.policies)
	sessions := auth.NewSessions(p.pool, p.users, a.cfg.sessionLimits(), time.Now)
	a.life.background("the sessions", sessions.Run)
	p.sessions = web.NewSessions(sessions, strings.HasPrefix(a.publicURL(), "https:"))
	return a.startIdentity(p, sessions)
}

// startIdentity starts sign-in and the chain of tokens.
func (a *App) startIdentity(p *parts, sessions *auth.Sessions) error {
	pepper, err := a.keys.read("api-keys")
	if err != nil {
		return err
	}
	keys, err := auth.NewKeys(p.pool, p.users, pepper, time.Now)
	if err != nil {
		return err
	}
	block, err := a.keys.read("session-block")
	if err != nil {
		return err
	}
	sealer, err := auth.NewSealer(block)
	if err != nil {
		return err
	}
	providers, err := a.startProviders()
	if err != nil {
		return err
	}
	p.identity = identity.New(identity.Config{
		Pool: p.pool, Policies: p.policies, Sessions: sessions, Keys: keys, Sealer: sealer, Providers: providers, Now: time.Now,
	})
	local, err := auth.LoadSecret(a.paths.adminToken())
	if err != nil {
		return err
	}
	p.tokens = auth.TokenChain{keys, oidc.NewTokens(providers, p.users)}
	if a.cfg.Kube != nil && a.cfg.Roles.Have(Web) && (a.cfg.Kube.TokenAudience != "" || len(a.cfg.Kube.TokenAccounts) > 0) {
		tokens, err := newKubeTokens(a.cfg.Kube.Config, p)
		if err != nil {
			return err
		}
		p.tokens = append(p.tokens, tokens)
	}
	p.localTokens = append(auth.TokenChain{auth.NewLocalToken(local)}, p.tokens...)
	return nil
}

// startProviders discovers the sign-in providers in the background: an unreachable
// provider does not prevent the start of the server.
func (a *App) startProviders() ([]*oidc.Provider, error) {
	configs, err := oidc.Complete(a.cfg.Providers)
	if err != nil {
		return nil, err
	}
	providers := make([]*oidc.Provider, len(configs))
	for i, c := range configs {
		providers[i] = oidc.New(c, a.publicURL(), a.cfg.Log, time.Now)
		a.life.background("the sign-in provider "+c.ID, providers[i].Run)
	}
	return providers, nil
}

// site returns the site for the pages. With a sign-in provider, the token of the local
// administrator is accepted only on the socket in the data directory, which only users of
// the server's machine can reach.
func (a *App) site(p *parts, onSocket bool) *web.Site {
	tokens := p.tokens
	if onSocket || len(a.cfg.Providers) == 0 {
		tokens = p.localTokens
	}
	limits := a.cfg.RateLimits
	if onSocket {
		limits = web.Limits{}
	}
	var replica web.Replica
	if p.replica != nil {
		replica = p.replica
	}
	return web.NewSite(web.Config{
		Replica: replica, Log: a.cfg.Log, Sessions: p.sessions, Tokens: tokens, Users: p.users, Limits: limits, ErrorPage: page.Error,
		TrustedProxies: a.cfg.TrustedProxies, PublicURL: a.publicURL(),
	})
}

// signInHint returns the line that explains how to sign in.
func (a *App) signInHint() string {
	if len(a.cfg.Providers) > 0 {
		return a.publicURL()
	}
	return "http://" + a.Addr() + "/login?token=" + a.links.Issue()
}
