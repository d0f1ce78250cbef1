package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/web"
)

// signInFromEnvironment reads the sign-in providers and the rate limits.
func signInFromEnvironment(c *app.Config) error {
	c.PublicURL = os.Getenv("FLOWFORGE_PUBLIC_URL")
	providers, err := providersFromEnvironment()
	if err != nil {
		return err
	}
	c.Providers = providers
	for text := range strings.FieldsFuncSeq(os.Getenv("FLOWFORGE_TRUSTED_PROXIES"), isSeparator) {
		prefix, err := parsePrefix(text)
		if err != nil {
			return fmt.Errorf("FLOWFORGE_TRUSTED_PROXIES: %q is not an address or a network such as 10.0.0.0/8", text)
		}
		c.TrustedProxies = append(c.TrustedProxies, prefix)
	}
	limits := web.Limits{FailedLogins: 30}
	if len(providers) > 0 {
		limits.Caller, limits.Tenant, limits.Address = 3000, 30_000, 600
	}
	defaults := auth.DefaultSessionLimits()
	idle, days := int(defaults.Idle.Hours()), int(defaults.Absolute.Hours()/24)
	for _, s := range []struct {
		name string
		into *int
	}{
		{"FLOWFORGE_SESSION_IDLE_HOURS", &idle}, {"FLOWFORGE_SESSION_DAYS", &days},
		{"FLOWFORGE_RATE_LIMIT", &limits.Caller}, {"FLOWFORGE_RATE_LIMIT_TENANT", &limits.Tenant},
		{"FLOWFORGE_RATE_LIMIT_ADDRESS", &limits.Address}, {"FLOWFORGE_RATE_LIMIT_LOGIN", &limits.FailedLogins},
	} {
		n, err := number(s.name, *s.into)
		if err != nil {
			return err
		}
		*s.into = n
	}
	c.RateLimits = limits
	c.SessionLimits = auth.SessionLimits{Idle: time.Duration(idle) * time.Hour, Absolute: time.Duration(days) * 24 * time.Hour}
	return nil
}

// providersFromEnvironment returns the provider of the FLOWFORGE_OIDC_ variables and those of
// FLOWFORGE_OIDC_FILE.
func providersFromEnvironment() ([]oidc.Config, error) {
	var providers []oidc.Config
	if issuer := os.Getenv("FLOWFORGE_OIDC_ISSUER"); issuer != "" {
		providers = append(providers, oidc.Config{
			Issuer: issuer, Name: os.Getenv("FLOWFORGE_OIDC_NAME"),
			ClientID: os.Getenv("FLOWFORGE_OIDC_CLIENT_ID"), ClientSecret: os.Getenv("FLOWFORGE_OIDC_CLIENT_SECRET"),
			ClientSecretFile: os.Getenv("FLOWFORGE_OIDC_CLIENT_SECRET_FILE"), GroupsClaim: os.Getenv("FLOWFORGE_OIDC_GROUPS_CLAIM"),
			Scopes: list("FLOWFORGE_OIDC_SCOPES"), AdminGroups: list("FLOWFORGE_OIDC_ADMIN_GROUPS"), Audience: list("FLOWFORGE_OIDC_AUDIENCE"),
		})
	}
	path := os.Getenv("FLOWFORGE_OIDC_FILE")
	if path == "" {
		return providers, nil
	}
	document, err := os.ReadFile(path) //nolint:gosec // the administrator sets the path
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_OIDC_FILE: %w", err)
	}
	more, err := oidc.ParseFile(document)
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_OIDC_FILE %s: %w", path, err)
	}
	return append(providers, more...), nil
}

func isSeparator(r rune) bool { return r == ',' || r == ' ' }

// list reads a variable with names separated by commas or spaces.
func list(name string) []string { return strings.FieldsFunc(os.Getenv(name), isSeparator) }

// parsePrefix parses a network, or a single address as a network.
func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}
