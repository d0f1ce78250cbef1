// Package app puts the parts of the server together: New checks the
// configuration and takes the data directory, Run serves until its context ends,
// and everything that was started is stopped again in reverse order.
package app

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/platform/election"
	"github.com/flowforge/flowforge/web"
)

// Config is the whole configuration of a server. Its zero values, but for Addr
// and DataDir, are the embedded default.
type Config struct {
	Addr          string   // host:port to serve on
	DataDir       string   // everything that the server keeps
	DatabaseURL   string   // "" runs a private PostgreSQL
	ClickHouseURL string   // "" runs the embedded engine
	PostgresDir   string   // folder with initdb and postgres; "" looks for them
	ChdbLibrary   string   // path of libchdb.so; "" looks for it
	Executable    string   // our own binary, for the runner and the engine's child
	Environ       []string // what the runner's environment is made of

	SpoolMaxBytes int64 // bound of the logs and metrics that wait on disk for ClickHouse
	// LocalImages says what becomes of commands that name an image, where tasks run as
	// local processes: "" refuses them, "host" runs them on this machine without it.
	LocalImages      string
	LogRetentionDays int // age at which log lines and metrics are dropped

	Artifacts     Artifacts // where artifacts are kept
	Retention     Retention // and what is removed when
	Observability Observability
	TLS           TLS

	CPUMillis int // capacity of this machine for tasks; 0 takes what it has
	MemoryMiB int

	// DefaultCPUMillis and DefaultMemoryMiB are what each pod of a task requests that names
	// no CPU or no memory, unless a level of the tree says otherwise; 0: nothing.
	DefaultCPUMillis, DefaultMemoryMiB int
	Slots                              int // processes at a time; 0 takes a default from the cores
	// GPUs says which there are ("A100:4,H100:2", or "none"); "" asks nvidia-smi.
	GPUs string

	PublicURL      string        // where people reach the server; "" is Addr
	Providers      []oidc.Config // who signs people in; none is local mode: a login link
	SessionLimits  auth.SessionLimits
	RateLimits     web.Limits
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed

	Roles         Roles              // of this server; none is all
	Instance      string             // names this server among all on the database; "" is kept in the data directory
	SecretsDir    string             // keys that servers share; "" is below the data directory
	AdvertiseAddr string             // host:port where other servers reach this one; "" is made from Addr
	Leases        string             // LeasesPostgres or LeasesKubernetes; "" is the first
	LeaseTiming   election.Timing    // zero takes the defaults
	Kubernetes    KubernetesLeases   // for LeasesKubernetes
	TaskAddr      string             // a second address, for what tasks call alone; "" is Addr
	TaskURL       string             // where tasks reach it; "" is made from TaskAddr or Addr
	DrainDelay    time.Duration      // between the first failing /readyz and the end of serving
	Attempts      execution.Launcher // starts attempts; nil is chosen by the settings
	// Kube is the cluster that runs attempts as pods; nil runs them as processes of
	// this machine. What it calls of the server is filled in here.
	Kube *kube.ControllerConfig

	SkipExamples bool // do not register the examples at the first start

	Log *slog.Logger
	Out io.Writer // where the address and the login link are printed
}

// Where the leases of singletons are held.
const (
	LeasesPostgres   = "postgres"
	LeasesKubernetes = "kubernetes"
)

// KubernetesLeases says how the Lease API is reached.
type KubernetesLeases struct {
	Kubeconfig string // "" is the pod's own service account
	Namespace  string // of the leases; "" is the pod's own
}

// LogValue keeps what a URL may hold of passwords out of logs.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("addr", c.Addr), slog.String("data_dir", c.DataDir),
		slog.Any("roles", c.Roles), slog.Bool("own_database", c.DatabaseURL == ""), slog.Bool("own_clickhouse", c.ClickHouseURL == ""))
}

// check reports the first setting that cannot work.
func (c Config) check() error {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("FLOWFORGE_ADDR %q is not host:port, such as 127.0.0.1:8080", c.Addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("FLOWFORGE_ADDR %q: %q is not a port from 0 to 65535", c.Addr, port)
	}
	if err := c.checkRoles(); err != nil {
		return err
	}
	if c.roles().answers() && !isLoopback(host) && len(c.Providers) == 0 {
		return fmt.Errorf("FLOWFORGE_ADDR %q can be reached from other machines, and no sign-in is configured: set FLOWFORGE_OIDC_ISSUER, or use 127.0.0.1 and a tunnel", c.Addr)
	}
	if c.roles().answers() && !isLoopback(host) && c.PublicURL == "" {
		return fmt.Errorf("FLOWFORGE_PUBLIC_URL is not set: with FLOWFORGE_ADDR %q, sign-in needs the address that people use, such as https://forge.example.com", c.Addr)
	}
	if err := c.checkSignIn(); err != nil {
		return err
	}
	if err := c.Artifacts.check(); err != nil {
		return err
	}
	if err := c.Retention.check(); err != nil {
		return err
	}
	if err := c.Observability.check(); err != nil {
		return err
	}
	if c.DataDir == "" {
		return fmt.Errorf("FLOWFORGE_DATA_DIR is empty")
	}
	if c.LocalImages != "" && c.LocalImages != "host" {
		return fmt.Errorf("FLOWFORGE_LOCAL_IMAGES is %q; write host, or leave it out", c.LocalImages)
	}
	if c.LogRetentionDays < 1 {
		return fmt.Errorf("FLOWFORGE_LOG_RETENTION_DAYS must be 1 or more")
	}
	if c.SpoolMaxBytes < 1<<20 {
		return fmt.Errorf("FLOWFORGE_SPOOL_MAX_MIB must be 1 or more")
	}
	return nil
}

// roles are the configured ones, or all.
func (c Config) roles() Roles {
	if len(c.Roles) == 0 {
		return AllRoles()
	}
	return c.Roles
}

// checkRoles reports the first setting of several servers that cannot work.
func (c Config) checkRoles() error {
	if !c.roles().all() && c.DatabaseURL == "" {
		return fmt.Errorf("FLOWFORGE_ROLES leaves some to other servers: set FLOWFORGE_DATABASE_URL, which they share")
	}
	if !slices.Contains([]string{"", LeasesPostgres, LeasesKubernetes}, c.Leases) {
		return fmt.Errorf("FLOWFORGE_LEASES %q: write postgres or kubernetes", c.Leases)
	}
	for name, addr := range map[string]string{"FLOWFORGE_ADVERTISE_ADDR": c.AdvertiseAddr, "FLOWFORGE_TASK_ADDR": c.TaskAddr} {
		_, port, err := net.SplitHostPort(addr)
		if _, number := strconv.ParseUint(port, 10, 16); addr != "" && (err != nil || number != nil) {
			return fmt.Errorf("%s %q is not host:port, such as 10.0.0.7:8080", name, addr)
		}
	}
	if u, err := url.Parse(c.TaskURL); c.TaskURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("FLOWFORGE_TASK_URL %q is not an address such as http://flowforge-task:8081", c.TaskURL)
	}
	return nil
}

// sessionLimits are the configured ones, or the defaults.
func (c Config) sessionLimits() auth.SessionLimits {
	if c.SessionLimits == (auth.SessionLimits{}) {
		return auth.DefaultSessionLimits()
	}
	return c.SessionLimits
}

// checkSignIn reports the first setting of sign-in that cannot work.
func (c Config) checkSignIn() error {
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" {
		secure := err == nil && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()))
		if !secure || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("FLOWFORGE_PUBLIC_URL %q is not an address such as https://forge.example.com, without a path; http is for this machine alone", c.PublicURL)
		}
	}
	if l := c.sessionLimits(); l.Idle <= 0 || l.Absolute < l.Idle {
		return fmt.Errorf("FLOWFORGE_SESSION_IDLE_HOURS and FLOWFORGE_SESSION_DAYS must be 1 or more, and the idle time the shorter one")
	}
	_, err := oidc.Complete(c.Providers)
	return err
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// paths are the places inside the data directory.
type paths struct{ root, secrets string }

func (p paths) join(elem ...string) string {
	return filepath.Join(append([]string{p.root}, elem...)...)
}
func (p paths) lock() string              { return p.join("server.lock") }
func (p paths) adminToken() string        { return p.join("admin.token") }
func (p paths) secret(name string) string { return filepath.Join(p.secrets, name) }
func (p paths) postgres() string          { return p.join("postgres") }
func (p paths) clickhouse() string        { return p.join("clickhouse") }
func (p paths) artifacts() string         { return p.join("artifacts") }
func (p paths) spool() string             { return p.join("spool") }
func (p paths) runner() string            { return p.join("runner") }
