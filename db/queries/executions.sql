-- name: ExecutionOutputs :many
-- Returns the outputs of executions of a project.
SELECT id, outputs FROM executions WHERE id = ANY (@ids::uuid[]) AND project_id = @project_id;

-- name: InsertExecutions :exec
-- Writes new executions, each with its first event.
WITH fresh AS (
    INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, name,
        priority, inputs, submitted_by, submitted_by_name, relaunch_of, created_at, total, pending, ready, levels,
        traceparent, drive_requested_at, scheduled_at, purpose, sweep_id, event_seq)
    SELECT n.id, n.tenant_id, n.project_id, n.workflow_id, n.version_id, n.workflow_name, n.version, n.name,
        n.priority, n.inputs, n.submitted_by, n.submitted_by_name, n.relaunch_of, n.created_at, n.total, n.pending, n.ready, n.levels,
        n.traceparent, now(), n.scheduled_at, n.purpose, n.sweep_id, 1
    FROM jsonb_to_recordset(@executions::jsonb) AS n(
        id uuid, tenant_id uuid, project_id uuid, workflow_id uuid, version_id uuid, workflow_name text, version text, name text,
        priority int, inputs jsonb, submitted_by uuid, submitted_by_name text, relaunch_of uuid, created_at timestamptz,
        total int, pending int, ready int, levels int, traceparent text, scheduled_at timestamptz, purpose text, sweep_id uuid)
)
INSERT INTO events (execution_id, seq, at, kind, message)
SELECT n.id, 1, n.created_at, 'execution.launched', n.message
FROM jsonb_to_recordset(@executions::jsonb) AS n(id uuid, created_at timestamptz, message text);

-- name: ClaimIdempotencyKey :one
-- Returns the execution that owns the key: the new one if the key was unused.
WITH mine AS (
    INSERT INTO execution_idempotency_keys (project_id, key, execution_id, request_hash, created_at)
    VALUES (@project_id, @key, @execution_id, @request_hash, @created_at)
    ON CONFLICT ON CONSTRAINT execution_idempotency_keys_pkey DO NOTHING
    RETURNING execution_id, request_hash
)
SELECT execution_id, request_hash FROM mine
UNION ALL
SELECT k.execution_id, k.request_hash FROM execution_idempotency_keys k
WHERE k.project_id = @project_id AND k.key = @key
LIMIT 1;

-- name: GetExecution :one
SELECT * FROM executions WHERE id = @id;

-- name: ExecutionPlace :one
SELECT tenant_id, project_id, name FROM executions WHERE id = @id;

-- name: RenameExecution :exec
UPDATE executions SET name = @name WHERE id = @id;

-- name: ListExecutions :many
SELECT * FROM executions e
WHERE e.project_id = @project_id
    AND (sqlc.narg('before')::uuid IS NULL OR e.id < sqlc.narg('before'))
    AND (sqlc.narg('workflow_id')::uuid IS NULL OR e.workflow_id = sqlc.narg('workflow_id'))
    AND (cardinality(@statuses::text[]) = 0 OR e.status = ANY (@statuses::text[]))
    AND (cardinality(@submitters::uuid[]) = 0 OR e.submitted_by = ANY (@submitters::uuid[]))
    AND (@purpose::text = '' OR e.purpose = @purpose::text)
    AND (NOT @waiting::bool OR e.ready > 0 OR (e.status = 'PENDING' AND e.reason IS NOT NULL))
    AND (@approval::text = '' OR e.only_awaits = (@approval::text = 'ONLY'))
    AND (sqlc.narg('least')::uuid IS NULL OR e.id >= sqlc.narg('least'))
    AND (sqlc.narg('beyond')::uuid IS NULL OR e.id < sqlc.narg('beyond'))
ORDER BY e.id DESC
LIMIT @max_rows OFFSET @skipped;

-- name: ListSingleExecutions :many
-- Returns executions like ListExecutions, of those that no sweep launched.
SELECT * FROM executions e
WHERE e.project_id = @project_id AND e.sweep_id IS NULL
    AND (sqlc.narg('before')::uuid IS NULL OR e.id < sqlc.narg('before'))
    AND (sqlc.narg('workflow_id')::uuid IS NULL OR e.workflow_id = sqlc.narg('workflow_id'))
    AND (cardinality(@statuses::text[]) = 0 OR e.status = ANY (@statuses::text[]))
    AND (cardinality(@submitters::uuid[]) = 0 OR e.submitted_by = ANY (@submitters::uuid[]))
    AND (@purpose::text = '' OR e.purpose = @purpose::text)
    AND (NOT @waiting::bool OR e.ready > 0 OR (e.status = 'PENDING' AND e.reason IS NOT NULL))
    AND (@approval::text = '' OR e.only_awaits = (@approval::text = 'ONLY'))
    AND (sqlc.narg('least')::uuid IS NULL OR e.id >= sqlc.narg('least'))
    AND (sqlc.narg('beyond')::uuid IS NULL OR e.id < sqlc.narg('beyond'))
ORDER BY e.id DESC
LIMIT @max_rows;

-- name: ListSweptExecutions :many
-- Returns one run of each sweep that has a run which matches, in the order of the sweeps, and the number
-- of these runs if it is requested. All runs have the workflow and the person of their sweep. @statuses
-- is never empty, so that the index of runs by state serves any plan.
WITH found AS MATERIALIZED (
    SELECT s.id AS place, run.id FROM input_sweeps s CROSS JOIN LATERAL (SELECT r.id FROM executions r
        WHERE r.sweep_id = s.id
            AND r.status = ANY (@statuses::text[])
            AND (@purpose::text = '' OR r.purpose = @purpose::text)
            AND (NOT @waiting::bool OR r.ready > 0 OR (r.status = 'PENDING' AND r.reason IS NOT NULL))
            AND (@approval::text = '' OR r.only_awaits = (@approval::text = 'ONLY'))
            AND (sqlc.narg('least')::uuid IS NULL OR r.id >= sqlc.narg('least'))
            AND (sqlc.narg('beyond')::uuid IS NULL OR r.id < sqlc.narg('beyond'))
        LIMIT 1) AS run
    WHERE s.project_id = @project_id
        AND (sqlc.narg('before')::uuid IS NULL OR s.id < sqlc.narg('before'))
        AND (sqlc.narg('workflow_id')::uuid IS NULL OR s.workflow_id = sqlc.narg('workflow_id'))
        AND (cardinality(@submitters::uuid[]) = 0 OR s.created_by = ANY (@submitters::uuid[]))
    ORDER BY s.id DESC LIMIT @max_rows
)
SELECT sqlc.embed(x), CASE WHEN @counted::bool THEN (SELECT count(*) FROM executions r
        WHERE r.sweep_id = x.sweep_id
            AND r.status = ANY (@statuses::text[])
            AND (@purpose::text = '' OR r.purpose = @purpose::text)
            AND (NOT @waiting::bool OR r.ready > 0 OR (r.status = 'PENDING' AND r.reason IS NOT NULL))
            AND (@approval::text = '' OR r.only_awaits = (@approval::text = 'ONLY'))
            AND (sqlc.narg('least')::uuid IS NULL OR r.id >= sqlc.narg('least'))
            AND (sqlc.narg('beyond')::uuid IS NULL OR r.id < sqlc.narg('beyond'))) ELSE 0 END::int AS matching
FROM found f JOIN executions x ON x.id = f.id
ORDER BY f.place DESC;

-- name: ListExecutionsWithText :many
-- Returns executions like ListExecutions, of those with a text in their name, of the workflows with
-- it in theirs, and of some IDs. Each branch reads an index in the order of the list and stops.
WITH found AS (
(SELECT e.id FROM executions e WHERE e.project_id = @project_id AND e.name <> '' AND e.name ILIKE @name_pattern::text
    AND (sqlc.narg('before')::uuid IS NULL OR e.id < sqlc.narg('before'))
    AND (sqlc.narg('workflow_id')::uuid IS NULL OR e.workflow_id = sqlc.narg('workflow_id'))
    AND (cardinality(@statuses::text[]) = 0 OR e.status = ANY (@statuses::text[]))
    AND (cardinality(@submitters::uuid[]) = 0 OR e.submitted_by = ANY (@submitters::uuid[]))
    AND (@purpose::text = '' OR e.purpose = @purpose::text)
    AND (NOT @waiting::bool OR e.ready > 0 OR (e.status = 'PENDING' AND e.reason IS NOT NULL))
    AND (@approval::text = '' OR e.only_awaits = (@approval::text = 'ONLY'))
    AND (sqlc.narg('least')::uuid IS NULL OR e.id >= sqlc.narg('least'))
    AND (sqlc.narg('beyond')::uuid IS NULL OR e.id < sqlc.narg('beyond'))
    ORDER BY e.id DESC LIMIT @branch_rows)
UNION
SELECT l.id FROM unnest(@named_workflows::uuid[]) AS w(id) CROSS JOIN LATERAL
(SELECT e.id FROM executions e WHERE e.project_id = @project_id AND e.workflow_id = w.id
    AND (sqlc.narg('before')::uuid IS NULL OR e.id < sqlc.narg('before'))
    AND (sqlc.narg('workflow_id')::uuid IS NULL OR e.workflow_id = sqlc.narg('workflow_id'))
    AND (cardinality(@statuses::text[]) = 0 OR e.status = ANY (@statuses::text[]))
    AND (cardinality(@submitters::uuid[]) = 0 OR e.submitted_by = ANY (@submitters::uuid[]))
    AND (@purpose::text = '' OR e.purpose = @purpose::text)
    AND (NOT @waiting::bool OR e.ready > 0 OR (e.status = 'PENDING' AND e.reason IS NOT NULL))
    AND (@approval::text = '' OR e.only_awaits = (@approval::text = 'ONLY'))
    AND (sqlc.narg('least')::uuid IS NULL OR e.id >= sqlc.narg('least'))
    AND (sqlc.narg('beyond')::uuid IS NULL OR e.id < sqlc.narg('beyond'))
    ORDER BY e.id DESC LIMIT @branch_rows) AS l
UNION
(SELECT e.id FROM executions e WHERE e.project_id = @project_id AND e.id = ANY (@short_ids::uuid[])
    AND (sqlc.narg('before')::uuid IS NULL OR e.id < sqlc.narg('before'))
    AND (sqlc.narg('workflow_id')::uuid IS NULL OR e.workflow_id = sqlc.narg('workflow_id'))
    AND (cardinality(@statuses::text[]) = 0 OR e.status = ANY (@statuses::text[]))
    AND (cardinality(@submitters::uuid[]) = 0 OR e.submitted_by = ANY (@submitters::uuid[]))
    AND (@purpose::text = '' OR e.purpose = @purpose::text)
    AND (NOT @waiting::bool OR e.ready > 0 OR (e.status = 'PENDING' AND e.reason IS NOT NULL))
    AND (@approval::text = '' OR e.only_awaits = (@approval::text = 'ONLY'))
    AND (sqlc.narg('least')::uuid IS NULL OR e.id >= sqlc.narg('least'))
    AND (sqlc.narg('beyond')::uuid IS NULL OR e.id < sqlc.narg('beyond'))
    ORDER BY e.id DESC LIMIT @branch_rows)
UNION
(SELECT e.id FROM executions e WHERE e.project_id = @project_id AND e.id >= @id_least::uuid AND e.id <= @id_most::uuid
    AND (sqlc.narg('before')::uuid IS NULL OR e.id < sqlc.narg('before'))
    AND (sqlc.narg('workflow_id')::uuid IS NULL OR e.workflow_id = sqlc.narg('workflow_id'))
    AND (cardinality(@statuses::text[]) = 0 OR e.status = ANY (@statuses::text[]))
    AND (cardinality(@submitters::uuid[]) = 0 OR e.submitted_by = ANY (@submitters::uuid[]))
    AND (@purpose::text = '' OR e.purpose = @purpose::text)
    AND (NOT @waiting::bool OR e.ready > 0 OR (e.status = 'PENDING' AND e.reason IS NOT NULL))
    AND (@approval::text = '' OR e.only_awaits = (@approval::text = 'ONLY'))
    AND (sqlc.narg('least')::uuid IS NULL OR e.id >= sqlc.narg('least'))
    AND (sqlc.narg('beyond')::uuid IS NULL OR e.id < sqlc.narg('beyond'))
    ORDER BY e.id DESC LIMIT @branch_rows)
)
SELECT r.* FROM executions r WHERE r.id IN (SELECT f.id FROM found f ORDER BY f.id DESC LIMIT @max_rows OFFSET @skipped)
ORDER BY r.id DESC;

-- name: CountExecutions :one
SELECT count(*)::int FROM executions e
WHERE e.project_id = @project_id
    AND (sqlc.narg('workflow_id')::uuid IS NULL OR e.workflow_id = sqlc.narg('workflow_id'))
    AND (cardinality(@statuses::text[]) = 0 OR e.status = ANY (@statuses::text[]))
    AND (cardinality(@submitters::uuid[]) = 0 OR e.submitted_by = ANY (@submitters::uuid[]))
    AND (sqlc.narg('name_pattern')::text IS NULL
        OR (e.name <> '' AND e.name ILIKE sqlc.narg('name_pattern'))
        OR e.workflow_id = ANY (@named_workflows::uuid[])
        OR e.id = ANY (@short_ids::uuid[])
        OR (e.id >= @id_least::uuid AND e.id <= @id_most::uuid))
    AND (@purpose::text = '' OR e.purpose = @purpose::text)
    AND (NOT @waiting::bool OR e.ready > 0 OR (e.status = 'PENDING' AND e.reason IS NOT NULL))
    AND (@approval::text = '' OR e.only_awaits = (@approval::text = 'ONLY'))
    AND (sqlc.narg('least')::uuid IS NULL OR e.id >= sqlc.narg('least'))
    AND (sqlc.narg('beyond')::uuid IS NULL OR e.id < sqlc.narg('beyond'));

-- name: ExecutionsEndingWith :many
-- Returns the executions of a project whose IDs have a given suffix; low and high are the
-- bounds of the reversed IDs.
SELECT id FROM executions
WHERE project_id = @project_id AND reverse(id::text) COLLATE "C" >= @low::text AND reverse(id::text) COLLATE "C" < @high::text
ORDER BY id DESC
LIMIT @max_rows;

-- name: UsersNamed :many
-- Returns the users with a name who have a role in a project or have launched executions in it.
SELECT u.id FROM users u
WHERE u.name = @name AND (
    u.project_id = @project_id::uuid
    OR EXISTS (SELECT 1 FROM memberships m JOIN tenancy_nodes n ON m.node_id = ANY (n.path) WHERE n.id = @project_id AND m.user_id = u.id)
    OR EXISTS (SELECT 1 FROM executions e WHERE e.project_id = @project_id AND e.submitted_by = u.id)
);

-- name: WorkflowsLike :many
SELECT id FROM workflows WHERE project_id = @project_id AND name ILIKE @pattern;

-- name: AcquireLease :one
-- Acquires an execution that has no live owner. The epoch fences the former owner, and the
-- term a former leader; term 0 means that the server has no lease.
UPDATE executions SET
    owner = @owner, owner_epoch = owner_epoch + 1, drive_requested_at = NULL, wake_at = NULL,
    lease_until = now() + make_interval(secs => @lease_seconds::float8)
WHERE id = @id AND status IN ('PENDING', 'RUNNING', 'PAUSED') AND (lease_until IS NULL OR lease_until < now())
    AND (@term::bigint = 0 OR EXISTS (SELECT 1 FROM leases WHERE name = 'scheduler' AND term = @term::bigint))
RETURNING *;

-- name: RenewLeases :many
UPDATE executions e SET lease_until = now() + make_interval(secs => @lease_seconds::float8)
WHERE e.id = ANY (@ids::uuid[]) AND e.owner = @owner AND e.lease_until IS NOT NULL
RETURNING e.id, e.owner_epoch, e.cancel_requested_at, e.cancel_reason,
    (EXISTS (SELECT 1 FROM reports r WHERE r.execution_id = e.id)
        OR EXISTS (SELECT 1 FROM node_orders o WHERE o.execution_id = e.id AND NOT o.taken)
        OR EXISTS (SELECT 1 FROM node_commands m WHERE m.execution_id = e.id AND NOT m.taken)
        OR EXISTS (SELECT 1 FROM reservations v WHERE v.execution_id = e.id AND v.preempted_at IS NOT NULL AND v.preempt_taken_at IS NULL AND v.stop_sent_at IS NULL))::bool AS has_reports;

-- name: LockExecution :one
SELECT owner, owner_epoch, status, cancel_requested_at,
    (lease_until IS NOT NULL AND lease_until >= now())::bool AS live
FROM executions WHERE id = @id FOR UPDATE;

-- name: LockDriven :one
-- Locks an execution like LockExecution, for a loop that has just acquired it, and checks the
-- term again: a new leader may have updated the row after the check in AcquireLease.
SELECT (@term::bigint = 0 OR EXISTS (SELECT 1 FROM leases WHERE name = 'scheduler' AND term = @term::bigint))::bool AS holds
FROM executions WHERE id = @id FOR UPDATE;

-- name: ReleaseLease :exec
UPDATE executions SET lease_until = NULL, wake_at = sqlc.narg('wake_at')
WHERE id = @id AND owner = @owner AND owner_epoch = @epoch;

-- name: ExpireLeasesOf :execrows
-- Expires the leases of an instance that has just started. Its former process has ended, and a
-- drive job that the process fetched may not have started.
UPDATE executions SET
    lease_until = CASE WHEN lease_until IS NOT NULL AND starts_with(owner, @instance::text)
        THEN now() - interval '1 second' ELSE lease_until END,
    drive_requested_at = drive_requested_at - interval '1 day'
WHERE status IN ('PENDING', 'RUNNING', 'PAUSED')
    AND (drive_requested_at IS NOT NULL OR (lease_until IS NOT NULL AND starts_with(owner, @instance::text)));

-- name: HasLiveExecutions :one
-- Reports whether an execution has not ended, or an attempt has a reservation.
SELECT (EXISTS (SELECT 1 FROM executions WHERE status IN ('PENDING', 'RUNNING', 'PAUSED')) OR EXISTS (SELECT 1 FROM reservations))::boolean AS live;

-- name: ListUndriven :many
-- Returns executions that need a drive loop: the owner's lease expired, the job was lost, a
-- timer is due, or a report is waiting. It marks them as requested, so that a tick enqueues
-- each of them once.
UPDATE executions e SET drive_requested_at = now(), owner_epoch = e.owner_epoch + (e.drive_requested_at IS NOT NULL)::int, wake_at = NULL
WHERE e.id IN (
    SELECT c.id FROM executions c
    WHERE c.status IN ('PENDING', 'RUNNING', 'PAUSED')
        AND (c.lease_until IS NULL OR c.lease_until < now())
        AND (c.drive_requested_at IS NULL OR c.drive_requested_at < now() - make_interval(secs => @patience_seconds::float8))
        AND (c.lease_until < now()
            OR c.drive_requested_at IS NOT NULL
            OR c.wake_at <= now()
            OR EXISTS (SELECT 1 FROM reports r WHERE r.execution_id = c.id)
            OR EXISTS (SELECT 1 FROM node_orders o WHERE o.execution_id = c.id AND NOT o.taken)
            OR EXISTS (SELECT 1 FROM node_commands m WHERE m.execution_id = c.id AND NOT m.taken))
    ORDER BY c.id
    LIMIT @max_rows
    FOR UPDATE SKIP LOCKED)
RETURNING e.id, e.owner_epoch;

-- name: RequestDrive :one
-- Returns the epoch for the drive job, or no row if the execution has a live owner.
UPDATE executions SET drive_requested_at = coalesce(drive_requested_at, now())
WHERE id = @id AND status IN ('PENDING', 'RUNNING', 'PAUSED') AND (lease_until IS NULL OR lease_until < now())
RETURNING owner_epoch;

-- name: RequestCancel :execrows
WITH requested AS (
    UPDATE executions SET cancel_requested_at = @at::timestamptz, cancel_reason = @reason, event_seq = event_seq + 1
    WHERE id = @id AND status IN ('PENDING', 'RUNNING', 'PAUSED') AND cancel_requested_at IS NULL
    RETURNING id, event_seq
)
INSERT INTO events (execution_id, seq, at, kind, message, data)
SELECT id, event_seq, @at::timestamptz, 'execution.cancel_requested', @reason, sqlc.narg('data') FROM requested;

-- name: FlushExecution :one
-- Writes one batch of a drive loop, or nothing if the fence fails. It fails if it moves another
-- number of nodes than expected: each is compared with the state and the attempt that the loop has
-- in memory. Existing rows are updated through INSERT … ON CONFLICT, which finds each row by its
-- key. With a join, the planner reads all nodes of the execution if it estimates that there
-- are few.
WITH fence AS (
    UPDATE executions SET
        status = @status, started_at = sqlc.narg('started_at'), finished_at = sqlc.narg('finished_at'),
        error = sqlc.narg('error'), outputs = sqlc.narg('outputs'), reason = sqlc.narg('reason'),
        total = @total, pending = @pending, ready = @ready, queued = @queued, running = @running, awaiting_approval = @awaiting_approval, only_awaits = @only_awaits, retrying = @retrying,
        succeeded = @succeeded, failed = @failed, skipped = @skipped, cancelled = @cancelled,
        levels_done = @levels_done, event_seq = event_seq + jsonb_array_length(@events::jsonb),
        lease_until = CASE WHEN sqlc.narg('finished_at')::timestamptz IS NULL
            THEN now() + make_interval(secs => @lease_seconds::float8) END
    WHERE id = @id AND owner = @owner AND owner_epoch = @epoch AND status IN ('PENDING', 'RUNNING', 'PAUSED')
    RETURNING id, project_id, event_seq, event_seq - jsonb_array_length(@events::jsonb) AS base
), moved AS (
    INSERT INTO nodes AS n (execution_id, node_index, name, level, changed_seq, state, pending_dependencies, attempt, retries, reason, error, outputs,
        inputs, first_child, child_count, ready_at, started_at, finished_at, retry_at, polling)
    SELECT f.id, u.i, x.name, x.level, f.event_seq, u.state, u.pending, u.attempt, u.retries, u.reason, u.error, u.outputs,
        u.inputs, u.first_child, coalesce(u.child_count, x.child_count), u.ready_at, u.started_at, u.finished_at, u.retry_at, u.polling
    FROM fence f, jsonb_to_recordset(@nodes::jsonb) AS u(
        i int, from_state text, from_attempt int, state text, pending int, attempt int, retries int,
        reason jsonb, error jsonb, outputs jsonb,
        inputs jsonb, first_child int, child_count int,
        ready_at timestamptz, started_at timestamptz, finished_at timestamptz, retry_at timestamptz, polling jsonb),
        LATERAL (SELECT name, level, child_count, state, attempt FROM nodes WHERE execution_id = @id AND node_index = u.i LIMIT 1) x
    WHERE x.state = u.from_state AND x.attempt = u.from_attempt
    ON CONFLICT (execution_id, node_index) DO UPDATE SET
        changed_seq = excluded.changed_seq, state = excluded.state, pending_dependencies = excluded.pending_dependencies,
        attempt = excluded.attempt, retries = excluded.retries, reason = excluded.reason, error = excluded.error,
        outputs = coalesce(excluded.outputs, n.outputs), inputs = coalesce(excluded.inputs, n.inputs),
        first_child = coalesce(excluded.first_child, n.first_child), child_count = excluded.child_count,
        ready_at = excluded.ready_at, started_at = excluded.started_at, finished_at = excluded.finished_at, retry_at = excluded.retry_at, polling = excluded.polling,
        progress = CASE WHEN excluded.attempt = n.attempt THEN n.progress END,
        progress_message = CASE WHEN excluded.attempt = n.attempt THEN n.progress_message ELSE '' END,
        progress_status = CASE WHEN excluded.attempt = n.attempt THEN n.progress_status ELSE '' END
    RETURNING n.node_index
), claimed AS (
    INSERT INTO attempts (execution_id, node_index, attempt, launcher, queued_at, memory_mib, gpus, gpu_type)
    SELECT f.id, c.i, c.attempt, @launcher, c.at, c.memory / greatest(c.pods, 1), c.gpus / greatest(c.pods, 1), c.gpu_type
    FROM fence f, jsonb_to_recordset(@claims::jsonb) AS c(i int, attempt int, at timestamptz, memory int, gpus int, gpu_type text, pods int)
    WHERE c.i >= 0
), held AS (
    INSERT INTO reservations (execution_id, node_index, attempt, project_id, launcher, cpu_millis, memory_mib, gpus, gpu_type, pods, executions,
        machine, devices, preemptible, priority, created_at, expires_at)
    SELECT f.id, c.i, c.attempt, f.project_id, @launcher, c.cpu, c.memory, c.gpus, c.gpu_type, c.pods, c.executions,
        c.machine, coalesce(c.devices, '{}'), c.preemptible, c.priority, c.at, c.expires_at
    FROM fence f, jsonb_to_recordset(@claims::jsonb) AS c(
        i int, attempt int, at timestamptz, cpu int, memory int, gpus int, gpu_type text, pods int, executions int,
        machine text, devices int[], preemptible bool, priority int, expires_at timestamptz)
), ended AS (
    INSERT INTO attempts AS a (execution_id, node_index, attempt, launcher, queued_at, started_at, finished_at,
        outcome, class, exit_code, message, host, pid, cpu_seconds, peak_rss_bytes)
    SELECT f.id, d.i, d.attempt, x.launcher, x.queued_at, d.started_at, d.finished_at,
        d.outcome, coalesce(d.class, ''), d.exit_code, d.message, coalesce(d.host, ''), d.pid, d.cpu_seconds, d.peak_rss_bytes
    FROM fence f, jsonb_to_recordset(@ended::jsonb) AS d(
        i int, attempt int, started_at timestamptz, finished_at timestamptz, outcome text, class text, exit_code int,
        message text, host text, pid int, cpu_seconds float8, peak_rss_bytes bigint),
        LATERAL (SELECT launcher, queued_at FROM attempts WHERE execution_id = @id AND node_index = d.i AND attempt = d.attempt LIMIT 1) x
    ON CONFLICT (execution_id, node_index, attempt) DO UPDATE SET
        started_at = coalesce(excluded.started_at, a.started_at), finished_at = excluded.finished_at,
        outcome = excluded.outcome, class = excluded.class, exit_code = excluded.exit_code, message = excluded.message,
        host = coalesce(nullif(excluded.host, ''), a.host), pid = coalesce(excluded.pid, a.pid),
        cpu_seconds = excluded.cpu_seconds, peak_rss_bytes = excluded.peak_rss_bytes
), traced AS (
    INSERT INTO tracebacks (execution_id, node_index, attempt, content)
    SELECT f.id, d.i, d.attempt, d.traceback
    FROM fence f, jsonb_to_recordset(@ended::jsonb) AS d(i int, attempt int, traceback jsonb)
    WHERE d.traceback IS NOT NULL
    ON CONFLICT ON CONSTRAINT tracebacks_pkey DO NOTHING
), freed AS (
    DELETE FROM reservations r
    USING fence, jsonb_to_recordset(@ended::jsonb) AS d(i int, attempt int)
    WHERE r.execution_id = @id AND r.node_index = ANY (@stopped::int[]) AND r.node_index = d.i AND r.attempt = d.attempt
), closed AS (
    DELETE FROM reservations r USING fence
    WHERE r.execution_id = @id AND r.node_index = -1 AND sqlc.narg('finished_at')::timestamptz IS NOT NULL
), logged AS (
    INSERT INTO events (execution_id, seq, at, kind, node_index, attempt, message, data)
    SELECT f.id, f.base + e.ord, e.at, e.kind, e.i, e.attempt, coalesce(e.message, ''), e.data
    FROM fence f, ROWS FROM (jsonb_to_recordset(@events::jsonb) AS (
        at timestamptz, kind text, i int, attempt int, message text, data jsonb)) WITH ORDINALITY AS e(at, kind, i, attempt, message, data, ord)
)
SELECT (SELECT count(*) FROM fence)::int AS fenced,
    CASE WHEN EXISTS (SELECT FROM fence) THEN flush_complete((SELECT count(*) FROM moved), @expected::int) ELSE 0 END::int AS moved,
    coalesce((SELECT event_seq FROM fence), 0)::bigint AS seq;

-- name: FlushStarted :exec
-- Records the attempts that have started. It is the second statement of a flush and relies on
-- the fence that the first one locked.
WITH begun AS (
    INSERT INTO attempts AS a (execution_id, node_index, attempt, launcher, queued_at, started_at, host, pid)
    SELECT @id, s.i, s.attempt, x.launcher, x.queued_at, s.at, coalesce(s.host, ''), s.pid
    FROM jsonb_to_recordset(@begun::jsonb) AS s(i int, attempt int, at timestamptz, host text, pid int),
        LATERAL (SELECT launcher, queued_at FROM attempts WHERE execution_id = @id AND node_index = s.i AND attempt = s.attempt LIMIT 1) x
    ON CONFLICT (execution_id, node_index, attempt) DO UPDATE SET started_at = excluded.started_at, host = excluded.host, pid = excluded.pid
)
UPDATE reservations r SET deadline_at = s.deadline_at
FROM jsonb_to_recordset(@begun::jsonb) AS s(i int, attempt int, deadline_at timestamptz)
WHERE r.execution_id = @id AND r.node_index = ANY (@indexes::int[]) AND r.node_index = s.i AND r.attempt = s.attempt
    AND s.deadline_at IS NOT NULL;

-- name: ListEvents :many
SELECT e.seq, e.at, e.kind, e.node_index, e.attempt, e.message, e.data FROM events e
WHERE e.execution_id = @execution_id AND e.seq > @after
ORDER BY e.seq
LIMIT @max_rows;

-- name: ListLatestEvents :many
SELECT e.seq, e.at, e.kind, e.node_index, e.attempt, e.message, e.data FROM events e
WHERE e.execution_id = @execution_id AND e.seq < @before
    AND (cardinality(@kinds::text[]) = 0 OR e.kind = ANY (@kinds::text[]))
    AND (sqlc.narg('node_index')::int IS NULL OR e.node_index = sqlc.narg('node_index'))
ORDER BY e.seq DESC
LIMIT @max_rows;

-- name: VersionRuns :many
-- Counts executions of versions by state, at most @most of each version.
SELECT e.version_id, count(*) AS runs,
    count(*) FILTER (WHERE e.status = 'SUCCEEDED') AS succeeded, count(*) FILTER (WHERE e.status = 'FAILED') AS failed
FROM unnest(@version_ids::uuid[]) AS v(id)
CROSS JOIN LATERAL (
    SELECT x.version_id, x.status FROM executions x
    WHERE x.workflow_id = @workflow_id AND x.version_id = v.id AND x.project_id = @project_id
    LIMIT @most
) e
GROUP BY e.version_id;

-- name: RecentExecutions :many
-- Returns the latest executions of several workflows, without inputs and outputs. The range of
-- one value and its order make the planner use the index of workflows. With another index, it
-- reads all executions of the project for a workflow that has none.
SELECT r.id, r.workflow_id, r.workflow_name, r.version, r.name, r.status, r.priority, r.submitted_by, r.submitted_by_name,
    r.created_at, r.started_at, r.finished_at, r.error, r.total, r.pending, r.ready, r.queued, r.running, r.retrying,
    r.succeeded, r.failed, r.skipped, r.cancelled, r.levels, r.levels_done
FROM unnest(@workflow_ids::uuid[]) AS w(id)
CROSS JOIN LATERAL (
    SELECT * FROM executions e WHERE e.workflow_id BETWEEN w.id AND w.id AND e.project_id = @project_id
    ORDER BY e.workflow_id, e.id DESC LIMIT @each
) r
ORDER BY r.workflow_id, r.id DESC;

-- name: CountLive :one
SELECT count_live(@project_id)::integer AS live;

-- name: HasOptionRuns :one
-- Reports whether a project has executions that list options.
SELECT EXISTS (SELECT 1 FROM executions WHERE project_id = @project_id AND purpose = 'OPTIONS');

-- name: EventSeqs :many
SELECT id, project_id, event_seq FROM executions WHERE id = ANY (@ids::uuid[]);

-- name: MedianDuration :one
-- Returns the median duration in seconds of the latest successful executions of a version.
-- Resumed executions do not count, because they reuse results.
SELECT coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM d.finished_at - d.created_at)), 0)::float8 AS seconds
FROM (
    SELECT e.finished_at, e.created_at FROM executions e
    WHERE e.workflow_id = @workflow_id AND e.version_id = @version_id AND e.status = 'SUCCEEDED' AND e.resume_of IS NULL
    ORDER BY e.id DESC
    LIMIT 20
) d;

-- name: ChangeCounters :many
-- Returns a number per project that changes when a live execution changes, starts or ends.
SELECT project_id, (coalesce(sum(event_seq), 0) + 1000003 * count(*))::bigint AS pulse
FROM executions WHERE status IN ('PENDING', 'RUNNING', 'PAUSED') GROUP BY project_id;

-- name: RecentInputs :many
-- Returns the newest execution for each of a user's inputs of a workflow, newest first. It reads
-- the last scanned executions. The user did not enter the inputs of the runs of a sweep.
WITH mine AS (
    SELECT id, name, status, version, inputs, created_at FROM executions e
    WHERE workflow_id = @workflow_id AND project_id = @project_id AND submitted_by = @user_id AND purpose = 'WORK'
        AND NOT EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.execution_id = e.id)
    ORDER BY id DESC LIMIT @scanned
), distinct_inputs AS (
    SELECT DISTINCT ON (inputs) id, name, status, version, inputs, created_at FROM mine ORDER BY inputs, id DESC
)
SELECT * FROM distinct_inputs ORDER BY id DESC LIMIT @row_limit;

-- name: WatchedExecution :many
-- Returns an execution of a project for which a sensor waits.
SELECT id, status, outputs FROM executions WHERE id = @id AND project_id = @project_id;

-- name: EndedSince :many
-- Returns the first execution of a workflow that was launched since a time and has ended in one of
-- the states. The least ID limits the months that are read.
SELECT e.id, e.status, e.outputs
FROM executions e
JOIN workflows w ON w.id = e.workflow_id AND w.project_id = @project_id AND w.name = @workflow
WHERE e.id >= @least AND e.created_at >= @since AND e.id <> @self AND e.status = ANY (@states::text[]) AND e.purpose = 'WORK'
ORDER BY e.id
LIMIT 1;
