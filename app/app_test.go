package app

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/access/tenancy"
)

// valid returns a configuration that New accepts.
func valid(t *testing.T) Config {
	t.Helper()
	return Config{
		Addr: "127.0.0.1:0", DataDir: t.TempDir(), SpoolMaxBytes: 1 << 20, LogRetentionDays: 1,
		Log: slog.New(slog.DiscardHandler), Out: &strings.Builder{},
	}
}

// refused fails unless New reports in one line what is wrong.
func refused(t *testing.T, c Config, part string) {
	t.Helper()
	a, err := New(c)
	if err == nil {
		a.Close()
	}
	require.ErrorContains(t, err, part)
	require.NotContains(t, err.Error(), "\n")
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Config)
		part   string
	}{
		{"no port", func(c *Config) { c.Addr = "127.0.0.1" }, "host:port"},
		{"not a port", func(c *Config) { c.Addr = "127.0.0.1:http" }, "not a port"},
		{"every address", func(c *Config) { c.Addr = ":8080" }, "no sign-in is configured"},
		{"an address of the network", func(c *Config) { c.Addr = "192.0.2.1:8080" }, "no sign-in is configured"},
		{"a name", func(c *Config) { c.Addr = "example.com:80" }, "no sign-in is configured"},
		{"no public address", func(c *Config) { c.Addr, c.Providers = ":8080", someProvider() }, "FLOWFORGE_PUBLIC_URL is not set"},
		{"a public address without TLS", func(c *Config) { c.PublicURL = "http://forge.example.com" }, "FLOWFORGE_PUBLIC_URL"},
		{"a public address with a path", func(c *Config) { c.PublicURL = "https://example.com/forge" }, "FLOWFORGE_PUBLIC_URL"},
		{"a provider without TLS", func(c *Config) { c.Providers = []oidc.Config{{Issuer: "http://login.example.com", ClientID: "x"}} }, "must be an https address"},
		{"a direct address without the other", func(c *Config) { c.DatabaseSessionURL = "postgres://db/forge" }, "FLOWFORGE_DATABASE_SESSION_URL is set, and FLOWFORGE_DATABASE_URL is not"},
		{"a direct address that is none", func(c *Config) {
			c.DatabaseURL, c.DatabaseSessionURL = "postgres://pooler/forge", "postgres://db:x/forge"
		}, "FLOWFORGE_DATABASE_SESSION_URL is not an address"},
		{"sessions that expire at once", func(c *Config) { c.SessionLimits.Absolute = time.Hour }, "FLOWFORGE_SESSION_IDLE_HOURS"},
		{"no directory", func(c *Config) { c.DataDir = "" }, "FLOWFORGE_DATA_DIR"},
		{"no retention", func(c *Config) { c.LogRetentionDays = 0 }, "FLOWFORGE_LOG_RETENTION_DAYS"},
		{"no spool", func(c *Config) { c.SpoolMaxBytes = 0 }, "FLOWFORGE_SPOOL_MAX_MIB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := valid(t)
			tt.change(&c)
			refused(t, c, tt.part)
		})
	}
}

func someProvider() []oidc.Config {
	return []oidc.Config{{Issuer: "https://login.example.com", ClientID: "forge"}}
}

// TestEveryAddressWithSignIn: with a provider and a public address, the server may listen
// on every address.
func TestEveryAddressWithSignIn(t *testing.T) {
	t.Parallel()
	c := valid(t)
	c.Addr, c.PublicURL, c.Providers = ":0", "https://forge.example.com/", someProvider()
	a, err := New(c)
	require.NoError(t, err)
	defer a.Close()
	require.Equal(t, "https://forge.example.com", a.signInHint(), "no link is printed")
	a.cfg.Providers = nil
	require.Contains(t, a.signInHint(), "/login?token=")
}

func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	c := valid(t)
	first, err := New(c)
	require.NoError(t, err)
	refused(t, c, "is using "+c.DataDir)
	first.Close()
	again, err := New(c)
	require.NoError(t, err, "the directory is unlocked")
	again.Close()
}

// TestServingBeginsAfterTheStart: /readyz, which calls serving, succeeds only between the
// end of the start and the beginning of the stop.
func TestServingBeginsAfterTheStart(t *testing.T) {
	t.Parallel()
	a, err := New(valid(t))
	require.NoError(t, err)
	defer a.Close()
	require.ErrorContains(t, a.ready.check(t.Context()), "registering the examples")
	a.ready.started.Store(true)
	require.NoError(t, a.ready.check(t.Context()))
	a.ready.stopping.Store(true)
	require.ErrorContains(t, a.ready.check(t.Context()), "stopping")
}

func TestTakenPortIsNamed(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	c := valid(t)
	c.Addr = taken.Addr().String()
	refused(t, c, "another program is listening on "+c.Addr)
	c.Addr = "127.0.0.1:0"
	a, err := New(c)
	require.NoError(t, err, "the refused server must release everything")
	a.Close()
}

func TestConfigHidesPasswords(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := valid(t)
	c.DatabaseURL, c.ClickHouseURL = "postgres://me:hunter2@host/db", "http://me:hunter2@host"
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "config", c)
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), filepath.Base(c.DataDir))
}

func TestNotReadyWithoutDiskSpace(t *testing.T) {
	t.Parallel()
	a, err := New(valid(t))
	require.NoError(t, err)
	defer a.Close()
	require.NoError(t, diskReady(a.paths.root, 0))
	require.ErrorContains(t, diskReady(a.paths.root, 1<<40), "MiB left")
}

// TestTenantsThatShareAnAccount: the warning counts tenants alone.
func TestTenantsThatShareAnAccount(t *testing.T) {
	t.Parallel()
	tree := make([]tenancy.Branch, 4)
	for i, kind := range []tenancy.Kind{tenancy.Installation, tenancy.Tenant, tenancy.Team, tenancy.Tenant} {
		tree[i].Kind = kind
	}
	require.Equal(t, 2, countTenants(tree))
}
