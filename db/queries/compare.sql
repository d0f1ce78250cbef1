-- name: ExecutionsByID :many
SELECT * FROM executions WHERE id = ANY (@ids::uuid[]);

-- name: UsageOfExecutions :many
-- Returns the usage of executions until now, in hours.
WITH span AS (
    SELECT @now::timestamptz AS until
), spans AS (
    SELECT h.execution_id, h.cpu_millis, h.memory_mib, h.gpus, h.seconds FROM resource_hours h WHERE h.execution_id = ANY (@ids::uuid[])
    UNION ALL
    SELECT r.execution_id, r.cpu_millis, r.memory_mib, r.gpus, greatest(0, extract(epoch FROM span.until - a.started_at))
    FROM span
    CROSS JOIN reservations r
    JOIN attempts a ON a.execution_id = r.execution_id AND a.node_index = r.node_index AND a.attempt = r.attempt
    WHERE r.execution_id = ANY (@ids::uuid[]) AND a.execution_id = ANY (@ids::uuid[]) AND a.started_at IS NOT NULL
)
SELECT execution_id, coalesce(sum(gpus * seconds) / 3600, 0)::float8 AS gpu_hours,
    coalesce(sum(cpu_millis * seconds) / 3600000, 0)::float8 AS cpu_hours,
    coalesce(sum(memory_mib * seconds) / 3686400, 0)::float8 AS memory_hours
FROM spans GROUP BY execution_id;

-- name: NodesNamed :many
-- Returns the names of nodes of several executions; both lists have the same length.
SELECT n.execution_id, n.node_index, n.name
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@indexes::int[]) AS at) w
JOIN nodes n ON n.execution_id = w.id AND n.node_index = w.at;

-- name: PreviousExecution :one
-- Returns the latest earlier execution of a workflow.
SELECT id FROM executions
WHERE project_id = @project_id AND workflow_id = @workflow_id AND id < @id
ORDER BY id DESC LIMIT 1;

-- name: ArtifactsOfExecutions :many
-- Returns the first artifacts of each execution.
SELECT a.* FROM unnest(@ids::uuid[]) AS e(id)
CROSS JOIN LATERAL (
    SELECT * FROM artifacts x WHERE x.execution_id = e.id ORDER BY x.node_index, x.name, x.attempt DESC LIMIT @max_rows
) a;

-- name: ArtifactsByID :many
SELECT * FROM artifacts WHERE id = ANY (@ids::uuid[]);
