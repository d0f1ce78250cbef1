package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Base is the launcher of attempts without a pool.
type Base interface {
	Start(ctx context.Context, attempts []launcher.Attempt) error
	Stop(ctx context.Context, attempts []launcher.Ref, grace time.Duration) error
	List(ctx context.Context) ([]launcher.Status, error)
}

// Launcher queues the attempts of pools for their workers, and passes other attempts to its base.
type Launcher struct {
	base    Base
	pools   *Service
	observe Observe
}

// NewLauncher returns a Launcher. observe receives the withdrawn attempts.
func NewLauncher(base Base, pools *Service, observe Observe) *Launcher {
	return &Launcher{base: base, pools: pools, observe: observe}
}

// Start queues and starts attempts. It is idempotent.
func (l *Launcher) Start(ctx context.Context, attempts []launcher.Attempt) error {
	var own, pooled []launcher.Attempt
	for _, a := range attempts {
		if a.GetPool() != "" {
			pooled = append(pooled, a)
		} else {
			own = append(own, a)
		}
	}
	if len(pooled) > 0 {
		if err := l.pools.enqueue(ctx, pooled); err != nil {
			return &launcher.StartError{Err: err}
		}
	}
	if len(own) == 0 {
		return nil
	}
	return l.base.Start(ctx, own)
}

// Prepare passes attempts without a pool to a base that sets up attempts in advance.
func (l *Launcher) Prepare(ctx context.Context, attempts []launcher.Attempt) {
	base, ok := l.base.(interface {
		Prepare(ctx context.Context, attempts []launcher.Attempt)
	})
	if !ok {
		return
	}
	var own []launcher.Attempt
	for _, a := range attempts {
		if a.GetPool() == "" {
			own = append(own, a)
		}
	}
	if len(own) > 0 {
		base.Prepare(ctx, own)
	}
}

// Stop withdraws waiting attempts. The response to the heartbeat of an attempt stops those that a
// worker has taken.
func (l *Launcher) Stop(ctx context.Context, attempts []launcher.Ref, grace time.Duration) error {
	ids := make([]string, len(attempts))
	for i, a := range attempts {
		ids[i] = a.TaskID
	}
	pooled, err := l.pools.queries.KnownPoolWork(ctx, ids)
	if err != nil {
		return fmt.Errorf("find attempts of pools: %w", err)
	}
	if len(pooled) > 0 {
		if err := l.withdraw(ctx, pooled); err != nil {
			return err
		}
	}
	known := make(map[string]bool, len(pooled))
	for _, id := range pooled {
		known[id] = true
	}
	var own []launcher.Ref
	for _, a := range attempts {
		if !known[a.TaskID] {
			own = append(own, a)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return l.base.Stop(ctx, own, grace)
}

func (l *Launcher) withdraw(ctx context.Context, taskIDs []string) error {
	withdrawn, err := l.pools.queries.WithdrawPoolWork(ctx, taskIDs)
	if err != nil {
		return fmt.Errorf("withdraw attempts of pools: %w", err)
	}
	if len(withdrawn) == 0 {
		return nil
	}
	seen := make([]launcher.Observation, len(withdrawn))
	for i, id := range withdrawn {
		seen[i] = launcher.Observation{TaskID: id, End: &launcher.End{
			Class: launcher.ClassWithdrawn, Message: "The attempt was withdrawn before a worker took it.", FinishedAt: l.pools.config.Now(),
		}}
	}
	return l.observe(ctx, seen)
}

// List returns the attempts of the base and those of pools.
func (l *Launcher) List(ctx context.Context) ([]launcher.Status, error) {
	statuses, err := l.base.List(ctx)
	if err != nil {
		return nil, err
	}
	pooled, err := l.pools.queries.ListPoolTasks(ctx)
	if err != nil {
		return nil, fmt.Errorf("list attempts of pools: %w", err)
	}
	for _, id := range pooled {
		statuses = append(statuses, launcher.Status{TaskID: id})
	}
	return statuses, nil
}

// enqueue adds attempts to the queues of their pools; known attempts are unchanged. Their tokens
// are not stored: they are signed again when a worker takes them.
func (s *Service) enqueue(ctx context.Context, attempts []launcher.Attempt) error {
	for _, spec := range attempts {
		scope, err := scopeOf(spec)
		if err != nil {
			return err
		}
		kept, _ := proto.Clone(spec).(*flowforgev1.AttemptSpec)
		kept.Token = ""
		data, err := proto.Marshal(kept)
		if err != nil {
			return fmt.Errorf("encode %s: %w", spec.GetTaskId(), err)
		}
		r := spec.GetResources()
		err = s.queries.QueuePoolWork(ctx, db.QueuePoolWorkParams{
			TaskID: spec.GetTaskId(), Pool: spec.GetPool(), ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), //nolint:gosec // small numbers
			TenantID: scope.TenantID, ProjectID: scope.ProjectID, Labels: encodeLabels(spec.GetPoolLabels()),
			CpuMillis: r.GetCpuMillis(), MemoryMib: int32(r.GetMemoryMib()), Gpus: r.GetGpus(), GpuType: r.GetGpuType(), //nolint:gosec // amounts of a definition
			Priority: spec.GetPriority(), Spec: data, QueuedAt: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("queue %s: %w", spec.GetTaskId(), err)
		}
	}
	s.wake()
	return nil
}

// specOf returns the stored attempt with a token.
func (s *Service) specOf(row db.PoolWork) ([]byte, error) {
	spec := &flowforgev1.AttemptSpec{}
	if err := proto.Unmarshal(row.Spec, spec); err != nil {
		return nil, fmt.Errorf("decode %s: %w", row.TaskID, err)
	}
	scope := auth.TaskScope{ExecutionID: row.ExecutionID, NodeIndex: int(row.NodeIndex), Attempt: int(row.Attempt), TenantID: row.TenantID, ProjectID: row.ProjectID}
	spec.Token = s.config.Signer.SignAttempt(scope, s.config.Now(), time.Duration(spec.TimeoutMs)*time.Millisecond)
	return proto.Marshal(spec)
}

// scopeOf reads the IDs of an attempt.
func scopeOf(spec *flowforgev1.AttemptSpec) (auth.TaskScope, error) {
	tenant, err := uuid.Parse(spec.GetTenantId())
	if err != nil {
		return auth.TaskScope{}, fmt.Errorf("tenant of %s: %w", spec.GetTaskId(), err)
	}
	project, err := uuid.Parse(spec.GetProjectId())
	if err != nil {
		return auth.TaskScope{}, fmt.Errorf("project of %s: %w", spec.GetTaskId(), err)
	}
	return auth.ScopeOf(spec.GetTaskId(), tenant, project)
}
