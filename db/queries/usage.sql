-- name: RecordHours :exec
-- Stores the usage of ended attempts. A repetition changes nothing.
INSERT INTO resource_hours (execution_id, node_index, attempt, project_id, user_id, workflow_name, ended_at, seconds,
    cpu_millis, memory_mib, gpus, gpu_type)
SELECT @execution_id::uuid, u.i, u.attempt, @project_id::uuid, @person::uuid, @workflow_name::text, u.finished, u.seconds, u.cpu, u.memory, u.gpus, u.gpu_type
FROM jsonb_to_recordset(@spans::jsonb) AS u(
    i int, attempt int, finished timestamptz, seconds float8, cpu int, memory int, gpus int, gpu_type text)
ON CONFLICT ON CONSTRAINT resource_hours_pkey DO NOTHING;

-- name: LearnDurations :exec
-- Adds the durations of an execution's successful attempts to those of their operators, latest
-- first.
INSERT INTO operator_durations AS o (workflow_id, operator, durations, updated_at)
SELECT e.workflow_id, n.name, (array_agg((1000 * extract(epoch FROM a.finished_at - a.started_at))::bigint ORDER BY a.finished_at DESC))[1 : 50], @at::timestamptz
FROM executions e
JOIN nodes n ON n.execution_id = e.id
JOIN attempts a ON a.execution_id = n.execution_id AND a.node_index = n.node_index AND a.attempt = n.attempt
WHERE e.id = @execution_id AND n.execution_id = @execution_id AND a.execution_id = @execution_id
    AND n.state = 'SUCCEEDED' AND a.outcome = 'SUCCEEDED' AND a.started_at IS NOT NULL AND a.finished_at >= a.started_at
GROUP BY e.workflow_id, n.name
ORDER BY n.name
ON CONFLICT ON CONSTRAINT operator_durations_pkey DO UPDATE SET
    durations = (EXCLUDED.durations || o.durations)[1 : 50],
    updated_at = EXCLUDED.updated_at;

-- name: OperatorDurations :many
SELECT operator, durations FROM operator_durations WHERE workflow_id = @workflow_id;

-- name: UsageAt :many
-- Returns the usage of the projects at or below a node since a time, by person and workflow:
-- of ended attempts, and of live ones until now.
WITH span AS (
    SELECT @since::timestamptz AS since, @now::timestamptz AS until
), projects AS (
    SELECT id FROM tenancy_nodes WHERE path @> ARRAY[@place::uuid] AND kind = 'project'
), spans AS (
    SELECT h.user_id, h.workflow_name, h.execution_id, h.cpu_millis, h.memory_mib, h.gpus,
        least(h.seconds, extract(epoch FROM h.ended_at - span.since)) AS seconds
    FROM resource_hours h, span
    WHERE h.project_id IN (SELECT id FROM projects) AND h.ended_at > span.since
    UNION ALL
    SELECT e.submitted_by, e.workflow_name, r.execution_id, r.cpu_millis, r.memory_mib, r.gpus,
        greatest(0, extract(epoch FROM span.until - greatest(a.started_at, span.since)))
    FROM span
    CROSS JOIN reservations r
    JOIN executions e ON e.id = r.execution_id
    JOIN attempts a ON a.execution_id = r.execution_id AND a.node_index = r.node_index AND a.attempt = r.attempt
    WHERE r.project_id IN (SELECT id FROM projects) AND a.started_at IS NOT NULL
)
SELECT s.user_id, coalesce(u.name, '') AS user_name, s.workflow_name,
    (sum(s.gpus * s.seconds) / 3600)::float8 AS gpu_hours,
    (sum(s.cpu_millis * s.seconds) / 3600000)::float8 AS cpu_hours,
    (sum(s.memory_mib * s.seconds) / 3686400)::float8 AS memory_hours,
    count(DISTINCT s.execution_id)::int AS executions
FROM spans s
LEFT JOIN users u ON u.id = s.user_id
GROUP BY s.user_id, u.name, s.workflow_name
ORDER BY gpu_hours DESC, cpu_hours DESC, s.user_id, s.workflow_name;

-- name: UsageOfExecution :one
WITH span AS (
    SELECT @now::timestamptz AS until
), spans AS (
    SELECT h.cpu_millis, h.memory_mib, h.gpus, h.seconds FROM resource_hours h WHERE h.execution_id = @execution_id
    UNION ALL
    SELECT r.cpu_millis, r.memory_mib, r.gpus, greatest(0, extract(epoch FROM span.until - a.started_at))
    FROM span
    CROSS JOIN reservations r
    JOIN attempts a ON a.execution_id = r.execution_id AND a.node_index = r.node_index AND a.attempt = r.attempt
    WHERE r.execution_id = @execution_id AND a.execution_id = @execution_id AND a.started_at IS NOT NULL
)
SELECT coalesce(sum(gpus * seconds) / 3600, 0)::float8 AS gpu_hours,
    coalesce(sum(cpu_millis * seconds) / 3600000, 0)::float8 AS cpu_hours,
    coalesce(sum(memory_mib * seconds) / 3686400, 0)::float8 AS memory_hours
FROM spans;
