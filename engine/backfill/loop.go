package backfill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/schedule"
)

// errNotDue means that another server or a person changed the backfill in the meantime.
var errNotDue = errors.New("the backfill changed in the meantime")

// turnSlots limits how many slots of one backfill a pass launches, so that other backfills
// proceed, too.
const turnSlots = 20

// Run launches the slots of backfills until ctx ends. The leader calls it. A second loop does no
// harm, because each launch is a transaction that claims the backfill.
func (s *Service) Run(ctx context.Context) {
	ctx = auth.AsSystem(ctx)
	for ctx.Err() == nil {
		turn, most := s.config.Watch.Turn(), db.Safety
		running, err := s.look(ctx)
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("backfills could not be launched; the next attempt retries them", "error", err)
		}
		if err != nil || running > 0 {
			most = s.config.Every
		}
		turn.Rest(ctx, s.wake, s.config.Every, most)
	}
}

// look launches slots of all running backfills, as far as their limits allow, and returns how many run.
func (s *Service) look(ctx context.Context) (int, error) {
	ids, err := s.queries.RunningBackfills(ctx)
	if err != nil {
		return 0, fmt.Errorf("find backfills: %w", err)
	}
	var failures []error
	more := false
	for _, id := range ids {
		for decided := 0; ctx.Err() == nil; {
			if decided >= turnSlots {
				more = true
				break
			}
			n, err := s.step(ctx, id)
			if errors.Is(err, errNotDue) {
				break
			}
			if err != nil {
				failures = append(failures, fmt.Errorf("backfill %s: %w", id, err))
				break
			}
			if n == 0 {
				break
			}
			decided += n
		}
	}
	if more {
		s.Wake()
	}
	return len(ids), errors.Join(failures...)
}

// step launches the next slots of a backfill, or ends the backfill. It returns how many slots it
// decided.
func (s *Service) step(ctx context.Context, id uuid.UUID) (decided int, err error) {
	row, err := s.queries.GetBackfill(ctx, id)
	if db.IsNoRows(err) { // its workflow or project was deleted
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get: %w", err)
	}
	b, err := fromRow(row)
	if err != nil {
		return 0, err
	}
	live, err := s.queries.LiveBackfillExecutions(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("executions: %w", err)
	}
	if b.Status != Running || len(live) >= b.Parallelism {
		return 0, nil
	}
	slots, err := s.queries.NextBackfillSlots(ctx, id, b.NewestFirst, int32(min(b.Parallelism-len(live), turnSlots))) //nolint:gosec // at most turnSlots
	if err != nil {
		return 0, fmt.Errorf("next slots: %w", err)
	}
	if len(slots) > 0 {
		return s.launch(ctx, b, slots)
	}
	if len(live) > 0 {
		return 0, nil
	}
	return 0, s.finish(ctx, id)
}

// finish ends a backfill without slots that wait or run.
func (s *Service) finish(ctx context.Context, id uuid.UUID) error {
	return s.transition(ctx, id, func(row *db.Backfill) string {
		row.Status, row.Message = string(Finished), ""
		return "backfill.finish"
	})
}

// transition changes a running backfill on behalf of FlowForge.
func (s *Service) transition(ctx context.Context, id uuid.UUID, f func(*db.Backfill) (action string)) error {
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockBackfill(ctx, id)
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if Status(row.Status) != Running {
			return errNotDue
		}
		was := row.Status
		return s.set(ctx, q, row, f(&row), was)
	})
}

// launch launches the executions of slots with the current permissions of the owner, and returns how
// many slots it decided. If a launch is refused, its slot is refused; if the owner lacks the
// permission, the backfill is paused.
func (s *Service) launch(ctx context.Context, b Backfill, slots []db.BackfillSlot) (decided int, err error) {
	owner, err := s.config.Acting(b.Owner.ID, b.Owner.Name, b.ProjectID)
	if err != nil {
		return 0, s.refuse(ctx, b, slots[0], err)
	}
	zone := zoneOf(b.Timezone)
	var group execution.LaunchGroup
	var accepted []db.BackfillSlot
	for _, slot := range slots {
		inputs, fields := schedule.Slot{Fire: slot.FireAt, Start: slot.IntervalStart}.Render(b.Inputs, zone)
		if len(fields) > 0 {
			if err := s.refuse(ctx, b, slot, apperr.InvalidFields("The inputs cannot be used.", fields)); err != nil {
				return decided, err
			}
			decided++
			continue
		}
		accepted, group.Requests = append(accepted, slot), append(group.Requests, execution.LaunchRequest{
			Workflow: b.WorkflowID.String(), Version: b.Version, Inputs: inputs, Priority: b.Priority, As: &owner,
			Name: execution.RunName(b.ScheduleName, schedule.FireName(slot.FireAt.In(zone))), By: "a backfill of schedule " + b.ScheduleName,
		})
	}
	group.Claim = func(ctx context.Context, q *db.Queries, ids map[int]uuid.UUID) (map[int]error, error) {
		return s.claimSlots(ctx, q, b, accepted, ids)
	}
	s.config.Crash("launch.begin")
	outcomes := s.config.Executions.Launches.LaunchAll(ctx, group)
	s.config.Crash("launch.committed")
	for i, outcome := range outcomes {
		err := outcome.Err
		if err != nil && !errors.Is(err, errNotDue) {
			err = s.refuse(ctx, b, accepted[i], err)
		}
		if err != nil {
			return decided, err
		}
		decided++
	}
	return decided, nil
}

// claimSlots records that slots are launched, as many as the limit of the backfill allows. The others
// get errNotDue.
func (s *Service) claimSlots(ctx context.Context, q *db.Queries, b Backfill, slots []db.BackfillSlot, ids map[int]uuid.UUID) (map[int]error, error) {
	refused := map[int]error{}
	room, err := s.claim(ctx, q, b)
	if err != nil && !errors.Is(err, errNotDue) {
		return nil, err
	}
	s.config.Crash("launch.within")
	for _, i := range slices.Sorted(maps.Keys(ids)) {
		if room == 0 {
			refused[i] = errNotDue
			continue
		}
		err := s.settle(ctx, q, slots[i], SlotLaunched, "", new(ids[i]))
		switch {
		case errors.Is(err, errNotDue):
			refused[i] = err
		case err != nil:
			return nil, err
		default:
			room--
		}
	}
	return refused, nil
}

// claim locks a backfill, and returns how many more executions of it may run. It returns errNotDue if
// the backfill no longer runs or has reached its limit because of another launch.
func (s *Service) claim(ctx context.Context, q *db.Queries, was Backfill) (room int, err error) {
	row, err := q.LockBackfill(ctx, was.ID)
	if err != nil {
		return 0, fmt.Errorf("lock: %w", err)
	}
	live, err := q.LiveBackfillExecutions(ctx, was.ID)
	if err != nil {
		return 0, fmt.Errorf("executions: %w", err)
	}
	room = int(row.Parallelism) - len(live)
	if Status(row.Status) != Running || row.OwnerID != was.Owner.ID || room <= 0 {
		return 0, errNotDue
	}
	return room, nil
}

func (s *Service) settle(ctx context.Context, q *db.Queries, slot db.BackfillSlot, state State, message string, execution *uuid.UUID) error {
	n, err := q.SettleBackfillSlot(ctx, db.SettleBackfillSlotParams{
		BackfillID: slot.BackfillID, FireAt: slot.FireAt, State: string(state), Message: message, ExecutionID: execution, Now: s.now(),
	})
	if err != nil {
		return fmt.Errorf("settle a slot: %w", err)
	}
	if n == 0 {
		return errNotDue
	}
	return nil
}

// refuse records a slot that cannot be launched. Other errors are retried.
func (s *Service) refuse(ctx context.Context, b Backfill, slot db.BackfillSlot, cause error) error {
	message := apperr.TextOf(cause)
	switch apperr.CodeOf(cause) { //nolint:exhaustive // the others pass
	case apperr.Invalid:
		return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
			if _, err := s.claim(ctx, q, b); err != nil {
				return err
			}
			return s.settle(ctx, q, slot, SlotRefused, message, nil)
		})
	case apperr.Forbidden, apperr.NotFound, apperr.Unauthenticated, apperr.Conflict:
		err := s.transition(ctx, b.ID, func(row *db.Backfill) string {
			row.Status, row.Message = string(Paused), b.Owner.Name+", who owns the backfill, cannot launch the workflow: "+message
			return "backfill.pause"
		})
		if err == nil {
			return errNotDue
		}
		return err
	}
	return fmt.Errorf("launch a slot: %w", cause)
}
