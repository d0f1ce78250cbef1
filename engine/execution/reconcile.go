package execution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
)

const (
	undrivenBatch    = 500              // executions per transaction
	drivePatience    = 10 * time.Second // time for a drive job to begin
	attemptChecks    = 5                // searches for undriven executions per check of attempts
	leaseRenewals    = 3                // renewals within one lease
	missesUntilLost  = 2                // consecutive checks without an attempt before it counts as lost
	expiredBatch     = 500
	reconcileTimeout = 30 * time.Second
)

// renewLeases renews the leases of this process's loops, and forwards changes in the rows: a
// lost lease, a cancellation, stored reports.
func (s *Driver) renewLeases(ctx context.Context) error {
	ticker := time.NewTicker(s.config.Timing.Lease / leaseRenewals)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.renewOnce(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("renew leases", "error", err)
		}
	}
}

// renewOnce leaves time for another try within the lease: a connection that hangs must not cost all
// loops of this process their leases.
func (s *Driver) renewOnce(ctx context.Context) error {
	return limited(ctx, s.config.Timing.Lease/leaseRenewals, func(ctx context.Context) error { return s.renew(ctx, s.live.all()) })
}

// renew renews the leases of loops, and forwards changes in their rows.
func (s *Driver) renew(ctx context.Context, leases map[uuid.UUID]leasedLoop) error {
	if len(leases) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, 0, len(leases))
	for id := range leases {
		ids = append(ids, id)
	}
	rows, err := s.queries.RenewLeases(ctx, s.config.Timing.Lease.Seconds(), ids, s.owner)
	if err != nil {
		return err
	}
	for _, row := range rows {
		// A newer epoch of this owner is a loop that became idle and resumed in the meantime.
		if leases[row.ID].epoch <= row.OwnerEpoch {
			delete(leases, row.ID)
		}
		if row.CancelRequestedAt != nil {
			s.live.post(row.ID, message{cancel: &row.CancelReason})
		}
		if row.HasReports {
			s.live.post(row.ID, message{reports: true})
		}
	}
	for _, held := range leases {
		held.loop.lease.lost()
	}
	return nil
}

// reconcileForever searches for executions that no loop drives and attempts without
// heartbeats.
func (s *Driver) reconcileForever(ctx context.Context) error {
	s.since.Store(new(s.now()))
	misses := map[attemptID]int{}
	// Attempts are checked only after a while: reports of attempts that ended while this
	// server was down still arrive.
	for look := 1; ctx.Err() == nil; {
		turn, most := s.config.Watch.Turn(), db.Safety
		live, err := s.reconcileOnce(ctx, look%attemptChecks == 0, misses)
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("reconcile", "error", err)
		}
		if live || err != nil {
			most = s.config.Timing.Reconcile
			look++
		}
		turn.Rest(ctx, nil, s.config.Timing.Reconcile, most)
	}
	return nil
}

// reconcileOnce reports whether there are executions that have not ended, or attempts.
func (s *Driver) reconcileOnce(ctx context.Context, attempts bool, misses map[attemptID]int) (live bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	if live, err = s.queries.HasLiveExecutions(ctx); err != nil {
		return false, fmt.Errorf("look for executions: %w", err)
	}
	if !live {
		clear(misses)
		return false, nil
	}
	s.quota.Sweep()
	s.preempt(ctx)
	err = s.driveUndriven(ctx)
	if !attempts {
		return true, err
	}
	if s.config.Cluster {
		return true, errors.Join(err, s.findSilent(ctx))
	}
	return true, errors.Join(err, s.findMissing(ctx, misses), s.findExpired(ctx))
}

// missingForever searches for attempts whose pods are gone and whose end was not observed.
// It needs a list of all pods, so it runs rarely.
func (s *Driver) missingForever(ctx context.Context) error {
	ticker := time.NewTicker(s.config.Timing.Missing)
	defer ticker.Stop()
	misses := map[attemptID]int{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := limited(ctx, s.config.Timing.Missing, func(ctx context.Context) error { return s.findMissing(ctx, misses) })
		if err != nil && ctx.Err() == nil {
			clear(misses) // no list, so no attempt is missing from it
			s.config.Logger.Warn("find lost attempts", "error", err)
		}
	}
}

// findSilent ends attempts in a cluster that exceeded their timeout, and those that have
// begun and sent no heartbeat for a long time although their pods exist: neither they nor
// their results can be reached.
func (s *Driver) findSilent(ctx context.Context) error {
	now := s.now()
	since := now.Add(-s.config.Timing.Silence)
	rows, err := s.queries.ListSilent(ctx, now, s.config.LauncherName, since, expiredBatch)
	if err != nil {
		return fmt.Errorf("list silent attempts: %w", err)
	}
	for _, r := range rows {
		id := attemptID{r.ExecutionID, attemptKey{int(r.NodeIndex), int(r.Attempt)}}
		end := ending{Outcome: timedOut, Class: string(launcher.ClassDeadline), FinishedAt: now, Message: "The task exceeded its timeout and its runner did not stop it."}
		if !r.Overdue {
			if now.Sub(s.leading()) < s.config.Timing.Silence {
				continue // the server may have missed its heartbeats
			}
			end = ending{Outcome: lost, FinishedAt: now, Message: fmt.Sprintf("The task's runner sent no heartbeat for %s.", s.config.Timing.Silence)}
		}
		ref := launcher.Ref{TaskID: query.TaskID(r.ExecutionID, id.Node, id.Attempt), ProjectID: r.ProjectID.String()}
		if err := s.config.Launcher.Stop(ctx, []launcher.Ref{ref}, 0); err != nil {
			s.config.Logger.Warn("stop an attempt that cannot be reached", "task", ref.TaskID, "error", err)
		}
		s.reportLost(ctx, id, end)
	}
	return nil
}

// driveUndriven enqueues a drive for every execution that needs one.
func (s *Driver) driveUndriven(ctx context.Context) error {
	for n := undrivenBatch; n == undrivenBatch && !s.live.isDraining(); {
		err := db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
			rows, err := q.ListUndriven(ctx, drivePatience.Seconds(), undrivenBatch)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := s.enqueueDrive(ctx, tx, row.ID, row.OwnerEpoch); err != nil {
					return err
				}
			}
			n = len(rows)
			return nil
		})
		if err != nil {
			return fmt.Errorf("drive undriven executions: %w", err)
		}
	}
	return nil
}

// attemptID identifies an attempt as a map key.
type attemptID struct {
	execution uuid.UUID
	attemptKey
}

// findMissing ends the attempts of this machine that its launcher does not know. The
// reservations are read before the launcher's list: an attempt whose end was taken in
// between has no reservation when its loss is applied. A loop of this process that still starts
// attempts before the list, or is being loaded, may start those that are not in the list.
func (s *Driver) findMissing(ctx context.Context, misses map[attemptID]int) error {
	rows, err := s.queries.ListSettledReservations(ctx, s.owner, s.config.LauncherName)
	if err != nil {
		return fmt.Errorf("list reservations: %w", err)
	}
	if len(rows) == 0 {
		clear(misses)
		return nil
	}
	unsettled := map[uuid.UUID]bool{}
	for _, r := range rows {
		_, driven := s.live.get(r.ExecutionID)
		unsettled[r.ExecutionID] = r.Own && !driven || s.starting(r.ExecutionID)
	}
	known, err := s.known(ctx)
	if err != nil {
		return err
	}
	seen := make(map[attemptID]int, len(misses))
	for _, r := range rows {
		id := attemptID{r.ExecutionID, attemptKey{int(r.NodeIndex), int(r.Attempt)}}
		_, ok := known[query.TaskID(r.ExecutionID, id.Node, id.Attempt)]
		if ok || unsettled[r.ExecutionID] || s.starting(r.ExecutionID) {
			continue
		}
		seen[id] = misses[id] + 1
		if seen[id] >= missesUntilLost {
			s.reportLost(ctx, id, s.missingEnd())
		}
	}
	clear(misses)
	maps.Copy(misses, seen)
	return nil
}

// missingEnd is the end of an attempt that the launcher no longer knows.
func (s *Driver) missingEnd() ending {
	if s.config.Cluster {
		return ending{Outcome: lost, Class: string(launcher.ClassDeleted), FinishedAt: s.now(), Message: "The task's pod no longer exists, and its outcome was not observed."}
	}
	return ending{Outcome: lost, FinishedAt: s.now(), Message: "The machine's runner stopped while the task was running."}
}

// leading is the time since which this process reconciles.
func (s *Driver) leading() time.Time {
	if at := s.since.Load(); at != nil {
		return *at
	}
	return s.now()
}

// known returns the attempts of the launcher, by task id.
func (s *Driver) known(ctx context.Context) (map[string]launcher.Status, error) {
	statuses, err := s.config.Launcher.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list attempts: %w", err)
	}
	known := make(map[string]launcher.Status, len(statuses))
	for _, status := range statuses {
		known[status.TaskID] = status
	}
	return known, nil
}

// starting reports whether a loop of this process is still submitting attempts of an
// execution to the launcher, or may have to repeat it.
func (s *Driver) starting(id uuid.UUID) bool {
	l, ok := s.live.get(id)
	return ok && (l.launches.unsure.Load() || l.launches.starter.busy())
}

// findExpired ends attempts without heartbeats, wherever they ran, and attempts whose runner
// did not enforce their timeout.
func (s *Driver) findExpired(ctx context.Context) error {
	now := s.now()
	rows, err := s.queries.ListExpired(ctx, now, expiredBatch)
	if err != nil {
		return fmt.Errorf("list expired attempts: %w", err)
	}
	known := map[string]launcher.Status{}
	if len(rows) > 0 {
		if known, err = s.known(ctx); err != nil {
			return err
		}
	}
	for _, r := range rows {
		id := attemptID{r.ExecutionID, attemptKey{int(r.NodeIndex), int(r.Attempt)}}
		task := query.TaskID(r.ExecutionID, id.Node, id.Attempt)
		mine := r.Launcher == s.config.LauncherName
		status, listed := known[task]
		switch {
		case status.Finished: // its result will arrive
		case r.Overdue:
			if mine {
				if err := s.config.Launcher.Stop(ctx, []launcher.Ref{{TaskID: task}}, 0); err != nil {
					s.config.Logger.Warn("stop an overdue attempt", "task", task, "error", err)
				}
			}
			s.reportLost(ctx, id, ending{Outcome: timedOut, FinishedAt: now, Message: "The task exceeded its timeout and its runner did not stop it."})
		case !listed && !mine:
			s.reportLost(ctx, id, ending{Outcome: lost, FinishedAt: now, Message: "The task's runner stopped sending heartbeats."})
		}
	}
	return nil
}

// reportLost reports an ending on behalf of a runner that cannot.
func (s *Driver) reportLost(ctx context.Context, id attemptID, end ending) {
	m := message{node: id.Node, attempt: id.Attempt, end: &end}
	if s.live.post(id.execution, m) {
		return
	}
	scope := auth.TaskScope{ExecutionID: id.execution, NodeIndex: id.Node, Attempt: id.Attempt}
	if _, err := s.supervisor.settleEnd(ctx, scope, end, nil); err != nil {
		s.config.Logger.Warn("store a lost attempt", "execution", id.execution, "node", id.Node, "error", err)
	}
}
