package execution

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/flowforge/flowforge/db"
)

// The queues of the engine's jobs.
const (
	QueueAdvance     = "advance"
	QueueLaunch      = "launch"
	QueueNotify      = "notify"
	QueueMaintenance = "maintenance"
)

// DriveArgs requests a drive of one execution. It is unique by execution and epoch: the
// epoch changes when a loop acquires the execution, so a job that has begun, or whose
// process died, never blocks the next one.
type DriveArgs struct {
	ExecutionID uuid.UUID `json:"execution_id" river:"unique"`
	Epoch       int64     `json:"epoch"        river:"unique"`
}

// Kind names the job.
func (DriveArgs) Kind() string { return "drive" }

// InsertOpts makes the job unique while it waits or runs.
func (DriveArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue:       QueueAdvance,
		MaxAttempts: 25,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
			rivertype.JobStateRetryable, rivertype.JobStateScheduled,
		}},
	}
}

// FinishedArgs reports that an execution has ended. It is enqueued in the transaction that
// ends it, so it cannot be lost.
type FinishedArgs struct {
	ExecutionID uuid.UUID `json:"execution_id"`
}

// Kind names the job.
func (FinishedArgs) Kind() string { return "finished" }

// InsertOpts puts the job among the notifications.
func (FinishedArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueNotify, MaxAttempts: 25}
}

// PartitionArgs requests the partitions of the coming months.
type PartitionArgs struct{}

// Kind names the job.
func (PartitionArgs) Kind() string { return "partitions" }

// InsertOpts puts the job among the maintenance.
func (PartitionArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueMaintenance, MaxAttempts: 5}
}

// EnsurePartitions creates the partitions of this month and the next ones. The maintenance
// job calls it.
func (s *MaintenanceService) EnsurePartitions(ctx context.Context) error {
	_, err := s.queries.EnsurePartitions(ctx, s.now(), partitionMonths)
	if err != nil {
		return fmt.Errorf("create partitions: %w", err)
	}
	return nil
}

// requestDrive enqueues a drive of id in tx, unless a loop drives it already.
func (s *core) requestDrive(ctx context.Context, tx pgx.Tx, q *db.Queries, id uuid.UUID) error {
	epoch, err := q.RequestDrive(ctx, id)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("request drive of %s: %w", id, err)
	}
	return s.enqueueDrive(ctx, tx, id, epoch)
}

func (s *core) enqueueDrive(ctx context.Context, tx pgx.Tx, id uuid.UUID, epoch int64) error {
	if _, err := s.enqueuer.InsertTx(ctx, tx, DriveArgs{ExecutionID: id, Epoch: epoch}, nil); err != nil {
		return fmt.Errorf("enqueue drive of %s: %w", id, err)
	}
	return nil
}

// enqueueDrives enqueues the first drives of new executions.
func (s *core) enqueueDrives(ctx context.Context, tx pgx.Tx, list []*launch) error {
	jobs := make([]river.InsertManyParams, len(list))
	for i, l := range list {
		jobs[i] = river.InsertManyParams{Args: DriveArgs{ExecutionID: l.id}}
	}
	if _, err := s.enqueuer.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("enqueue %d drives: %w", len(list), err)
	}
	return nil
}

// waker notifies the drivers of executions.
type waker struct{ *core }

// wake notifies the driver of id, here or through a job, that it has work.
func (s *core) wake(id uuid.UUID) {
	if s.live.wakeLoop(id) {
		return
	}
	select {
	case s.wakes <- id:
	default:
	}
}

// wakeForever enqueues drives for executions that were woken while no loop of this process
// drove them.
func (s *waker) wakeForever(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-s.wakes:
			if s.live.wakeLoop(id) {
				continue
			}
			err := limited(ctx, hintTimeout, func(ctx context.Context) error {
				return db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error { return s.requestDrive(ctx, tx, q, id) })
			})
			if err != nil && ctx.Err() == nil {
				s.config.Logger.Warn("wake an execution", "execution", id, "error", err)
			}
		}
	}
}
