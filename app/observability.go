package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/platform/observability"
)

// Observability configures monitoring of this server.
type Observability struct {
	MetricsAddr    string // host:port of /metrics, without authentication; "": none
	MetricsTenants int    // number of tenants with their own label; 0: 20
	Traces         observability.TraceConfig
}

const defaultTenantLabels = 20

// check reports the first invalid setting.
func (c Observability) check() error {
	if c.MetricsAddr == "" {
		return nil
	}
	if _, port, err := net.SplitHostPort(c.MetricsAddr); err != nil || port == "" {
		return fmt.Errorf("FLOWFORGE_METRICS_ADDR %q is not host:port, such as 0.0.0.0:9090", c.MetricsAddr)
	}
	return nil
}

// monitoring counts and traces what this server does.
type monitoring struct {
	log     *slog.Logger
	metrics *observability.Metrics
	traces  *observability.Traces // nil when tracing is off
}

// openMonitoring creates the metrics and traces of the services. Closing life sends the last traces.
func openMonitoring(ctx context.Context, cfg Config, life *lifecycle) (*monitoring, error) {
	most := cfg.Observability.MetricsTenants
	if most == 0 {
		most = defaultTenantLabels
	}
	m := &monitoring{log: cfg.Log, metrics: observability.NewMetrics(version(cfg.Executable), most)}
	if cfg.Kube != nil {
		m.metrics.WatchClients()
	}
	c := cfg.Observability.Traces
	c.Version, c.Instance, c.Log = version(cfg.Executable), cfg.Instance, cfg.Log
	var err error
	if m.traces, err = observability.StartTraces(ctx, c); err != nil {
		return nil, err
	}
	life.onStop(func() { life.within(2*time.Second, "not all traces were sent", m.traces.Close) })
	return m, nil
}

// observed returns handler with metrics and traces.
func (m *monitoring) observed(handler http.Handler) http.Handler {
	return m.metrics.HTTP(m.traces.HTTP(handler))
}

// startMetrics serves /metrics on its own address, with only /healthz in addition.
func (a *App) startMetrics(p *parts) {
	if a.watched == nil {
		return
	}
	a.monitoring.metrics.Watch(metricSources(a.cfg, p, a.paths.root))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.monitoring.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	a.life.serve(a.watched, mux)
}

// metricSources returns the sources of a scrape of this server.
func metricSources(c Config, p *parts, root string) observability.Sources {
	return observability.Sources{
		Work:    func(ctx context.Context) ([]observability.Work, error) { return liveWork(ctx, p) },
		Jobs:    func(ctx context.Context) ([]observability.Jobs, error) { return jobCounts(ctx, p) },
		Waiting: func(context.Context) ([]observability.Waiting, error) { return waitingRequests(p, time.Now()), nil },
		Quotas:  func(context.Context) ([]observability.Quota, error) { return quotaUse(p), nil },
		Leases:  func(ctx context.Context) ([]observability.Lease, error) { return leases(ctx, p) },
		Cluster: clusterState(c, p),
		Pools:   func(ctx context.Context) ([]observability.WorkerPool, error) { return workerPools(ctx, p) },
		Alerts:  func(ctx context.Context) (observability.Alerts, error) { return alerts(ctx, p, time.Now()) },
		Series:  func(ctx context.Context) ([]observability.Series, error) { return workflowSeries(ctx, p) },
		Python:  warmPython(p),
		Spool: func() observability.Spool {
			s := p.telemetry.Status()
			return observability.Spool{
				Records: s.PendingRecords, Bytes: s.PendingBytes, MaxBytes: s.SpoolMaxBytes, Refused: s.Refused,
				ClickHouse: s.ClickHouse == telemetry.StateUp,
			}
		},
		Disk: func(context.Context) (int64, error) {
			free, err := quota.FreeDiskMiB(root)
			return int64(free) << 20, err
		},
		Pool: func() observability.Pool {
			s := p.pool.Stat()
			return observability.Pool{Used: int64(s.AcquiredConns()), Idle: int64(s.IdleConns()), Most: int64(s.MaxConns())}
		},
		Sessions: func() observability.Sessions {
			return observability.Sessions{Open: p.direct.Count(), Most: c.maxSessions()}
		},
		Replica: replicaMetrics(p),
		Failed: func(source string, err error) {
			c.Log.Warn("some metrics cannot be collected", "source", source, "error", err)
		},
	}
}

func workerPools(ctx context.Context, p *parts) ([]observability.WorkerPool, error) {
	pools, err := p.pools.State(ctx)
	list := make([]observability.WorkerPool, len(pools))
	for i, s := range pools {
		list[i] = observability.WorkerPool{Name: s.Name, Queued: s.Queued, Running: s.Running, Connected: s.Connected, Wait: s.Wait}
	}
	return list, err
}

// alerts reads the state of schedules and notification channels.
func alerts(ctx context.Context, p *parts, now time.Time) (observability.Alerts, error) {
	q := db.New(p.pool)
	schedules, err := q.ScheduleState(ctx)
	if err != nil {
		return observability.Alerts{}, fmt.Errorf("state of the schedules: %w", err)
	}
	channels, err := q.ChannelState(ctx)
	if err != nil {
		return observability.Alerts{}, fmt.Errorf("state of the notification channels: %w", err)
	}
	return observability.Alerts{
		Schedules: map[string]int64{"active": schedules.Active, "paused": schedules.Paused, "stopped": schedules.Stopped},
		Problems:  schedules.Problems, Overdue: max(now.Sub(schedules.DueAt), 0),
		Failing: channels.Failing, Undelivered: channels.Waiting, Oldest: max(now.Sub(channels.Oldest), 0),
	}, nil
}

// warmPython returns nil without local tasks.
func warmPython(p *parts) func(context.Context) (observability.WarmPython, error) {
	if p.warmPython == nil {
		return nil
	}
	return func(ctx context.Context) (observability.WarmPython, error) {
		processes, memory, err := p.warmPython(ctx)
		return observability.WarmPython{Processes: processes, Memory: memory}, err
	}
}

func liveWork(ctx context.Context, p *parts) ([]observability.Work, error) {
	rows, err := db.New(p.pool).CountLiveWork(ctx)
	if err != nil {
		return nil, fmt.Errorf("count live work: %w", err)
	}
	work := make([]observability.Work, len(rows))
	for i, r := range rows {
		work[i] = observability.Work{Tenant: r.Tenant, State: r.Status, Executions: r.Executions, Nodes: map[string]int64{
			"PENDING": r.Pending, "READY": r.Ready, "QUEUED": r.Queued, "RUNNING": r.Running, "APPROVAL": r.AwaitingApproval, "RETRYING": r.Retrying,
		}}
	}
	return work, nil
}

// workflowSeries returns the series of the metrics that workflows define.
func workflowSeries(ctx context.Context, p *parts) ([]observability.Series, error) {
	rows, err := db.New(p.pool).ListSeries(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the series of workflows: %w", err)
	}
	series := make([]observability.Series, len(rows))
	for i, r := range rows {
		var labels map[string]string
		if err := json.Unmarshal(r.Labels, &labels); err != nil {
			return nil, fmt.Errorf("labels of %s: %w", r.Name, err)
		}
		series[i] = observability.Series{
			Tenant: r.Tenant, Project: r.Project, Name: r.Name, Labels: labels, Kind: r.Kind, Help: r.Help,
			Value: r.Value, Bounds: r.Bounds, Counts: r.Counts, LiveSince: r.LiveSince,
		}
	}
	return series, nil
}

func jobCounts(ctx context.Context, p *parts) ([]observability.Jobs, error) {
	counts, err := db.JobCounts(ctx, p.pool)
	jobs := make([]observability.Jobs, len(counts))
	for i, c := range counts {
		jobs[i] = observability.Jobs(c)
	}
	return jobs, err
}

// waitingRequests returns the queue of the fair scheduler; nil if this server does not
// have it.
func waitingRequests(p *parts, now time.Time) []observability.Waiting {
	if !p.leads.Load() {
		return nil
	}
	queue := p.quotas.Queue(fair.Filter{})
	waiting := make([]observability.Waiting, 0, len(queue))
	for _, w := range queue {
		tenant := ""
		if len(w.Path) > 0 {
			tenant = w.Path[0].Name
		}
		waiting = append(waiting, observability.Waiting{Tenant: tenant, Reason: w.Reason.Code, N: 1, Oldest: now.Sub(w.Since)})
	}
	return waiting
}

func quotaUse(p *parts) []observability.Quota {
	if !p.leads.Load() {
		return nil
	}
	var quotas []observability.Quota
	for _, level := range p.quotas.Scheduler().Snapshot().Levels {
		tenant := level.Name
		switch level.Kind {
		case "tenant":
		case "installation":
			tenant = observability.AllTenants
		default:
			continue
		}
		for resource, state := range level.Resources {
			quotas = append(quotas, observability.Quota{Tenant: tenant, Resource: string(resource), Limit: state.Limit, Used: state.Used, Waiting: state.Waiting})
		}
	}
	return quotas
}

func leases(ctx context.Context, p *parts) ([]observability.Lease, error) {
	rows, err := db.New(p.pool).ListLeases(ctx)
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	list := make([]observability.Lease, len(rows))
	for i, r := range rows {
		list[i] = observability.Lease{Name: r.Name, Term: r.Term, Ours: r.Held && r.Holder == p.holder}
	}
	return list, nil
}

// clusterState reads the latest state that the launcher's leader stored.
func clusterState(c Config, p *parts) func(context.Context) (*observability.Cluster, error) {
	if c.Kube == nil {
		return nil
	}
	return func(ctx context.Context) (*observability.Cluster, error) {
		row, err := db.New(p.pool).GetClusterSnapshot(ctx)
		if db.IsNoRows(err) {
			return nil, nil //nolint:nilnil // no state has been stored yet
		}
		if err != nil {
			return nil, fmt.Errorf("state of the cluster: %w", err)
		}
		var seen launcher.ClusterState
		if err := json.Unmarshal(row.Snapshot, &seen); err != nil {
			return nil, fmt.Errorf("state of the cluster: %w", err)
		}
		cluster := &observability.Cluster{Answers: seen.Answers, Machines: map[string]int64{"ready": 0, "not_ready": 0}, Pods: map[string]int64{}, GPUs: map[string]observability.GPUs{}}
		for state, n := range seen.Pods {
			cluster.Pods[state] = int64(n)
		}
		for _, m := range seen.Machines {
			state := "not_ready"
			if m.Ready {
				state = "ready"
			}
			cluster.Machines[state]++
			for _, g := range m.GPUs {
				sum := cluster.GPUs[g.Type]
				cluster.GPUs[g.Type] = observability.GPUs{Total: sum.Total + g.Total, Used: sum.Used + g.Used}
			}
		}
		return cluster, nil
	}
}

// onFinished stores and reports an ended execution; the calling job retries after a
// failure.
func (m *monitoring) onFinished(p *parts) func(context.Context, uuid.UUID) error {
	return func(ctx context.Context, id uuid.UUID) error {
		ctx = auth.AsSystem(ctx)
		e, err := p.executions.Get(ctx, id)
		if err != nil || e.FinishedAt == nil {
			return err
		}
		p.sweeps.Wake()
		p.schedules.Wake()
		p.backfills.Wake()
		// None of these waits for another: messages and triggers do not need ClickHouse.
		err = errors.Join(recordFact(ctx, p, e), p.notifications.ExecutionEnded(ctx, id), p.triggers.ExecutionEnded(ctx, e))
		if err == nil {
			m.reportEnd(ctx, p, e)
		}
		return err
	}
}

// reportEnd counts an ended execution and sends its trace.
func (m *monitoring) reportEnd(ctx context.Context, p *parts, e query.Execution) {
	tenant, err := db.New(p.pool).TenantName(ctx, e.TenantID)
	if err != nil {
		tenant = ""
	}
	m.metrics.Finished(string(e.Status), tenant)
	if m.traces == nil || e.Traceparent == "" {
		return
	}
	spans, err := p.executions.Spans(ctx, e)
	if err != nil {
		m.log.Warn("the trace of an execution could not be sent", "execution", e.ID, "error", err)
		return
	}
	sent := make([]observability.Span, len(spans))
	for i, s := range spans {
		sent[i] = observability.Span(s)
	}
	m.traces.SendSpans(e.Traceparent, sent)
}
