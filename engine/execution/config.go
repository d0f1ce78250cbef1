package execution

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Launcher runs attempts. Start is idempotent by task id. List returns every attempt that
// runs or whose result is not delivered yet; an attempt that it does not list is gone.
type Launcher interface {
	Start(ctx context.Context, attempts []launcher.Attempt) error
	Stop(ctx context.Context, attempts []launcher.Ref, grace time.Duration) error
	List(ctx context.Context) ([]launcher.Status, error)
}

// Catalogue resolves references in inputs.
type Catalogue interface {
	// Exists reports whether ref identifies an entry of kind that a launch may use.
	Exists(ctx context.Context, kind typeregistry.Kind, ref string) (bool, error)
	// Pin returns the entry that ref means now, and the reference to its version.
	Pin(ctx context.Context, kind typeregistry.Kind, ref string) (entry uuid.UUID, pinned string, err error)
	// Blob returns the bytes behind a catalogue reference ("name@version").
	Blob(ctx context.Context, kind typeregistry.Kind, ref string) (BlobRef, error)
}

// BlobRef identifies bytes in the artifact store.
type BlobRef struct {
	SHA256    string
	Size      int64
	MediaType string
	Filename  string
}

// Config configures a Service. The fields up to Signer are required.
type Config struct {
	Pool      *pgxpool.Pool
	Workflows *workflow.Service
	Artifacts *artifact.Service
	Launcher  Launcher
	Signer    auth.Signer

	// Sessions receive the notifications of other processes; nil: those of Pool.
	Sessions *pgxpool.Pool
	// OwnMachine lets artifacts name an OAuth server at this machine, which all users own without
	// sign-in providers.
	OwnMachine bool
	// HostImages lets the commands of images run on this machine, without the images.
	HostImages bool
	// ConfigMap returns the data of a ConfigMap of a project's namespace: NotFound when it
	// does not exist, Unavailable when the cluster does not respond. It is nil without a
	// cluster, and in processes that may not read from it.
	ConfigMap func(ctx context.Context, project uuid.UUID, name string) (map[string]string, error)
	// UsePool returns nil if the tasks of a project may use a pool of workers, NotFound if there is no
	// such pool, and Forbidden if it is restricted to other projects. nil: there are no pools.
	UsePool func(ctx context.Context, pool string, project uuid.UUID) error
	// Catalogue may be nil: then inputs refer only to artifacts and files.
	Catalogue Catalogue
	// Offers returns how a launch by the caller of ctx compares values with the sources of options.
	// When it is nil, only lists in definitions limit values.
	Offers func(ctx context.Context) func(typeregistry.Offered) string
	// Secrets may be nil: then no input refers to a secret.
	Secrets *secret.Service
	// Connections may be nil: then no input refers to a connection.
	Connections *connection.Service
	// Quotas decides which work may start. Its creator prepares and runs it, with the same
	// Instance. When it is nil the engine creates its own, of Capacity.
	Quotas *quota.Service
	// Capacity is shared by everything that this process starts; zero is the capacity of the
	// machine.
	Capacity quota.Capacity
	// Instance identifies this server among all servers on the database, also after a
	// restart: a new process with the same Instance knows that the previous one is gone.
	Instance string
	// LauncherName identifies the owner of attempts that Launcher started. All servers that
	// share a launcher, such as the servers of a cluster, use the same name. The default is
	// Instance.
	LauncherName string
	// Cluster means that attempts run as pods: the cluster places them, Observe reports what
	// happens to them, and the launcher's List is called rarely.
	Cluster bool
	// Retention is how long ended executions are kept when neither launch nor definition
	// says it.
	Retention workflow.TTL
	// DataDir is this server's folder, on the disk that tasks fill. When it is empty,
	// storage is not checked.
	DataDir string
	// StoreDir is the folder of the artifact store when every attempt runs on a machine that
	// has it, as with the local launcher; "" when files are transferred over the network.
	StoreDir string
	// DirectStore means that attempts read from and write to the object store themselves.
	DirectStore bool
	// Endpoint is the value of FLOWFORGE_API_ENDPOINT in tasks.
	Endpoint string
	// OnFinished is called for every execution that has ended, at least once; it is called
	// again when it fails.
	OnFinished func(ctx context.Context, id uuid.UUID) error
	// Crash, when set, is called with the name of each point of a transition at which a
	// crash must be harmless. Tests end the process there.
	Crash func(point string)
	// Watch reports new executions. Nil: the engine polls at the interval Reconcile.
	Watch *db.Watch
	// Reads, when set, runs the queries of the Reader, for example on a replica; nil: Pool.
	Reads db.DBTX
	// Meter, when set, receives counts and durations.
	Meter Meter
	// TraceOf returns the W3C trace context of a request that launches, or "".
	TraceOf func(ctx context.Context) string

	Logger    *slog.Logger
	JobLogger *slog.Logger // of River; nil: Logger
	Now       func() time.Time

	Timing Timing
}

// Timing holds the engine's intervals; zero fields take the defaults.
type Timing struct {
	Lease          time.Duration // how long the executions of a dead loop stay blocked
	Linger         time.Duration // how long an idle loop stays in memory
	Reconcile      time.Duration // between two searches for executions without a driver, while some have not ended
	HeartbeatGrace time.Duration // without a heartbeat for this long, an attempt is lost
	StopGrace      time.Duration // between SIGTERM and SIGKILL
	DeadlineGrace  time.Duration // beyond a node's timeout, before the engine stops waiting for the runner
	Poll           time.Duration // interval of watchers, a fallback for lost notifications
	ReportGrace    time.Duration // time for the report of a runner after the end of its pod was observed
	Missing        time.Duration // between two searches for attempts that a cluster lost without an event
	Silence        time.Duration // without a heartbeat for this long, an attempt in a cluster is lost
}

func (t Timing) withDefaults() Timing {
	setDefault(&t.Lease, 6*time.Second)
	setDefault(&t.Linger, 2*time.Second)
	setDefault(&t.Reconcile, time.Second)
	setDefault(&t.HeartbeatGrace, 60*time.Second)
	setDefault(&t.StopGrace, 10*time.Second)
	setDefault(&t.DeadlineGrace, 30*time.Second)
	setDefault(&t.Poll, 2*time.Second)
	setDefault(&t.ReportGrace, 3*time.Second)
	setDefault(&t.Missing, 30*time.Second)
	setDefault(&t.Silence, 15*time.Minute)
	return t
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

func (c Config) withDefaults() Config {
	if c.Instance == "" {
		c.Instance = uuid.NewString()
	}
	if c.LauncherName == "" {
		c.LauncherName = c.Instance
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Crash == nil {
		c.Crash = func(string) {}
	}
	if c.Meter == nil {
		c.Meter = noMeter{}
	}
	if c.OnFinished == nil {
		c.OnFinished = func(context.Context, uuid.UUID) error { return nil }
	}
	c.Timing = c.Timing.withDefaults()
	return c
}
