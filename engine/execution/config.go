package execution

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Launcher makes attempts run. Start is idempotent by task id. List names every
// attempt that runs or whose result is not delivered yet; what it does not list
// is gone.
type Launcher interface {
	Start(ctx context.Context, attempts []launcher.Attempt) error
	Stop(ctx context.Context, attempts []launcher.Ref, grace time.Duration) error
	List(ctx context.Context) ([]launcher.Status, error)
}

// Catalogue answers for references that inputs make.
type Catalogue interface {
	// Exists reports whether ref names something of kind that a launch may use.
	Exists(ctx context.Context, kind typeregistry.Kind, ref string) bool
	// Blob returns the bytes behind a catalogue reference ("name@version").
	Blob(ctx context.Context, kind typeregistry.Kind, ref string) (BlobRef, error)
}

// BlobRef names bytes in the artifact store.
type BlobRef struct {
	SHA256    string
	Size      int64
	MediaType string
	Filename  string
}

// Config is what a Service needs. The fields up to Signer are required.
type Config struct {
	Pool      *pgxpool.Pool
	Workflows *workflow.Service
	Artifacts *artifact.Service
	Launcher  Launcher
	Signer    auth.Signer

	// HostImages lets the commands of images run on this machine, without the images.
	HostImages bool
	// ConfigMap returns what a ConfigMap of a project's namespace holds: NotFound when it
	// is not there, Unavailable when nobody answers. Nil where there is no cluster, and
	// in processes that may not ask it.
	ConfigMap func(ctx context.Context, project uuid.UUID, name string) (map[string]string, error)
	// Catalogue may be nil: then inputs name artifacts and files alone.
	Catalogue Catalogue
	// Secrets may be nil: then no input names one.
	Secrets *secret.Service
	// Quotas decides who may start; whoever made it prepares and runs it, with the
	// same Instance. Without it the engine keeps its own, of Capacity.
	Quotas *quota.Service
	// Capacity is shared by everything that this process starts; zero is the machine's.
	Capacity quota.Capacity
	// Instance names this server among all on the database, and outlives a
	// restart: whoever starts with it knows that its former process is gone.
	Instance string
	// LauncherName is who answers for attempts that Launcher started: all servers
	// that share a launcher, as those of a cluster do, give it the same name. Without
	// it that is Instance.
	LauncherName string
	// Cluster says that attempts run as pods: the cluster places them, Observe tells
	// what happens to them, and the launcher's List is asked seldom.
	Cluster bool
	// Retention is how long ended executions are kept of which no definition says it.
	Retention workflow.TTL
	// DataDir is this server's folder: its disk is what tasks fill. Without it
	// storage is not checked.
	DataDir string
	// StoreDir is the folder of the artifact store when every attempt runs on a machine
	// that has it, as with the local launcher; "" when files come through the network.
	StoreDir string
	// DirectStore says that attempts read and write the object store themselves.
	DirectStore bool
	// Endpoint is what tasks find in FLOWFORGE_API_ENDPOINT.
	Endpoint string
	// OnFinished is told of every execution that has ended, at least once; when
	// it fails it is told again.
	OnFinished func(ctx context.Context, id uuid.UUID) error
	// Crash, when set, is called with the name of each point of a transition
	// where a crash must do no harm. Tests end the process there.
	Crash func(point string)
	// Meter, when set, is told how often things happen and how long they take.
	Meter Meter
	// TraceOf returns the W3C trace context of a request that launches, or "".
	TraceOf func(ctx context.Context) string

	Logger *slog.Logger
	Now    func() time.Time

	Timing Timing
}

// Timing holds the engine's intervals; zero fields take the defaults.
type Timing struct {
	Lease          time.Duration // how long a dead loop blocks its executions
	Linger         time.Duration // how long a loop without work stays
	Reconcile      time.Duration // between two looks for what needs driving
	HeartbeatGrace time.Duration // without a sign of life for so long, an attempt is lost
	StopGrace      time.Duration // between SIGTERM and SIGKILL
	DeadlineGrace  time.Duration // beyond a node's timeout, before the engine gives up on the runner
	Poll           time.Duration // of watchers, the guarantee behind the notifications
	ReportGrace    time.Duration // that the report of a runner has once its pod was seen to end
	Missing        time.Duration // between two looks for attempts that a cluster lost without a sign
	Silence        time.Duration // without a sign of life for so long, an attempt in a cluster is given up
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
