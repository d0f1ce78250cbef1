package main

import (
	"fmt"
	"os"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/cmd/flowforge/settings"
	"github.com/flowforge/flowforge/web"
)

// providersFrom returns the sign-in provider of the variables and those of the file.
func providersFrom(s settings.SignIn) ([]oidc.Config, error) {
	var providers []oidc.Config
	if s.Issuer != "" {
		providers = append(providers, oidc.Config{
			Issuer: s.Issuer, Name: s.Name, ClientID: s.ClientID, ClientSecret: s.ClientSecret, ClientSecretFile: s.ClientSecretFile,
			GroupsClaim: s.GroupsClaim, Scopes: s.Scopes, AdminGroups: s.AdminGroups, Audience: s.Audience,
		})
	}
	if s.ProvidersFile == "" {
		return providers, nil
	}
	document, err := os.ReadFile(s.ProvidersFile)
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_OIDC_FILE: %w", err)
	}
	more, err := oidc.ParseFile(document)
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_OIDC_FILE %s: %w", s.ProvidersFile, err)
	}
	return append(providers, more...), nil
}

func sessionLimits(s settings.SignIn) auth.SessionLimits {
	return auth.SessionLimits{Idle: time.Duration(s.IdleHours) * time.Hour, Absolute: time.Duration(s.SessionDays) * 24 * time.Hour}
}

// rateLimits returns the limits of requests. Without sign-in, only failed sign-ins have a
// limit by default, because all users are on this machine.
func rateLimits(s settings.RateLimits, signIn bool) web.Limits {
	limit := func(set *int, byDefault int) int {
		switch {
		case set != nil:
			return *set
		case signIn:
			return byDefault
		}
		return 0
	}
	return web.Limits{
		Caller: limit(s.Caller, 3000), Tenant: limit(s.Tenant, 30_000), Address: limit(s.Address, 600), FailedLogins: s.Login,
	}
}
