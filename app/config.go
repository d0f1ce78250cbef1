// Package app assembles the server: New checks the configuration and acquires the data
// directory, Run serves until its context is cancelled, and Close stops everything in
// reverse order.
package app

import (
	"errors"
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
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/web"
)

// Config is the configuration of a server. Its zero values, except Addr and DataDir,
// select the embedded engines.
type Config struct {
	Addr        string // host:port on which to serve
	DataDir     string // folder with all data of the server
	DatabaseURL string // "" runs a private PostgreSQL
	// DatabaseSessionURL is the address of PostgreSQL itself if DatabaseURL is a connection pooler; "":
	// DatabaseURL.
	DatabaseSessionURL string
	// DatabaseReadURL is a streaming replica of DatabaseURL, from which lists are read while they lack
	// no change older than DatabaseReadLag; "": none.
	DatabaseReadURL string
	DatabaseReadLag time.Duration
	ClickHouseURL   string // "" runs the embedded engine
	// ClickHouseIdle is the time without use after which the embedded engine stops until it is needed;
	// 0: it never stops.
	ClickHouseIdle time.Duration
	PostgresDir    string   // folder with initdb and postgres; "" looks for them
	ChdbLibrary    string   // path of libchdb.so; "" looks for it
	Executable     string   // FlowForge's binary, for the runner and the engine's child
	Environ        []string // the process environment, from which the runner's is derived

	SpoolMaxBytes int64 // maximum size of the logs and metrics that wait on disk for ClickHouse
	// LocalImages is how commands with an image are handled if tasks run as local
	// processes: "" rejects them, "host" runs them on this machine without the image.
	LocalImages      string
	LogRetentionDays int // age at which log lines and metrics are dropped

	Artifacts     Artifacts  // where artifacts are kept
	OptionHosts   []string   // of endpoints with the options of inputs
	Metaflow      Metaflow   // what may be a datastore of Metaflow
	Retention     Retention  // what is removed and when
	Events        Events     // the brokers that receive events
	Mail          inbox.Mail // the mail server for personal notifications
	Observability Observability
	TLS           TLS

	CPUMillis int // capacity of this machine for tasks; 0: all its cores
	MemoryMiB int

	// DefaultCPUMillis and DefaultMemoryMiB are requested by each pod of a task without
	// CPU or memory requests, unless a level of the tree sets a default; 0: none.
	DefaultCPUMillis, DefaultMemoryMiB int
	Slots                              int // concurrent processes; 0: derived from the cores
	// Python is the interpreter that makes environments; "" is python3. SweepPython has Optuna; "" makes
	// an environment in the data directory when the first sweep needs it.
	Python, SweepPython string
	// GPUs lists the GPUs ("A100:4,H100:2", or "none"); "": detected by nvidia-smi.
	GPUs string

	PublicURL      string        // public address of the server; "": Addr
	Providers      []oidc.Config // sign-in providers; none: local mode with a login link
	SessionLimits  auth.SessionLimits
	RateLimits     web.Limits
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-For is trusted

	OutgoingHosts []string // hosts that tests of connections and options of inputs reach wherever they are

	Roles         Roles  // of this server; none: all
	Instance      string // name of this server, unique on the database; "": generated and kept in the data directory
	SecretsDir    string // folder of keys that servers share; "": below the data directory
	AdvertiseAddr string // host:port at which other servers reach this one; "": derived from Addr
	Leases        string // LeasesPostgres or LeasesKubernetes; "": LeasesPostgres
	// WorkerLostAfter is how long a worker of a pool may be silent; 0: one minute.
	WorkerLostAfter time.Duration
	Kubernetes      KubernetesLeases   // for LeasesKubernetes
	TaskAddr        string             // separate address for calls of tasks; "": Addr
	TaskURL         string             // URL for tasks; "": derived from TaskAddr or Addr
	DrainDelay      time.Duration      // between the first failing /readyz and the end of serving
	Attempts        execution.Launcher // starts attempts; nil: chosen by the settings
	// Kube configures the cluster that runs attempts as pods; nil: attempts run as
	// processes of this machine. App fills in the callbacks to the server.
	Kube *kube.ControllerConfig

	SkipExamples bool // do not register the examples at the first start

	Log *slog.Logger
	Out io.Writer // output for the address and the login link
}

// Stores of the leases of singletons.
const (
	LeasesPostgres   = "postgres"
	LeasesKubernetes = "kubernetes"
)

// KubernetesLeases configures access to the Lease API.
type KubernetesLeases struct {
	Kubeconfig string // "" is the pod's own service account
	Namespace  string // of the leases; "" is the pod's own
}

// LogValue keeps passwords in URLs out of logs.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("addr", c.Addr), slog.String("data_dir", c.DataDir),
		slog.Any("roles", c.Roles), slog.Bool("own_database", c.DatabaseURL == ""), slog.Bool("own_clickhouse", c.ClickHouseURL == ""))
}

// check reports all invalid settings.
func (c Config) check() error { return errors.Join(c.Problems()...) }

// Problems returns what is wrong with the settings, one error per problem.
func (c Config) Problems() []error {
	problems := c.addressProblems()
	problems = append(problems, c.roleProblems()...)
	problems = append(problems, c.checkSignIn(), c.Artifacts.check(), c.Metaflow.check(), c.Retention.check(), c.Observability.check(), checkMail(c.Mail))
	problems = append(problems, c.Events.NATS.Problems()...)
	problems = append(problems, c.Events.Kafka.Problems()...)
	if c.DataDir == "" {
		problems = append(problems, fmt.Errorf("FLOWFORGE_DATA_DIR is empty"))
	}
	if c.DatabaseSessionURL != "" {
		problems = append(problems, c.sessionProblems()...)
	}
	if c.DatabaseReadURL != "" {
		problems = append(problems, c.replicaProblems()...)
	}
	if c.LocalImages != "" && c.LocalImages != "host" {
		problems = append(problems, fmt.Errorf("FLOWFORGE_LOCAL_IMAGES is %q; set it to host, or leave it unset", c.LocalImages))
	}
	if c.LogRetentionDays < 1 {
		problems = append(problems, fmt.Errorf("FLOWFORGE_LOG_RETENTION_DAYS must be 1 or more"))
	}
	if c.SpoolMaxBytes < 1<<20 {
		problems = append(problems, fmt.Errorf("FLOWFORGE_SPOOL_MAX_MIB must be 1 or more"))
	}
	return slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}

// addressProblems checks the address to serve on and who can reach it.
func (c Config) addressProblems() (problems []error) {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return []error{fmt.Errorf("FLOWFORGE_ADDR %q is not host:port, such as 127.0.0.1:8080", c.Addr)}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		problems = append(problems, fmt.Errorf("FLOWFORGE_ADDR %q: %q is not a port from 0 to 65535", c.Addr, port))
	}
	if !c.roles().answers() || IsLoopback(host) {
		return problems
	}
	if len(c.Providers) == 0 {
		problems = append(problems, fmt.Errorf("FLOWFORGE_ADDR %q can be reached from other machines, and no sign-in is configured: set FLOWFORGE_OIDC_ISSUER, or use 127.0.0.1 and a tunnel", c.Addr))
	}
	if len(c.Providers) > 0 && c.PublicURL == "" {
		problems = append(problems, fmt.Errorf("FLOWFORGE_PUBLIC_URL is not set: with FLOWFORGE_ADDR %q, sign-in needs the address that users open, such as https://forge.example.com", c.Addr))
	}
	return problems
}

// roles returns the configured roles, or all.
func (c Config) roles() Roles {
	if len(c.Roles) == 0 {
		return AllRoles()
	}
	return c.Roles
}

// roleProblems checks the settings for several servers.
func (c Config) roleProblems() (problems []error) {
	if !c.roles().all() && c.DatabaseURL == "" {
		problems = append(problems, fmt.Errorf("FLOWFORGE_ROLES leaves some roles to other servers: set FLOWFORGE_DATABASE_URL to the database that all servers share"))
	}
	if !slices.Contains([]string{"", LeasesPostgres, LeasesKubernetes}, c.Leases) {
		problems = append(problems, fmt.Errorf("FLOWFORGE_LEASES is %q; set it to postgres or kubernetes", c.Leases))
	}
	for _, s := range []struct{ name, addr string }{{"FLOWFORGE_ADVERTISE_ADDR", c.AdvertiseAddr}, {"FLOWFORGE_TASK_ADDR", c.TaskAddr}} {
		_, port, err := net.SplitHostPort(s.addr)
		if _, number := strconv.ParseUint(port, 10, 16); s.addr != "" && (err != nil || number != nil) {
			problems = append(problems, fmt.Errorf("%s %q is not host:port, such as 10.0.0.7:8080", s.name, s.addr))
		}
	}
	if u, err := url.Parse(c.TaskURL); c.TaskURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		problems = append(problems, fmt.Errorf("FLOWFORGE_TASK_URL %q is not an address such as http://flowforge-task:8081", c.TaskURL))
	}
	return problems
}

// sessionLimits returns the configured limits, or the defaults.
func (c Config) sessionLimits() auth.SessionLimits {
	if c.SessionLimits == (auth.SessionLimits{}) {
		return auth.DefaultSessionLimits()
	}
	return c.SessionLimits
}

// checkSignIn reports the first invalid setting of sign-in.
func (c Config) checkSignIn() error {
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" {
		secure := err == nil && (u.Scheme == "https" || u.Scheme == "http" && IsLoopback(u.Hostname()))
		if !secure || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("FLOWFORGE_PUBLIC_URL %q is not an address such as https://forge.example.com, without a path; http is allowed only for this machine", c.PublicURL)
		}
	}
	if l := c.sessionLimits(); l.Idle <= 0 || l.Absolute < l.Idle {
		return fmt.Errorf("FLOWFORGE_SESSION_IDLE_HOURS and FLOWFORGE_SESSION_DAYS must be 1 or more, and the idle time must be the shorter one")
	}
	_, err := oidc.Complete(c.Providers)
	return err
}

// IsLoopback reports whether a host name or an IP address is this machine.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// paths are the paths inside the data directory.
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
