package app

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/web"
)

// secretBytes returns the secret of this name, which is made at the first start.
func (a *App) secretBytes(name string) ([]byte, error) {
	text, err := auth.LoadSecret(a.paths.secret(name))
	if err != nil {
		return nil, err
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	return b, nil
}

// startAuth builds what says who asks and what they may do.
func (a *App) startAuth(ctx context.Context, p *parts) error {
	tasks, err := a.secretBytes("task-tokens")
	if err != nil {
		return err
	}
	pepper, err := a.secretBytes("api-keys")
	if err != nil {
		return err
	}
	if p.signer, err = auth.NewSigner(tasks); err != nil {
		return err
	}
	if p.policies, err = auth.NewPolicies(ctx, p.pool); err != nil {
		return err
	}
	a.background("the policies", p.policies.Run)
	p.users = auth.NewUsers(p.pool, p.policies)
	sessions := auth.NewSessions(p.pool, p.users, auth.DefaultSessionLimits(), time.Now)
	a.background("the sessions", sessions.Run)
	keys, err := auth.NewKeys(p.pool, p.users, pepper, time.Now)
	if err != nil {
		return err
	}
	token, err := auth.LoadSecret(a.paths.adminToken())
	if err != nil {
		return err
	}
	p.sessions = web.NewSessions(sessions, false)
	p.tokens = auth.TokenChain{auth.NewLocalToken(token), keys}
	return nil
}
