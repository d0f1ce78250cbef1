-- name: InsertBackfill :exec
INSERT INTO backfills (id, tenant_id, project_id, workflow_id, workflow_name, schedule_id, schedule_name, timezone, version, inputs, from_at, until_at,
    rerun, newest_first, parallelism, priority, status, owner_id, owner_name, created_at, updated_at)
VALUES (@id, @tenant_id, @project_id, @workflow_id, @workflow_name, @schedule_id, @schedule_name, @timezone, @version, @inputs, @from_at, @until_at,
    @rerun, @newest_first, @parallelism, @priority, 'RUNNING', @owner_id, @owner_name, @now, @now);

-- name: InsertBackfillSlots :exec
INSERT INTO backfill_slots (backfill_id, schedule_id, fire_at, interval_start, state, execution_id, decided_at)
SELECT @backfill_id, @schedule_id, unnest(@fires::timestamptz[]), unnest(@starts::timestamptz[]), unnest(@states::text[]),
    nullif(unnest(@executions::text[]), '')::uuid, @now;

-- name: GetBackfill :one
SELECT * FROM backfills WHERE id = @id;

-- name: LockBackfill :one
SELECT * FROM backfills WHERE id = @id FOR UPDATE;

-- name: ListBackfills :many
SELECT * FROM backfills
WHERE project_id = @project_id AND (sqlc.narg(schedule_id)::uuid IS NULL OR schedule_id = sqlc.narg(schedule_id))
    AND (sqlc.narg(before)::uuid IS NULL OR id < sqlc.narg(before))
ORDER BY id DESC
LIMIT @max_rows;

-- name: SetBackfillStatus :exec
UPDATE backfills SET status = @status, message = @message, updated_at = @now, owner_id = @owner_id, owner_name = @owner_name,
    finished_at = CASE WHEN @status::text IN ('FINISHED', 'CANCELLED') THEN @now::timestamptz END
WHERE id = @id;

-- name: RunningBackfills :many
SELECT id FROM backfills WHERE status = 'RUNNING' ORDER BY id;

-- name: NextBackfillSlots :many
SELECT * FROM backfill_slots WHERE backfill_id = @backfill_id AND state = 'PENDING'
ORDER BY CASE WHEN @newest_first::bool THEN fire_at END DESC, fire_at
LIMIT @max_rows;

-- name: SettleBackfillSlot :execrows
UPDATE backfill_slots SET state = @state, message = @message, execution_id = sqlc.narg(execution_id), decided_at = @now
WHERE backfill_id = @backfill_id AND fire_at = @fire_at AND state = 'PENDING';

-- name: CancelBackfillSlots :exec
UPDATE backfill_slots SET state = 'CANCELLED', message = @message, decided_at = @now WHERE backfill_id = @backfill_id AND state = 'PENDING';

-- name: LiveBackfillExecutions :many
SELECT e.id FROM backfill_slots s
JOIN executions e ON e.id = s.execution_id
WHERE s.backfill_id = @backfill_id AND s.state = 'LAUNCHED' AND e.status IN ('PENDING', 'RUNNING', 'PAUSED');

-- name: CountBackfillSlots :many
SELECT s.backfill_id, s.state, coalesce(e.status, s.outcome)::text AS status, count(*) AS slots
FROM backfill_slots s
LEFT JOIN executions e ON e.id = s.execution_id
WHERE s.backfill_id = ANY(@ids::uuid[])
GROUP BY 1, 2, 3;

-- name: ListBackfillSlots :many
SELECT s.*, coalesce(e.status, '')::text AS status, e.started_at, e.finished_at, coalesce(e.error ->> 'message', '')::text AS failure
FROM backfill_slots s
LEFT JOIN executions e ON e.id = s.execution_id
WHERE s.backfill_id = @backfill_id AND (sqlc.narg(after)::timestamptz IS NULL OR s.fire_at > sqlc.narg(after))
ORDER BY s.fire_at
LIMIT @max_rows;

-- name: ExistingFires :many
-- The latest execution of each time of a schedule: launched by the schedule or by a backfill.
SELECT DISTINCT ON (l.fire_at) l.fire_at, l.execution_id, coalesce(e.status, '')::text AS status, l.outcome
FROM (
    SELECT o.fire_at, o.execution_id::uuid AS execution_id, o.outcome FROM schedule_occurrences o
    WHERE o.schedule_id = @schedule_id AND o.state = 'LAUNCHED' AND o.fire_at >= @since::timestamptz AND o.fire_at < @until::timestamptz
    UNION ALL
    SELECT s.fire_at, s.execution_id::uuid, s.outcome FROM backfill_slots s
    WHERE s.schedule_id = @schedule_id AND s.state = 'LAUNCHED' AND s.fire_at >= @since::timestamptz AND s.fire_at < @until::timestamptz
) l
LEFT JOIN executions e ON e.id = l.execution_id
ORDER BY l.fire_at, l.execution_id DESC;

-- name: QueuedFires :many
-- The times that a schedule launches once there is room for an execution.
SELECT o.fire_at FROM schedule_occurrences o
WHERE o.schedule_id = @schedule_id AND o.state = 'QUEUED' AND o.fire_at >= @since::timestamptz AND o.fire_at < @until::timestamptz;
