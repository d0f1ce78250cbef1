-- name: PlaceAttempts :many
-- Stores where attempts run. Returns the executions with changes.
UPDATE attempts a SET namespace = p.namespace, pod = p.pod, machine = coalesce(nullif(p.machine, ''), a.machine)
FROM jsonb_to_recordset(@places::jsonb) AS p(execution_id uuid, i int, attempt int, namespace text, pod text, machine text)
WHERE a.execution_id = p.execution_id AND a.node_index = p.i AND a.attempt = p.attempt
    AND (a.namespace, a.pod, a.machine) IS DISTINCT FROM (p.namespace, p.pod, coalesce(nullif(p.machine, ''), a.machine))
RETURNING a.execution_id;

-- name: SetWaiting :one
-- Stores why attempts have not started, as the reasons of their nodes. Without a reason, it
-- clears a reason whose code is in codes; it never changes other reasons. It returns the
-- number of changed nodes. A new code creates an event, a new message with the same code does
-- not.
WITH changed AS (
    SELECT n.node_index, n.attempt, nullif(w.value->'reason', 'null'::jsonb) AS reason,
        coalesce(n.reason->>'code', '') <> (w.value->'reason'->>'code') AS told,
        row_number() OVER (ORDER BY n.node_index) AS ord
    FROM nodes n, jsonb_array_elements(@waiting::jsonb) AS w(value)
    WHERE n.execution_id = @execution_id AND n.node_index = ANY (@indexes::int[]) AND n.node_index = (w.value->>'i')::int
        AND n.attempt = (w.value->>'attempt')::int AND n.state = 'QUEUED' AND n.reason IS DISTINCT FROM nullif(w.value->'reason', 'null'::jsonb)
        AND (n.reason IS NULL OR n.reason->>'code' = ANY (@codes::text[]))
), counted AS (
    UPDATE executions e SET event_seq = e.event_seq + c.n
    FROM (SELECT count(*) AS n FROM changed) c
    WHERE e.id = @execution_id AND c.n > 0
    RETURNING e.id, e.event_seq, e.event_seq - c.n AS base
), logged AS (
    INSERT INTO events (execution_id, seq, at, kind, node_index, attempt, message, data)
    SELECT c.id, c.base + x.ord, @at::timestamptz, 'node.pod_waiting', x.node_index, x.attempt, x.reason->>'message', jsonb_build_object('code', x.reason->>'code')
    FROM changed x, counted c WHERE x.told
), written AS (
    UPDATE nodes n SET reason = x.reason, changed_seq = c.event_seq
    FROM changed x, counted c
    WHERE n.execution_id = @execution_id AND n.node_index = ANY (@indexes::int[]) AND n.node_index = x.node_index AND n.attempt = x.attempt AND n.state = 'QUEUED'
    RETURNING n.node_index
)
SELECT count(*)::int AS changed FROM written;

-- name: KeepPodEvents :exec
-- Stores events of pods; a repetition updates the count of its event.
INSERT INTO pod_events AS e (execution_id, node_index, attempt, event_id, at, warning, reason, message, count)
SELECT p.execution_id, p.i, p.attempt, p.id, p.at, p.warning, p.reason, p.message, p.count
FROM jsonb_to_recordset(@events::jsonb) AS p(execution_id uuid, i int, attempt int, id text, at timestamptz, warning bool, reason text, message text, count int)
ON CONFLICT ON CONSTRAINT pod_events_pkey DO UPDATE SET at = EXCLUDED.at, message = EXCLUDED.message, count = EXCLUDED.count
WHERE EXCLUDED.count > e.count OR EXCLUDED.at > e.at;

-- name: PodEvents :many
SELECT attempt, at, warning, reason, message, count FROM pod_events
WHERE execution_id = @execution_id AND node_index = @node_index AND (@attempt::int = 0 OR attempt = @attempt::int)
ORDER BY at, event_id
LIMIT @max_rows;

-- name: ClassifyAttempt :execrows
-- Adds the class of an attempt's end if its own report had none.
UPDATE attempts SET class = @class, message = CASE WHEN message = '' THEN @message ELSE message END
WHERE execution_id = @execution_id AND node_index = @node_index AND attempt = @attempt
    AND class = '' AND finished_at IS NOT NULL AND outcome IN ('FAILED', 'INTERRUPTED', 'LOST', 'START_FAILED');

-- name: OutOfMemory :many
-- Returns the largest memory request that was too small, per node.
SELECT node_index, max(memory_mib)::int AS memory_mib FROM attempts
WHERE execution_id = @execution_id
    AND (class = 'out_of_memory' OR outcome = 'FAILED' AND class IN ('', 'error') AND exit_code = 137)
GROUP BY node_index;

-- name: HoursOfExecutions :many
-- Returns the GPU-hours of ended and live attempts of several executions.
WITH span AS (
    SELECT @now::timestamptz AS until
), spans AS (
    SELECT h.execution_id, h.gpus, h.seconds FROM resource_hours h WHERE h.execution_id = ANY (@ids::uuid[]) AND h.gpus > 0
    UNION ALL
    SELECT r.execution_id, r.gpus, greatest(0, extract(epoch FROM span.until - a.started_at))
    FROM span
    CROSS JOIN reservations r
    JOIN attempts a ON a.execution_id = r.execution_id AND a.node_index = r.node_index AND a.attempt = r.attempt
    WHERE r.execution_id = ANY (@ids::uuid[]) AND r.gpus > 0 AND a.started_at IS NOT NULL
)
SELECT execution_id, (sum(gpus * seconds) / 3600)::float8 AS gpu_hours FROM spans GROUP BY execution_id;

-- name: StartedWhileQueued :many
-- Returns the started attempts of nodes that are still queued.
SELECT a.node_index, a.attempt, a.started_at, a.host, a.pid
FROM nodes n
JOIN attempts a ON a.execution_id = n.execution_id AND a.node_index = n.node_index AND a.attempt = n.attempt
WHERE n.execution_id = @execution_id AND n.state = 'QUEUED' AND a.started_at IS NOT NULL;

-- name: SetClusterCapacity :execrows
INSERT INTO cluster_capacity AS c (capacity) VALUES (@capacity)
ON CONFLICT ON CONSTRAINT cluster_capacity_pkey DO UPDATE SET capacity = EXCLUDED.capacity
WHERE c.capacity IS DISTINCT FROM EXCLUDED.capacity;

-- name: GetClusterCapacity :one
SELECT capacity FROM cluster_capacity;

-- name: SetClusterSnapshot :exec
INSERT INTO cluster_snapshots (snapshot, seen_at) VALUES (@snapshot, @at::timestamptz)
ON CONFLICT ON CONSTRAINT cluster_snapshots_pkey DO UPDATE SET snapshot = EXCLUDED.snapshot, seen_at = EXCLUDED.seen_at;

-- name: GetClusterSnapshot :one
SELECT snapshot, seen_at FROM cluster_snapshots;

-- name: DrivenElsewhere :many
-- Returns those executions that have ended, or whose latest owner is another instance.
SELECT w.id::uuid AS id FROM unnest(@ids::uuid[]) AS w(id)
LEFT JOIN executions e ON e.id = w.id AND e.status IN ('PENDING', 'RUNNING', 'PAUSED')
WHERE e.id IS NULL OR (e.owner <> '' AND NOT starts_with(e.owner, @instance::text));

-- name: HasReservations :one
-- Reports whether nodes of some projects have reservations in the cluster.
SELECT EXISTS (SELECT FROM reservations v WHERE v.project_id = ANY (@projects::uuid[]) AND v.node_index >= 0 AND v.deadline_at IS NULL);

-- name: ListWaitingInCluster :many
-- Returns queued nodes that the cluster has not started for a reason in codes, oldest request
-- first, with their total number. Nodes that are starting are included only after some time.
-- LIMIT 1 makes the planner start from the few reservations and read executions and nodes by
-- key; nodes have no other index. Nodes that are being stopped have a different reason.
SELECT r.execution_id, r.node_index, r.project_id, e.workflow_name, e.name AS execution_name, e.priority, n.name AS node_name, n.reason,
    r.cpu_millis, r.memory_mib, r.gpus, r.gpu_type, r.pods, r.created_at, count(*) OVER () AS total
FROM (
    SELECT h.execution_id, x.workflow_name, x.name, x.priority
    FROM (SELECT DISTINCT v.execution_id FROM reservations v WHERE v.project_id = ANY (@projects::uuid[]) AND v.node_index >= 0 AND v.deadline_at IS NULL) h
    CROSS JOIN LATERAL (SELECT y.* FROM executions y WHERE y.id = h.execution_id AND y.queued > 0 LIMIT 1) x
) e
JOIN reservations r ON r.execution_id = e.execution_id AND r.node_index >= 0 AND r.deadline_at IS NULL
CROSS JOIN LATERAL (
    SELECT x.name, x.reason FROM nodes x
    WHERE x.execution_id = r.execution_id AND x.node_index = r.node_index AND x.attempt = r.attempt
        AND x.state = 'QUEUED' AND x.reason->>'code' = ANY (@codes::text[])
        AND (x.reason->>'code' <> @starting::text OR r.created_at < @starting_before::timestamptz)
    LIMIT 1
) n
ORDER BY r.created_at, r.execution_id, r.node_index
LIMIT @max_rows;

-- name: MarkServing :exec
-- Stores the addresses at which attempts serve. The first address of an attempt never changes.
UPDATE attempts a SET address = s.address
FROM jsonb_to_recordset(@serving::jsonb) AS s(execution_id uuid, i int, attempt int, address text)
WHERE a.execution_id = s.execution_id AND a.node_index = s.i AND a.attempt = s.attempt AND a.finished_at IS NULL AND a.address = '';

-- name: ServingAttempts :many
-- Returns the addresses at which the current attempts of nodes serve.
SELECT a.node_index, a.attempt, a.address
FROM nodes n
JOIN attempts a ON a.execution_id = n.execution_id AND a.node_index = n.node_index AND a.attempt = n.attempt
WHERE n.execution_id = @execution_id AND n.node_index = ANY (@nodes::int[]) AND a.address <> '';
