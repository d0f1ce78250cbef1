-- name: KnownSeries :many
-- Returns which of the series exist in a project.
SELECT s.key FROM workflow_series s WHERE s.project_id = @project_id AND s.key = ANY (@keys::text[]);

-- name: HoldSeries :exec
-- Serializes transactions that add series to a project.
SELECT pg_advisory_xact_lock(hashtextextended(@project_id::text, 7166661003));

-- name: CountSeries :one
SELECT count(*) FROM workflow_series s WHERE s.project_id = @project_id;

-- name: SeriesFamilies :many
-- Returns the kind and the bounds of the oldest series of each name.
SELECT DISTINCT ON (s.name) s.name, s.kind, s.bounds
FROM workflow_series s
WHERE s.project_id = @project_id AND s.name = ANY (@names::text[])
ORDER BY s.name, s.created_at, s.key;

-- name: InsertSeries :exec
INSERT INTO workflow_series (project_id, key, name, labels, kind, help, bounds, counts, created_at, updated_at)
SELECT @project_id, n.key, n.name, n.labels, n.kind, n.help, coalesce(n.bounds, '{}'), coalesce(n.counts, '{}'), @now, @now
FROM jsonb_to_recordset(@series::jsonb) AS n(key text, name text, labels jsonb, kind text, help text, bounds float8[], counts bigint[])
ON CONFLICT DO NOTHING;

-- name: LockSeries :many
-- Locks series in the order of their keys. All transactions use this order.
SELECT s.key, s.kind, s.help, s.value, s.bounds, s.counts, s.live_since, s.live_execution, s.live_node
FROM workflow_series s
WHERE s.project_id = @project_id AND s.key = ANY (@keys::text[])
ORDER BY s.key
FOR UPDATE;

-- name: WriteSeries :exec
-- Writes the new values of locked series.
UPDATE workflow_series s
SET help = n.help, value = n.value, counts = coalesce(n.counts, '{}'), updated_at = @now,
    live_since = n.live_since, live_execution = n.live_execution, live_node = n.live_node
FROM jsonb_to_recordset(@series::jsonb) AS n(
    key text, help text, value float8, counts bigint[], live_since timestamptz, live_execution uuid, live_node int)
WHERE s.project_id = @project_id AND s.key = n.key;

-- name: ListSeries :many
-- Returns the series of all projects that are not archived, oldest first; project is the path
-- of the project below its tenant.
WITH places AS MATERIALIZED (
    SELECT p.id, t.name AS tenant, (
        SELECT string_agg(a.name, '/' ORDER BY u.place) FROM unnest(p.path) WITH ORDINALITY AS u(id, place)
        JOIN tenancy_nodes a ON a.id = u.id WHERE a.kind NOT IN ('installation', 'tenant')) AS project
    FROM tenancy_nodes p JOIN tenancy_nodes t ON t.id = p.tenant_id
    WHERE p.kind = 'project' AND NOT EXISTS (SELECT 1 FROM tenancy_nodes a WHERE a.id = ANY (p.path) AND a.archived_at IS NOT NULL)
)
SELECT p.tenant, coalesce(p.project, '')::text AS project, s.name, s.labels, s.kind, s.help, s.value, s.bounds, s.counts, s.live_since
FROM workflow_series s JOIN places p ON p.id = s.project_id
ORDER BY s.created_at, s.project_id, s.key;

-- name: LiveSeries :many
-- Returns the series that are updated while an execution runs.
SELECT s.key FROM workflow_series s WHERE s.project_id = @project_id AND s.live_execution = @execution_id::uuid;

-- name: FirstBegins :many
-- Returns when each node of an execution first started or expanded, since its latest rerun.
WITH reopened AS (
    SELECT e.node_index, max(e.at) AS at FROM events e WHERE e.execution_id = @execution_id AND e.kind = 'node.reopened' GROUP BY e.node_index
), begun AS (
    SELECT a.node_index, a.started_at AS at FROM attempts a WHERE a.execution_id = @execution_id AND a.started_at IS NOT NULL
    UNION ALL
    SELECT e.node_index, e.at FROM events e WHERE e.execution_id = @execution_id AND e.kind = 'node.expanded'
)
SELECT b.node_index::int AS node_index, min(b.at)::timestamptz AS at
FROM begun b LEFT JOIN reopened r ON r.node_index = b.node_index
WHERE r.at IS NULL OR b.at >= r.at
GROUP BY b.node_index;
