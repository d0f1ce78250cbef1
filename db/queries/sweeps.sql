-- name: InsertInputSweep :exec
INSERT INTO input_sweeps (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, name, state, method, space, inputs, objective,
    stopping, planned, parallelism, gpu_hours, seed, priority, created_by, created_by_name, created_at, updated_at, request_key, request_hash,
    tags, note)
VALUES (@id, @tenant_id, @project_id, @workflow_id, @version_id, @workflow_name, @version, @name, 'RUNNING', @method, @space, @inputs, @objective,
    @stopping, @planned, @parallelism, @gpu_hours, @seed, @priority, @created_by, @created_by_name, @now, @now, @request_key, @request_hash,
    @tags, @note);

-- name: InputSweepOfRequest :one
SELECT id, request_hash FROM input_sweeps WHERE project_id = @project_id AND request_key = @request_key AND request_key <> '';

-- name: GetInputSweep :one
SELECT * FROM input_sweeps WHERE id = @id;

-- name: LockInputSweep :one
SELECT * FROM input_sweeps WHERE id = @id FOR UPDATE;

-- name: ShareInputSweep :exec
-- Its state does not change before the end of the transaction.
SELECT id FROM input_sweeps WHERE id = @id FOR SHARE;

-- name: ListInputSweeps :many
SELECT * FROM input_sweeps
WHERE project_id = @project_id
    AND (sqlc.narg(workflow_id)::uuid IS NULL OR workflow_id = sqlc.narg(workflow_id))
    AND (@state::text = '' OR state = @state)
    AND (@query::text = '' OR name ILIKE '%' || @query || '%')
    AND (sqlc.narg(before)::uuid IS NULL OR id < sqlc.narg(before))
ORDER BY id DESC
LIMIT @max_rows;

-- name: UpdateInputSweep :exec
UPDATE input_sweeps SET name = @name, state = @state, reason = @reason, message = @message, space = @space, space_version = @space_version,
    space_from = @space_from, stopping = @stopping, planned = @planned, parallelism = @parallelism, gpu_hours = @gpu_hours, refused = @refused,
    ended_at = @ended_at, expires_at = @expires_at, updated_at = @now
WHERE id = @id;

-- name: AddCreatedRuns :execrows
-- The next runs get their numbers. It changes nothing if another server was faster.
UPDATE input_sweeps SET created = created + @n::int WHERE id = @id AND created = @created AND state = 'RUNNING' AND space_version = @space_version;

-- name: InsertSweepRuns :exec
INSERT INTO input_sweep_runs (sweep_id, number, state, chosen, space_version, created_at)
SELECT @sweep_id, r.number, 'PROPOSED', r.chosen, @space_version, @now
FROM jsonb_to_recordset(@runs::jsonb) AS r(number int, chosen jsonb);

-- name: OpenInputSweeps :many
-- The sweeps that the driver has to look at. Nothing changes about a paused one without runs that do,
-- and one that cannot be read waits for a user.
SELECT s.id FROM input_sweeps s
WHERE s.ended_at IS NULL AND s.reason <> 'UNREADABLE'
    AND (s.state <> 'PAUSED' OR EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.sweep_id = s.id AND NOT r.settled AND r.execution_id IS NOT NULL))
ORDER BY s.id;

-- name: UnsettledSweepRuns :many
-- The runs that may still change, with the state of their executions.
SELECT r.number, r.state, r.execution_id, r.objective, r.step, r.best_step, r.rungs, r.stop, r.message, r.gpu_hours, r.started_at, r.finished_at,
    r.chosen, e.id AS found_id, e.status, e.started_at AS begun_at, e.finished_at AS ended_at, e.cancel_requested_at, e.outputs,
    coalesce(e.error ->> 'message', '')::text AS failure
FROM input_sweep_runs r
LEFT JOIN executions e ON e.id = r.execution_id
WHERE r.sweep_id = @sweep_id AND NOT r.settled
ORDER BY r.number;

-- name: UpdateSweepRuns :exec
UPDATE input_sweep_runs r SET state = n.state, objective = n.objective, step = n.step, best_step = n.best_step, rungs = n.rungs, stop = n.stop,
    message = n.message, gpu_hours = n.gpu_hours, started_at = n.started_at, finished_at = n.finished_at, settled = n.settled
FROM jsonb_to_recordset(@runs::jsonb) AS n(number int, state text, objective float8, step bigint, best_step bigint, rungs jsonb, stop text, message text,
    gpu_hours float8, started_at timestamptz, finished_at timestamptz, settled boolean)
WHERE r.sweep_id = @sweep_id AND r.number = n.number AND NOT r.settled AND r.execution_id IS NOT NULL;

-- name: ProposedSweepRuns :many
SELECT number, chosen FROM input_sweep_runs WHERE sweep_id = @sweep_id AND state = 'PROPOSED' AND NOT settled ORDER BY number;

-- name: LinkSweepRuns :many
-- Is part of the transaction that launches the executions. Returns the runs that were waiting.
UPDATE input_sweep_runs r SET execution_id = l.execution_id, state = 'RUNNING'
FROM input_sweeps s, jsonb_to_recordset(@links::jsonb) AS l(number integer, execution_id uuid)
WHERE r.sweep_id = @sweep_id AND r.number = l.number AND r.state = 'PROPOSED' AND r.execution_id IS NULL
    AND s.id = r.sweep_id AND s.state = 'RUNNING'
RETURNING r.number;

-- name: RefuseSweepRun :exec
UPDATE input_sweep_runs SET state = 'REFUSED', message = @message, finished_at = @now, settled = true
WHERE sweep_id = @sweep_id AND number = @number AND state = 'PROPOSED';

-- name: CountRefused :exec
UPDATE input_sweeps SET refused = @refused WHERE id = @id;

-- name: CancelProposedRuns :exec
UPDATE input_sweep_runs SET state = 'CANCELLED', message = @message, finished_at = @now, settled = true
WHERE sweep_id = @sweep_id AND state = 'PROPOSED';

-- name: LiveSweepExecutions :many
SELECT r.execution_id::uuid AS execution_id FROM input_sweep_runs r
JOIN executions e ON e.id = r.execution_id
WHERE r.sweep_id = @sweep_id AND r.state = 'RUNNING' AND e.cancel_requested_at IS NULL AND e.status NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
ORDER BY r.number;

-- name: SweepRungs :many
-- The best values of the runs of a sweep until each compared step.
SELECT number, rungs FROM input_sweep_runs WHERE sweep_id = @sweep_id AND rungs <> '{}';

-- name: SweepHistory :many
-- What a method learns from.
SELECT number, state, chosen, objective, step, stop FROM input_sweep_runs
WHERE sweep_id = @sweep_id AND state NOT IN ('REFUSED', 'CANCELLED')
ORDER BY number;

-- name: TriedCombinations :many
-- Returns the values that a grid does not repeat: those of its own runs, and those of runs of former
-- spaces that did not fail.
SELECT chosen FROM input_sweep_runs
WHERE sweep_id = @sweep_id AND (number >= @space_from OR state NOT IN ('FAILED', 'CANCELLED', 'REFUSED'));

-- name: SweepRuns :many
SELECT * FROM input_sweep_runs WHERE sweep_id = @sweep_id ORDER BY number;

-- name: CountSweepRuns :many
-- Waiting are the launched runs that WaitingSweepRuns returns. Each is looked up by its ID, because a
-- join of all runs would read all executions.
SELECT r.sweep_id, r.state, count(*) AS runs, coalesce(sum(r.gpu_hours), 0)::float8 AS gpu_hours, bool_and(r.settled) AS settled,
    (CASE WHEN r.state = 'RUNNING' THEN (SELECT count(*) FROM input_sweep_runs w CROSS JOIN LATERAL (SELECT FROM executions e
        WHERE e.id = w.execution_id AND e.running = 0 AND e.queued = 0 AND (e.ready > 0 OR e.status = 'PENDING') LIMIT 1) AS held
        WHERE w.sweep_id = r.sweep_id AND w.state = 'RUNNING' AND NOT w.settled) ELSE 0 END)::bigint AS waiting
FROM input_sweep_runs r
WHERE r.sweep_id = ANY (@ids::uuid[]) GROUP BY r.sweep_id, r.state;

-- name: WaitingSweepRuns :many
-- The launched runs of a sweep of which nothing has been admitted yet, or that wait with all that remains.
SELECT r.number FROM input_sweep_runs r
JOIN executions e ON e.id = r.execution_id
WHERE r.sweep_id = @sweep_id AND r.state = 'RUNNING' AND e.running = 0 AND e.queued = 0 AND (e.ready > 0 OR e.status = 'PENDING');

-- name: BestSweepRuns :many
-- Runs that failed or were cancelled are not the best.
SELECT DISTINCT ON (r.sweep_id) r.* FROM input_sweep_runs r
JOIN input_sweeps s ON s.id = r.sweep_id
WHERE r.sweep_id = ANY (@ids::uuid[]) AND r.objective IS NOT NULL AND r.state IN ('RUNNING', 'SUCCEEDED', 'STOPPED_EARLY')
ORDER BY r.sweep_id, CASE WHEN s.objective ->> 'Goal' = 'min' THEN r.objective ELSE -r.objective END, r.number;

-- name: SweepOfExecution :one
SELECT r.sweep_id, r.number, s.name FROM input_sweep_runs r JOIN input_sweeps s ON s.id = r.sweep_id WHERE r.execution_id = @execution_id;

-- name: HasInputSweeps :one
SELECT EXISTS (SELECT FROM input_sweeps WHERE project_id = @project_id);

-- name: InputSweepsByID :many
SELECT * FROM input_sweeps WHERE project_id = @project_id AND id = ANY (@ids::uuid[]);

-- name: EarlierDurations :one
-- The median duration and GPU-hours of the latest executions of a workflow that succeeded.
WITH latest AS (
    SELECT e.id, extract(epoch FROM e.finished_at - e.started_at)::float8 AS seconds,
        coalesce((SELECT sum(h.gpus * h.seconds) / 3600 FROM resource_hours h WHERE h.execution_id = e.id), 0)::float8 AS gpu_hours
    FROM executions e
    WHERE e.workflow_id = @workflow_id AND e.status = 'SUCCEEDED' AND e.started_at IS NOT NULL AND e.finished_at IS NOT NULL
    ORDER BY e.id DESC LIMIT 50
)
SELECT count(*) AS executions, coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds), 0)::float8 AS seconds,
    coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY gpu_hours), 0)::float8 AS gpu_hours
FROM latest;
