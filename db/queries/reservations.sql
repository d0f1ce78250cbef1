-- name: ListReservations :many
-- Returns all reservations with the durations of earlier attempts of the same operator.
SELECT r.*, coalesce(e.workflow_name, '')::text AS workflow_name, coalesce(n.name, '')::text AS operator,
    coalesce(d.durations, '{}')::bigint[] AS durations
FROM reservations r
LEFT JOIN executions e ON e.id = r.execution_id
LEFT JOIN nodes n ON n.execution_id = r.execution_id AND n.node_index = r.node_index
LEFT JOIN operator_durations d ON d.workflow_id = e.workflow_id AND d.operator = n.name
ORDER BY r.execution_id, r.node_index;

-- name: InsertReservations :execrows
-- Inserts reservations outside of a drive loop. Existing ones remain unchanged.
INSERT INTO reservations (execution_id, node_index, attempt, project_id, launcher, cpu_millis, memory_mib, gpus, gpu_type, pods, executions,
    machine, devices, preemptible, priority, created_at, expires_at)
SELECT r.execution_id, r.i, r.attempt, r.project_id, @launcher, r.cpu, r.memory, r.gpus, r.gpu_type, r.pods, r.executions,
    r.machine, coalesce(r.devices, '{}'), r.preemptible, r.priority, @at::timestamptz, r.expires_at
FROM jsonb_to_recordset(@rows::jsonb) AS r(execution_id uuid, i int, attempt int, project_id uuid, cpu int, memory int, gpus int, gpu_type text,
    pods int, executions int, machine text, devices int[], preemptible bool, priority int, expires_at timestamptz)
ON CONFLICT ON CONSTRAINT reservations_pkey DO NOTHING;

-- name: DeleteReservations :many
-- Deletes reservations and returns the deleted ones, because only their amounts are released.
DELETE FROM reservations r
USING jsonb_to_recordset(@keys::jsonb) AS k(execution_id uuid, i int, attempt int)
WHERE r.execution_id = k.execution_id AND r.node_index = k.i AND r.attempt = k.attempt
RETURNING r.*;

-- name: DeleteAbandoned :many
-- Deletes reservations that no process will release: those of ended executions, and expired
-- ones without a live execution.
DELETE FROM reservations r
WHERE (r.execution_id, r.node_index, r.attempt) IN (
    SELECT x.execution_id, x.node_index, x.attempt FROM reservations x
    LEFT JOIN executions e ON e.id = x.execution_id AND e.status IN ('PENDING', 'RUNNING', 'PAUSED')
    WHERE e.id IS NULL AND (x.expires_at < @now::timestamptz
        OR EXISTS (SELECT 1 FROM executions done WHERE done.id = x.execution_id AND done.finished_at < @now::timestamptz))
    LIMIT @max_rows
    FOR UPDATE OF x SKIP LOCKED)
RETURNING r.*;

-- name: MarkPreempted :execrows
-- Requests the preemption of an attempt. The drive loop of its execution carries it out.
UPDATE reservations SET preempted_at = coalesce(preempted_at, @at::timestamptz), preempted_for = coalesce(preempted_for, @reason)
WHERE execution_id = @execution_id AND node_index = @node_index AND attempt = @attempt AND preemptible;

-- name: PreemptedOf :many
SELECT node_index, attempt, preempted_for FROM reservations
WHERE execution_id = @execution_id AND preempted_at IS NOT NULL;

-- name: TakePreempted :exec
-- Records that the drive loop has accepted preemption requests.
UPDATE reservations r SET preempt_taken_at = @at::timestamptz
FROM jsonb_to_recordset(@keys::jsonb) AS k(i int, attempt int)
WHERE r.execution_id = @execution_id AND r.node_index = k.i AND r.attempt = k.attempt;

-- name: CountLosses :one
SELECT count(*)::int AS losses FROM attempts WHERE execution_id = @execution_id AND node_index = @node_index AND outcome = 'LOST';

-- name: ListSettledReservations :many
-- Returns the reservations of executions that are idle or have a live owner. For all others,
-- the next drive loop first determines what happened to the attempts. own means that owner drives it.
SELECT r.execution_id, r.node_index, r.attempt, (e.lease_until IS NOT NULL AND e.lease_until >= now() AND e.owner = @owner)::bool AS own
FROM reservations r
JOIN executions e ON e.id = r.execution_id
WHERE r.launcher = @launcher AND r.node_index >= 0 AND (e.lease_until IS NULL AND e.drive_requested_at IS NULL OR e.lease_until >= now())
ORDER BY r.execution_id, r.node_index;

-- name: ReservationsOf :many
SELECT * FROM reservations WHERE execution_id = @execution_id ORDER BY node_index;

-- name: StoreReports :many
-- Stores the final reports of attempts with a reservation, and returns their nodes.
INSERT INTO reports (execution_id, node_index, attempt, report, received_at)
SELECT r.execution_id, r.node_index, r.attempt, @report::bytea, @received_at::timestamptz
FROM reservations r
WHERE r.execution_id = @execution_id AND r.node_index = @node_index AND r.attempt = @attempt
ON CONFLICT ON CONSTRAINT reports_pkey DO UPDATE SET received_at = reports.received_at
RETURNING node_index;

-- name: LoadReports :many
-- Returns the oldest reports of an execution until they have most_bytes bytes, at least one, and how many
-- there are in total.
SELECT r.node_index, r.attempt, r.report, r.total
FROM (
    SELECT node_index, attempt, report, received_at, count(*) OVER () AS total,
        sum(octet_length(report)) OVER (ORDER BY received_at, node_index, attempt) - octet_length(report) AS bytes_before
    FROM reports WHERE execution_id = @execution_id
) r
WHERE r.bytes_before < @most_bytes::bigint
ORDER BY r.received_at, r.node_index, r.attempt;

-- name: DeleteReport :exec
DELETE FROM reports WHERE execution_id = @execution_id AND node_index = @node_index AND attempt = @attempt;

-- name: DeleteReportsOf :exec
DELETE FROM reports WHERE execution_id = @execution_id;

-- name: HasReports :one
-- Reports whether the drive loop has work: reports that it has not applied, orders or commands
-- that it has not accepted, or preemption requests.
SELECT (EXISTS (SELECT 1 FROM reports r WHERE r.execution_id = @execution_id)
    OR EXISTS (SELECT 1 FROM node_orders o WHERE o.execution_id = @execution_id AND NOT o.taken)
    OR EXISTS (SELECT 1 FROM node_commands m WHERE m.execution_id = @execution_id AND NOT m.taken)
    OR EXISTS (SELECT 1 FROM reservations v WHERE v.execution_id = @execution_id AND v.preempted_at IS NOT NULL AND v.preempt_taken_at IS NULL AND v.stop_sent_at IS NULL))::bool AS has;

-- name: TouchReservations :many
-- Records heartbeats. Returns the known attempts and whether each must stop.
UPDATE reservations r SET expires_at = @expires_at::timestamptz
FROM jsonb_to_recordset(@keys::jsonb) AS k(execution_id uuid, i int, attempt int)
WHERE r.execution_id = k.execution_id AND r.node_index = k.i AND r.attempt = k.attempt
RETURNING r.execution_id, r.node_index, r.attempt, (r.stop_sent_at IS NOT NULL)::bool AS stopping, (r.preempted_at IS NOT NULL)::bool AS preempted;

-- name: MarkStopSent :exec
UPDATE reservations SET stop_sent_at = coalesce(stop_sent_at, @at::timestamptz)
WHERE execution_id = @execution_id AND node_index = ANY (@node_indexes::int[]);

-- name: MarkAttemptStarted :execrows
UPDATE attempts SET started_at = @started_at::timestamptz, host = @host, pid = sqlc.narg('pid')
WHERE execution_id = @execution_id AND node_index = @node_index AND attempt = @attempt
    AND started_at IS NULL AND finished_at IS NULL;

-- name: StartedAttempts :many
-- Returns the attempts that have started and not ended.
SELECT a.node_index, a.attempt, a.started_at, a.host, a.pid
FROM reservations r
JOIN attempts a ON a.execution_id = r.execution_id AND a.node_index = r.node_index AND a.attempt = r.attempt
WHERE r.execution_id = @execution_id AND a.started_at IS NOT NULL;

-- name: ListSilent :many
-- Returns the attempts of a launcher that exceeded their deadline, and the started ones
-- without a heartbeat since silent_since.
SELECT r.execution_id, r.node_index, r.attempt, r.project_id, (r.deadline_at IS NOT NULL AND r.deadline_at < @now::timestamptz)::bool AS overdue
FROM reservations r
JOIN attempts a ON a.execution_id = r.execution_id AND a.node_index = r.node_index AND a.attempt = r.attempt
WHERE r.launcher = @launcher AND r.node_index >= 0
    AND (r.deadline_at < @now::timestamptz OR (r.expires_at < @silent_since::timestamptz AND a.started_at IS NOT NULL))
ORDER BY r.expires_at
LIMIT @max_rows;

-- name: ListExpired :many
-- Returns the attempts whose heartbeat is overdue or that exceeded their deadline.
SELECT execution_id, node_index, attempt, launcher, (deadline_at IS NOT NULL AND deadline_at < @now::timestamptz)::bool AS overdue
FROM reservations
WHERE node_index >= 0 AND (expires_at < @now::timestamptz OR deadline_at < @now::timestamptz)
LIMIT @max_rows;
