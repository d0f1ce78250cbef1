-- name: ListReservations :many
SELECT * FROM reservations WHERE launcher = @launcher ORDER BY execution_id, node_index;

-- name: ListSettledReservations :many
-- The reservations of executions that somebody drives or that rest: in the
-- others the next loop finds out first what became of their attempts.
SELECT r.execution_id, r.node_index, r.attempt
FROM reservations r
JOIN executions e ON e.id = r.execution_id
WHERE r.launcher = @launcher AND (e.lease_until IS NULL AND e.drive_requested_at IS NULL OR e.lease_until >= now())
ORDER BY r.execution_id, r.node_index;

-- name: ReservationsOf :many
SELECT * FROM reservations WHERE execution_id = @execution_id ORDER BY node_index;

-- name: StoreReports :many
-- Keeps the final reports of attempts that are still expected and answers which.
INSERT INTO reports (execution_id, node_index, attempt, report, received_at)
SELECT r.execution_id, r.node_index, r.attempt, @report::bytea, @received_at::timestamptz
FROM reservations r
WHERE r.execution_id = @execution_id AND r.node_index = @node_index AND r.attempt = @attempt
ON CONFLICT ON CONSTRAINT reports_pkey DO UPDATE SET received_at = reports.received_at
RETURNING node_index;

-- name: LoadReports :many
SELECT node_index, attempt, report FROM reports WHERE execution_id = @execution_id ORDER BY received_at;

-- name: DeleteReport :exec
DELETE FROM reports WHERE execution_id = @execution_id AND node_index = @node_index AND attempt = @attempt;

-- name: DeleteReportsOf :exec
DELETE FROM reports WHERE execution_id = @execution_id;

-- name: HasReports :one
SELECT EXISTS (SELECT 1 FROM reports WHERE execution_id = @execution_id)::bool AS has;

-- name: TouchReservations :many
-- Signs of life. Answers the attempts that are known, and whether they are to stop.
UPDATE reservations r SET expires_at = @expires_at::timestamptz
FROM jsonb_to_recordset(@keys::jsonb) AS k(execution_id uuid, i int, attempt int)
WHERE r.execution_id = k.execution_id AND r.node_index = k.i AND r.attempt = k.attempt
RETURNING r.execution_id, r.node_index, r.attempt, (r.stop_sent_at IS NOT NULL)::bool AS stopping;

-- name: MarkStopSent :exec
UPDATE reservations SET stop_sent_at = coalesce(stop_sent_at, @at::timestamptz)
WHERE execution_id = @execution_id AND node_index = ANY (@node_indexes::int[]);

-- name: MarkAttemptStarted :execrows
UPDATE attempts SET started_at = @started_at::timestamptz, host = @host, pid = sqlc.narg('pid')
WHERE execution_id = @execution_id AND node_index = @node_index AND attempt = @attempt
    AND started_at IS NULL AND finished_at IS NULL;

-- name: StartedAttempts :many
-- Attempts without an end that are known to have begun.
SELECT a.node_index, a.attempt, a.started_at, a.host, a.pid
FROM reservations r
JOIN attempts a ON a.execution_id = r.execution_id AND a.node_index = r.node_index AND a.attempt = r.attempt
WHERE r.execution_id = @execution_id AND a.started_at IS NOT NULL;

-- name: ListExpired :many
-- Attempts that gave no sign of life in time, or that outlived their deadline.
SELECT execution_id, node_index, attempt, launcher, (deadline_at IS NOT NULL AND deadline_at < @now::timestamptz)::bool AS overdue
FROM reservations
WHERE expires_at < @now::timestamptz OR deadline_at < @now::timestamptz
LIMIT @max_rows;
