// Package oidc signs people in by OpenID Connect providers: authorization code with
// PKCE, state and nonce, groups from the ID token or UserInfo, and the check of bearer
// tokens that a provider issued. It does not use the database: package identity maps
// identities to users.
package oidc

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Config is one provider.
type Config struct {
	ID               string   `yaml:"id"`   // part of addresses and of the source of memberships; "sso" when empty
	Name             string   `yaml:"name"` // the label of its button
	Issuer           string   `yaml:"issuer"`
	ClientID         string   `yaml:"client_id"`
	ClientSecret     string   `yaml:"client_secret"` // empty for a public client
	ClientSecretFile string   `yaml:"client_secret_file"`
	Scopes           []string `yaml:"scopes"`       // in addition to openid; profile, email and groups when empty
	GroupsClaim      string   `yaml:"groups_claim"` // "groups" when empty
	AdminGroups      []string `yaml:"admin_groups"` // groups of installation administrators; empty: no group grants it
	Audience         []string `yaml:"audience"`     // of access tokens that the API accepts, in addition to the client's own ID tokens
}

// LogValue keeps the client's secret out of logs.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", c.ID), slog.String("issuer", c.Issuer), slog.String("client_id", c.ClientID))
}

// ParseFile reads the providers of a YAML document: a list below "providers".
func ParseFile(document []byte) ([]Config, error) {
	var file struct {
		Providers []Config `yaml:"providers"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(document), yaml.Strict()).Decode(&file); err != nil {
		return nil, fmt.Errorf("%s", yaml.FormatError(err, false, false))
	}
	return file.Providers, nil
}

// Complete fills in the defaults of configs, reads the files with secrets, and returns
// an error for the first invalid setting.
func Complete(configs []Config) ([]Config, error) {
	out := slices.Clone(configs)
	seen := map[string]bool{}
	for i := range out {
		c := &out[i]
		if err := c.complete(); err != nil {
			return nil, err
		}
		if seen["id "+c.ID] || seen["issuer "+c.Issuer] {
			return nil, fmt.Errorf("two sign-in providers have the ID %q or the issuer %s", c.ID, c.Issuer)
		}
		seen["id "+c.ID], seen["issuer "+c.Issuer] = true, true
	}
	return out, nil
}

func (c *Config) complete() error {
	if c.ID == "" {
		c.ID = "sso"
	}
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`).MatchString(c.ID) {
		return fmt.Errorf("sign-in provider %q: an ID has lower-case letters, digits and hyphens", c.ID)
	}
	if c.Name == "" {
		c.Name = "single sign-on"
	}
	if c.GroupsClaim == "" {
		c.GroupsClaim = "groups"
	}
	if len(c.Scopes) == 0 {
		c.Scopes = []string{"profile", "email", "groups"}
	}
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || !secureURL(u) {
		return fmt.Errorf("sign-in provider %q: the issuer %q must be an https address, such as https://login.example.com", c.ID, c.Issuer)
	}
	if c.ClientID == "" {
		return fmt.Errorf("sign-in provider %q: the client ID is missing", c.ID)
	}
	if c.ClientSecretFile != "" {
		b, err := os.ReadFile(c.ClientSecretFile)
		if err != nil {
			return fmt.Errorf("sign-in provider %q: client secret: %w", c.ID, err)
		}
		c.ClientSecret, c.ClientSecretFile = strings.TrimSpace(string(b)), ""
	}
	return nil
}

// secureURL reports whether requests to u cannot be intercepted.
func secureURL(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
