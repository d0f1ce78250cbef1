package observability

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Sources are the data sources of a scrape. Each returns the current state; one that
// fails or is nil is omitted.
type Sources struct {
	Work     func(context.Context) ([]Work, error)
	Jobs     func(context.Context) ([]Jobs, error)
	Waiting  func(context.Context) ([]Waiting, error) // nil on servers that do not schedule
	Quotas   func(context.Context) ([]Quota, error)   // the same
	Leases   func(context.Context) ([]Lease, error)
	Cluster  func(context.Context) (*Cluster, error) // nil without a cluster
	Pools    func(context.Context) ([]WorkerPool, error)
	Alerts   func(context.Context) (Alerts, error)
	Series   func(context.Context) ([]Series, error)   // of workflows, the oldest first
	Python   func(context.Context) (WarmPython, error) // nil on servers that start no local processes
	Spool    func() Spool
	Disk     func(context.Context) (int64, error) // free bytes of the disk with the server's data
	Pool     func() Pool
	Sessions func() Sessions
	Replica  func() Replica // nil without a read replica
	Failed   func(source string, err error)
}

// Work counts the live executions of a tenant in a state, and their nodes by state.
type Work struct {
	Tenant, State string
	Executions    int64
	Nodes         map[string]int64
}

// Jobs counts the jobs in a queue of background jobs.
type Jobs struct {
	Queue, State string
	N            int64
}

// Waiting counts requests that are not admitted yet.
type Waiting struct {
	Tenant, Reason string
	N              int64
	Oldest         time.Duration
}

// Quota is the limit and the use of a resource by a tenant, or by "all" of them.
type Quota struct {
	Tenant, Resource string
	Limit            *int64
	Used, Waiting    int64
}

// Lease is the leadership of one process.
type Lease struct {
	Name string
	Term int64
	Ours bool
}

// Cluster is the state of the cluster that attempts run in.
type Cluster struct {
	Answers  bool
	Machines map[string]int64 // by "ready" and "not_ready"
	Pods     map[string]int64 // by state
	GPUs     map[string]GPUs  // by type
}

// GPUs counts GPUs of one type.
type GPUs struct{ Total, Used int64 }

// WorkerPool is the state of a pool of workers outside the cluster.
type WorkerPool struct {
	Name                       string
	Queued, Running, Connected int
	Wait                       time.Duration // of the attempt that has waited longest
}

// Alerts is the state of what launches executions and sends messages without a user.
type Alerts struct {
	Schedules   map[string]int64 // by state
	Problems    int64            // schedules that the server could not process
	Overdue     time.Duration    // of the run that has been due longest
	Failing     int64            // channels that did not accept their last message
	Undelivered int64            // messages whose last attempt failed
	Oldest      time.Duration    // of the undelivered message that has waited longest
}

// WarmPython counts the processes of which Python attempts are forks.
type WarmPython struct {
	Processes int
	Memory    int64 // bytes
}

// Spool counts the logs and metrics that wait for ClickHouse.
type Spool struct {
	Records, Bytes, MaxBytes, Refused int64
	ClickHouse                        bool // it answers
}

// Pool counts connections to Postgres.
type Pool struct{ Used, Idle, Most int64 }

// Sessions counts the sessions with Postgres that keep state between transactions.
type Sessions struct{ Open, Most int64 }

// Replica is the state of the read replica of Postgres, and the requests that could use it.
type Replica struct {
	Usable   bool
	Measured bool // the lag is known
	Lag      time.Duration
	Reads    int64            // that used the replica
	Primary  map[string]int64 // that used the primary, by reason
}

// scrapeWithin is the timeout of reading all sources.
const scrapeWithin = 10 * time.Second

// Watch adds the data of sources to every scrape.
func (m *Metrics) Watch(s Sources) {
	failures := m.counter("scrape_errors_total", "Sources that could not be read during a scrape.", "source")
	for _, source := range []string{"work", "jobs", "waiting", "quotas", "leases", "cluster", "pools", "alerts", "disk", "workflows", "python"} {
		failures.WithLabelValues(source)
	}
	failed := s.Failed
	s.Failed = func(source string, err error) {
		failures.WithLabelValues(source).Inc()
		if failed != nil {
			failed(source, err)
		}
	}
	m.registry.MustRegister(&snapshot{sources: s, tenants: m.tenants})
}

// snapshot reads the sources when it is collected.
type snapshot struct {
	sources Sources
	tenants *tenants
	one     sync.Mutex // a scrape at a time
}

// Describe implements prometheus.Collector: the metrics are not known in advance.
func (*snapshot) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *snapshot) Collect(out chan<- prometheus.Metric) {
	s.one.Lock()
	defer s.one.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), scrapeWithin)
	defer cancel()
	emit := func(f family) { f.emit(out) }
	ask(ctx, s, "work", s.sources.Work, func(work []Work) { s.work(work, emit) })
	ask(ctx, s, "jobs", s.sources.Jobs, func(jobs []Jobs) {
		f := gauges("jobs", "Background jobs by queue and state.", "queue", "state")
		for _, j := range jobs {
			f.add(float64(j.N), j.Queue, j.State)
		}
		emit(f)
	})
	ask(ctx, s, "waiting", s.sources.Waiting, func(waiting []Waiting) { s.waiting(waiting, emit) })
	ask(ctx, s, "quotas", s.sources.Quotas, func(quotas []Quota) { s.quotas(quotas, emit) })
	ask(ctx, s, "pools", s.sources.Pools, func(pools []WorkerPool) { workerPools(pools, emit) })
	ask(ctx, s, "alerts", s.sources.Alerts, func(a Alerts) { alerts(a, emit) })
	ask(ctx, s, "disk", s.sources.Disk, func(free int64) {
		f := gauges("disk_free_bytes", "Free space of the disk that holds the data of this server.")
		f.add(float64(free))
		emit(f)
	})
	ask(ctx, s, "leases", s.sources.Leases, func(leases []Lease) {
		term := gauges("lease_term", "The term of a lease; it increases with each change of the holder.", "lease")
		ours := gauges("lease_leader", "1 if this process holds the lease.", "lease")
		for _, l := range leases {
			term.add(float64(l.Term), l.Name)
			ours.add(number(l.Ours), l.Name)
		}
		emit(term)
		emit(ours)
	})
	ask(ctx, s, "cluster", s.sources.Cluster, func(c *Cluster) { cluster(c, emit) })
	ask(ctx, s, "workflows", s.sources.Series, func(series []Series) {
		if err := workflowSeries(series, time.Now(), out); err != nil {
			s.sources.Failed("workflows", err)
		}
	})
	ask(ctx, s, "python", s.sources.Python, func(p WarmPython) {
		processes := gauges("python_warm_processes", "Warm Python processes of this machine.")
		processes.add(float64(p.Processes))
		memory := gauges("python_warm_memory_mib", "Memory of the warm Python processes of this machine.")
		memory.add(float64(p.Memory) / (1 << 20))
		emit(processes)
		emit(memory)
	})
	s.local(emit)
}

// ask calls source and passes its result to add, unless it failed.
func ask[T any](ctx context.Context, s *snapshot, name string, source func(context.Context) (T, error), add func(T)) {
	if source == nil {
		return
	}
	answer, err := source(ctx)
	if err != nil {
		s.sources.Failed(name, err)
		return
	}
	add(answer)
}

func (s *snapshot) work(work []Work, emit func(family)) {
	executions := gauges("executions", "Executions that have not ended, by state and tenant.", "state", "tenant")
	nodes := gauges("nodes", "Nodes of executions that have not ended, by state and tenant.", "state", "tenant")
	for _, w := range work {
		tenant := s.tenants.label(w.Tenant)
		executions.add(float64(w.Executions), w.State, tenant)
		for _, state := range slices.Sorted(maps.Keys(w.Nodes)) {
			nodes.add(float64(w.Nodes[state]), state, tenant)
		}
	}
	emit(executions)
	emit(nodes)
}

func (s *snapshot) waiting(waiting []Waiting, emit func(family)) {
	requests := gauges("waiting_requests", "Nodes and executions that are not admitted yet; exported by the scheduler's leader.", "reason", "tenant")
	oldest := 0.0
	for _, w := range waiting {
		requests.add(float64(w.N), w.Reason, s.tenants.label(w.Tenant))
		oldest = max(oldest, w.Oldest.Seconds())
	}
	age := gauges("waiting_oldest_seconds", "Age of the request that has waited longest; exported by the scheduler's leader.")
	age.add(oldest)
	emit(requests)
	emit(age)
}

func (s *snapshot) quotas(quotas []Quota, emit func(family)) {
	used := gauges("quota_used", "Usage of running work and reserved capacity, in the unit of the resource; exported by the scheduler's leader.", "tenant", "resource")
	limit := gauges("quota_limit", "The limit of a tenant, in the unit of the resource; tenant \"all\" is the installation.", "tenant", "resource")
	requested := gauges("quota_waiting", "Total of the waiting requests, in the unit of the resource.", "tenant", "resource")
	for _, q := range quotas {
		tenant := q.Tenant
		if tenant != AllTenants {
			tenant = s.tenants.label(tenant)
		}
		used.add(float64(q.Used), tenant, q.Resource)
		requested.add(float64(q.Waiting), tenant, q.Resource)
		if q.Limit != nil {
			limit.add(float64(*q.Limit), tenant, q.Resource)
		}
	}
	emit(used)
	emit(limit)
	emit(requested)
}

// AllTenants is the Tenant of a Quota of the whole installation.
const AllTenants = "all"

func cluster(c *Cluster, emit func(family)) {
	if c == nil {
		return
	}
	answers := gauges("cluster_answers", "1 while the launcher's leader can reach the Kubernetes API.")
	answers.add(number(c.Answers))
	machines := gauges("cluster_machines", "Machines of the cluster.", "state")
	for state, n := range c.Machines {
		machines.add(float64(n), state)
	}
	pods := gauges("cluster_pods", "Pods of attempts.", "state")
	for state, n := range c.Pods {
		pods.add(float64(n), state)
	}
	total := gauges("cluster_gpus", "GPUs in the cluster.", "type")
	used := gauges("cluster_gpus_used", "GPUs that pods request, including pods of other systems.", "type")
	for kind, g := range c.GPUs {
		total.add(float64(g.Total), kind)
		used.add(float64(g.Used), kind)
	}
	for _, f := range []family{answers, machines, pods, total, used} {
		emit(f)
	}
}

// local emits the metrics of the process itself.
func (s *snapshot) local(emit func(family)) {
	if s.sources.Spool != nil {
		spool := s.sources.Spool()
		for _, v := range []struct {
			name, help string
			value      float64
		}{
			{"spool_records", "Log lines and metric points in the spool of this server, which ClickHouse has not stored yet.", float64(spool.Records)},
			{"spool_bytes", "Size of the spool of this server.", float64(spool.Bytes)},
			{"spool_max_bytes", "Maximum size of the spool.", float64(spool.MaxBytes)},
			{"clickhouse_up", "1 while ClickHouse accepts inserts.", number(spool.ClickHouse)},
		} {
			f := gauges(v.name, v.help)
			f.add(v.value)
			emit(f)
		}
		refused := gauges("spool_refused_total", "Log lines and metric points that were rejected because the spool or its disk was full.")
		refused.kind = prometheus.CounterValue
		refused.add(float64(spool.Refused))
		emit(refused)
	}
	if s.sources.Pool != nil {
		pool := s.sources.Pool()
		f := gauges("database_connections", "Connections to Postgres.", "state")
		f.add(float64(pool.Used), "used")
		f.add(float64(pool.Idle), "idle")
		f.add(float64(pool.Most), "max")
		emit(f)
	}
	if s.sources.Sessions != nil {
		sessions := s.sources.Sessions()
		f := gauges("database_sessions", "Sessions with Postgres that keep state between transactions, in addition to the connections.", "state")
		f.add(float64(sessions.Open), "open")
		f.add(float64(sessions.Most), "max")
		emit(f)
	}
	if s.sources.Replica != nil {
		replicaOf(s.sources.Replica(), emit)
	}
}

func replicaOf(r Replica, emit func(family)) {
	up := gauges("replica_usable", "1 while lists are read from the replica of Postgres.")
	up.add(number(r.Usable))
	emit(up)
	if r.Measured {
		lag := gauges("replica_lag_seconds", "The replica of Postgres has every change that is older than this.")
		lag.add(r.Lag.Seconds())
		emit(lag)
	}
	reads := gauges("database_reads_total", "Requests for lists, by the server that they were read from. The reason is why that was not the replica; a request whose read failed there is counted for both.", "target", "reason")
	reads.kind = prometheus.CounterValue
	reads.add(float64(r.Reads), "replica", "")
	for reason, n := range r.Primary {
		reads.add(float64(n), "primary", reason)
	}
	emit(reads)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// workerPools are the signals by which workers are scaled.
func workerPools(pools []WorkerPool, emit func(family)) {
	queue := gauges("pool_queue_depth", "Tasks that wait for a worker of a pool.", "pool")
	wait := gauges("pool_wait_seconds", "How long the first task in the queue of a pool has waited.", "pool")
	running := gauges("pool_running_tasks", "Tasks that the workers of a pool have taken.", "pool")
	workers := gauges("pool_workers", "Connected workers of a pool.", "pool")
	for _, p := range pools {
		queue.add(float64(p.Queued), p.Name)
		wait.add(p.Wait.Seconds(), p.Name)
		running.add(float64(p.Running), p.Name)
		workers.add(float64(p.Connected), p.Name)
	}
	for _, f := range []family{queue, wait, running, workers} {
		emit(f)
	}
}
