// Package pool runs attempts on machines outside the cluster. A pool is a named group of workers.
// Workers join with a token of the pool and pull attempts that fit their labels and their free
// capacity. A worker without a heartbeat is lost, and its attempts end as interrupted.
package pool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
)

// DefaultLostAfter is how long a worker may be silent before its attempts end as interrupted.
const DefaultLostAfter = time.Minute

// Config configures a Service. Pool, Signer and Now are required.
type Config struct {
	Pool      *pgxpool.Pool
	Signer    auth.Signer   // of the tokens of attempts
	LostAfter time.Duration // 0: DefaultLostAfter
	Watch     *db.Watch     // reports attempts for pools; nil: Run polls every second
	Logger    *slog.Logger
	Now       func() time.Time
}

// Service manages pools, and assigns attempts to workers. It is safe for concurrent use by several
// servers.
type Service struct {
	config  Config
	queries *db.Queries

	mu    sync.Mutex
	grown chan struct{} // closed and replaced when work is added or a drain ends through this server
}

// New returns a Service.
func New(config Config) *Service {
	if config.LostAfter <= 0 {
		config.LostAfter = DefaultLostAfter
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{config: config, queries: db.New(config.Pool), grown: make(chan struct{})}
}

// Pool is a group of workers with the state of its queue.
type Pool struct {
	Name        string
	Description string
	Draining    bool // its workers take no attempts
	Restricted  bool // only some projects may use it; see Access
	CreatedAt   time.Time
	CreatedBy   string
	Workers     int // including those without a heartbeat
	Connected   int
	Capacity    Amount        // of the connected workers; 0 CPU or memory: not declared
	Used        Amount        // by the attempts that workers have taken
	Queued      int           // attempts that no worker has taken
	Running     int           // attempts that a worker has taken
	Wait        time.Duration // of the attempt that has waited longest
}

// Amount is an amount of resources.
type Amount struct {
	Slots     int // concurrent attempts
	CPUMillis int
	MemoryMiB int
	GPUs      int
	GPUType   string
}

// Worker is a process that takes attempts of a pool.
type Worker struct {
	ID        uuid.UUID
	Pool      string
	Name      string
	Labels    map[string]string
	Capacity  Amount
	Version   string
	Draining  bool // an administrator requested it
	Leaving   bool // the process ends when its attempts have ended
	Connected bool // it sent a heartbeat recently
	JoinedAt  time.Time
	SeenAt    time.Time
}

// The states of a worker.
const (
	StateReady    = "ready"
	StateDraining = "draining" // an administrator drains it
	StateLeaving  = "leaving"  // its process ends after its attempts
	StateLost     = "lost"     // it sends no heartbeat
)

// State is the state of the worker.
func (w Worker) State() string {
	switch {
	case !w.Connected:
		return StateLost
	case w.Leaving:
		return StateLeaving
	case w.Draining:
		return StateDraining
	}
	return StateReady
}

// Attempt is an attempt in the queue of a pool, or one that a worker has taken.
type Attempt struct {
	TaskID    string
	Execution uuid.UUID
	Workflow  string
	Node      string
	Number    int
	Labels    map[string]string // that the worker must have
	Requested Amount
	QueuedAt  time.Time
	Worker    uuid.UUID // uuid.Nil: it waits
	TakenAt   *time.Time
	Reason    string // why it waits
}

// Token is a token of a pool without its secret, which is not stored.
type Token struct {
	ID         string
	Pool       string
	CreatedAt  time.Time
	CreatedBy  string
	LastUsedAt *time.Time
}

var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func errNoPool(pool string) error {
	return apperr.New(apperr.NotFound, "There is no pool %q.", pool)
}

// LostAfter returns how long a worker may be silent before it is lost.
func (s *Service) LostAfter() time.Duration { return s.config.LostAfter }

// wake wakes the workers that wait for attempts through this server.
func (s *Service) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.grown)
	s.grown = make(chan struct{})
}

// awakened returns a channel that is closed at the next wake.
func (s *Service) awakened() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grown
}

// State returns all pools with their queues. For metrics.
func (s *Service) State(ctx context.Context) ([]Pool, error) { return s.list(ctx, "") }

func (s *Service) list(ctx context.Context, only string) ([]Pool, error) {
	rows, err := s.queries.ListPools(ctx, s.config.LostAfter.Seconds(), only)
	if err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	pools := make([]Pool, len(rows))
	for i, r := range rows {
		pools[i] = Pool{
			Name: r.Name, Description: r.Description, Draining: r.Draining, Restricted: r.Restricted, CreatedAt: r.CreatedAt.UTC(), CreatedBy: r.CreatedBy,
			Workers: int(r.Workers), Connected: int(r.Connected),
			Capacity: Amount{Slots: int(r.Slots), CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus)},
			Used:     Amount{Slots: int(r.Running), CPUMillis: int(r.CpuUsed), MemoryMiB: int(r.MemoryUsed), GPUs: int(r.GpusUsed)},
			Queued:   int(r.Queued), Running: int(r.Running), Wait: time.Duration(r.WaitSeconds * float64(time.Second)),
		}
	}
	return pools, nil
}

func (s *Service) workers(ctx context.Context, pool string) ([]Worker, error) {
	rows, err := s.queries.ListPoolWorkers(ctx, s.config.LostAfter.Seconds(), pool)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	workers := make([]Worker, len(rows))
	for i, r := range rows {
		workers[i] = Worker{
			ID: r.ID, Pool: r.Pool, Name: r.Name, Labels: labelsOf(r.Labels), Version: r.Version,
			Capacity: Amount{Slots: int(r.Slots), CPUMillis: int(r.CpuMillis), MemoryMiB: int(r.MemoryMib), GPUs: int(r.Gpus), GPUType: r.GpuType},
			Draining: r.Draining, Leaving: r.Leaving, Connected: r.Connected, JoinedAt: r.JoinedAt.UTC(), SeenAt: r.SeenAt.UTC(),
		}
	}
	return workers, nil
}

// labelsOf decodes labels that this package encoded.
func labelsOf(raw json.RawMessage) map[string]string {
	labels := map[string]string{}
	_ = json.Unmarshal(raw, &labels)
	return labels
}

func encodeLabels(labels map[string]string) json.RawMessage {
	if labels == nil {
		labels = map[string]string{}
	}
	raw, _ := json.Marshal(labels) //nolint:errchkjson // texts always encode
	return raw
}

// Observe receives what happened to attempts; see execution.Supervisor.
type Observe func(ctx context.Context, seen []launcher.Observation) error
