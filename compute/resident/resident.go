// Package resident is the queue of warm pods: attempts that wait for a warm pod, and
// attempts that one has taken. A pool is what one pod can serve, one attempt after
// another: a project, an image, resources and pod fields.
package resident

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// tokenLife is how long a pool's token is valid; each response renews it.
	tokenLife = time.Hour
	// workerAge is the maximum age of a warm pod, so that changed images and settings
	// reach every pool.
	workerAge = 6 * time.Hour
	takeLimit = 25 * time.Second
	// pollInterval is the interval at which a waiting worker checks for work that was added
	// through another server.
	pollInterval = 250 * time.Millisecond
	maxWorker    = 253
)

// Service is the queue. It is safe for concurrent use by several servers.
type Service struct {
	queries *db.Queries
	signer  auth.Signer
	now     func() time.Time

	mu    sync.Mutex
	grown chan struct{} // closed and replaced when work is added through this server
}

// New returns a Service that signs tokens with signer.
func New(pool *pgxpool.Pool, signer auth.Signer, now func() time.Time) *Service {
	return &Service{queries: db.New(pool), signer: signer, now: now, grown: make(chan struct{})}
}

// PoolOf returns the pool of an attempt, as 32 hex digits.
func PoolOf(spec *flowforgev1.AttemptSpec) string {
	key := poolKey(spec)
	return hex.EncodeToString(key[:])
}

func poolKey(spec *flowforgev1.AttemptSpec) [16]byte {
	hash := sha256.New()
	r := spec.GetResources()
	parts := []string{
		spec.GetTenantId(), spec.GetProjectId(), spec.GetImage(), spec.GetPodJson(), spec.GetApiEndpoint(), r.GetGpuType(),
		strconv.Itoa(int(r.GetCpuMillis())), strconv.FormatInt(r.GetMemoryMib(), 10), strconv.Itoa(int(r.GetGpus())),
		strconv.FormatInt(r.GetStorageMib(), 10),
	}
	for _, part := range parts {
		_ = binary.Write(hash, binary.BigEndian, uint32(len(part))) //nolint:gosec // short
		_, _ = hash.Write([]byte(part))
	}
	return [16]byte(hash.Sum(nil)[:16])
}

// Enqueue adds attempts to their pools; known attempts are unchanged. It does not store
// their tokens: they are signed again when a pod takes them. For the engine.
func (s *Service) Enqueue(ctx context.Context, attempts []*flowforgev1.AttemptSpec) error {
	for _, spec := range attempts {
		tenant, err := uuid.Parse(spec.GetTenantId())
		if err != nil {
			return fmt.Errorf("tenant of %s: %w", spec.GetTaskId(), err)
		}
		project, err := uuid.Parse(spec.GetProjectId())
		if err != nil {
			return fmt.Errorf("project of %s: %w", spec.GetTaskId(), err)
		}
		kept, _ := proto.Clone(spec).(*flowforgev1.AttemptSpec)
		kept.Token = ""
		data, err := proto.Marshal(kept)
		if err != nil {
			return fmt.Errorf("encode %s: %w", spec.GetTaskId(), err)
		}
		err = s.queries.QueueResidentWork(ctx, db.QueueResidentWorkParams{
			TaskID: spec.GetTaskId(), Pool: PoolOf(spec), TenantID: tenant, ProjectID: project, Spec: data, QueuedAt: s.now(),
		})
		if err != nil {
			return fmt.Errorf("queue %s: %w", spec.GetTaskId(), err)
		}
	}
	s.mu.Lock()
	close(s.grown)
	s.grown = make(chan struct{})
	s.mu.Unlock()
	return nil
}

// Answer is the response to a worker.
type Answer struct {
	Spec  *flowforgev1.AttemptSpec // nil: there is no work
	Token string                   // of the pool, for the next calls
	Leave bool
}

// Take assigns to worker the attempt that has waited longest in the pool of token; if
// there is none, it waits for up to wait. finished is the worker's previous attempt,
// which is removed from the queue. A worker whose response was lost gets the same attempt
// again. Unauthenticated: the token is not valid.
func (s *Service) Take(ctx context.Context, token, worker, finished string, wait time.Duration) (Answer, error) {
	scope, err := s.signer.VerifyPool(token, s.now())
	if err != nil {
		return Answer{}, err
	}
	if worker == "" || len(worker) > maxWorker {
		return Answer{}, apperr.New(apperr.Invalid, "The name of a worker must have at most %d bytes.", maxWorker)
	}
	if finished != "" {
		if _, err := s.queries.EndResidentWork(ctx, finished, worker); err != nil {
			return Answer{}, fmt.Errorf("end %s: %w", finished, err)
		}
	}
	answer := Answer{Token: s.signer.SignPool(scope, s.now().Add(tokenLife))}
	deadline := time.NewTimer(min(wait, takeLimit))
	defer deadline.Stop()
	for {
		s.mu.Lock()
		grown := s.grown
		s.mu.Unlock()
		if answer.Spec, err = s.next(ctx, scope, worker); err != nil || answer.Spec != nil {
			return answer, err
		}
		if answer.Leave = s.now().Sub(scope.Born) > workerAge; answer.Leave || wait <= 0 {
			return answer, nil
		}
		select {
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		case <-deadline.C:
			return answer, nil
		case <-grown:
		case <-time.After(pollInterval):
		}
	}
}

// next returns the attempt that worker has already taken, else the next attempt of the
// pool, with a token for it; nil when there is none.
func (s *Service) next(ctx context.Context, scope auth.PoolScope, worker string) (*flowforgev1.AttemptSpec, error) {
	pool := hex.EncodeToString(scope.Pool[:])
	row, err := s.queries.ResidentWorkOf(ctx, worker, pool)
	if db.IsNoRows(err) {
		var taken db.TakeResidentWorkRow
		taken, err = s.queries.TakeResidentWork(ctx, worker, s.now(), pool)
		row = db.ResidentWorkOfRow(taken)
	}
	if db.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take work of pool %s: %w", pool, err)
	}
	if row.ProjectID != scope.ProjectID || row.TenantID != scope.TenantID {
		return nil, apperr.New(apperr.Forbidden, "The pool belongs to another project.")
	}
	spec := &flowforgev1.AttemptSpec{}
	if err := proto.Unmarshal(row.Spec, spec); err != nil {
		return nil, fmt.Errorf("decode %s: %w", row.TaskID, err)
	}
	attempt, err := auth.ScopeOf(row.TaskID, row.TenantID, row.ProjectID)
	if err != nil {
		return nil, err
	}
	timeout := time.Duration(spec.TimeoutMs) * time.Millisecond
	spec.Token = s.signer.SignAttempt(attempt, s.now(), timeout)
	return spec, nil
}

// Withdraw removes and returns the attempts that no worker has taken. The server notifies
// the workers of the others. For the engine.
func (s *Service) Withdraw(ctx context.Context, taskIDs []string) ([]string, error) {
	withdrawn, err := s.queries.WithdrawResidentWork(ctx, taskIDs)
	if err != nil {
		return nil, fmt.Errorf("withdraw work: %w", err)
	}
	return withdrawn, nil
}

// Remove removes attempts from the queue, whether or not a worker has taken them. For the
// engine.
func (s *Service) Remove(ctx context.Context, taskIDs []string) error {
	if err := s.queries.RemoveResidentWork(ctx, taskIDs); err != nil {
		return fmt.Errorf("remove resident work: %w", err)
	}
	return nil
}

// List returns all work. For the engine.
func (s *Service) List(ctx context.Context) ([]launcher.ResidentWork, error) {
	rows, err := s.queries.ListResidentWork(ctx)
	if err != nil {
		return nil, fmt.Errorf("list resident work: %w", err)
	}
	work := make([]launcher.ResidentWork, len(rows))
	for i, r := range rows {
		work[i] = launcher.ResidentWork{TaskID: r.TaskID, Pool: r.Pool, Worker: r.Worker}
	}
	return work, nil
}

// Pools returns the pools that have work, waiting or taken. For the engine.
func (s *Service) Pools(ctx context.Context) ([]launcher.ResidentPool, error) {
	rows, err := s.queries.ResidentPools(ctx)
	if err != nil {
		return nil, fmt.Errorf("list resident pools: %w", err)
	}
	pools := make([]launcher.ResidentPool, 0, len(rows))
	for _, r := range rows {
		spec := &flowforgev1.AttemptSpec{}
		if err := proto.Unmarshal(r.Spec, spec); err != nil {
			return nil, fmt.Errorf("decode work of pool %s: %w", r.Pool, err)
		}
		key, err := hex.DecodeString(r.Pool)
		if err != nil || len(key) != 16 {
			return nil, fmt.Errorf("%q is not a pool", r.Pool)
		}
		now := s.now()
		scope := auth.PoolScope{TenantID: r.TenantID, ProjectID: r.ProjectID, Pool: [16]byte(key), Born: now}
		pools = append(pools, launcher.ResidentPool{
			ID: r.Pool, ProjectID: r.ProjectID.String(), Queued: int(r.Queued), Busy: int(r.Taken),
			Attempt: spec, Token: s.signer.SignPool(scope, now.Add(tokenLife)),
		})
	}
	return pools, nil
}
