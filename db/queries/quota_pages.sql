-- name: GetQuota :one
-- Returns the stored limits of a node and the user who saved them. Returns no row if none were
-- saved.
SELECT q.limits, q.borrow, q.lend, q.defaults, q.weight, q.version, q.updated_at, q.updated_by, coalesce(u.name, '')::text AS updated_by_name
FROM quotas q
LEFT JOIN users u ON u.id = q.updated_by
WHERE q.node_id = @node_id;

-- name: QuotaVersions :many
SELECT node_id, version FROM quotas;

-- name: PutQuota :one
-- Saves limits if their version is the one that the caller has seen; 0 is the version of a
-- node without limits.
INSERT INTO quotas AS q (node_id, limits, borrow, lend, defaults, weight, version, updated_at, updated_by)
VALUES (@node_id, @limits, @borrow, @lend, @defaults, @weight, 1, @at, sqlc.narg('updated_by'))
ON CONFLICT ON CONSTRAINT quotas_pkey DO UPDATE SET
    limits = EXCLUDED.limits, borrow = EXCLUDED.borrow, lend = EXCLUDED.lend, defaults = EXCLUDED.defaults, weight = EXCLUDED.weight,
    version = q.version + 1, updated_at = EXCLUDED.updated_at, updated_by = EXCLUDED.updated_by
WHERE q.version = @seen::bigint
RETURNING version;

-- name: InsertQuotaEvent :exec
-- Adds an event to the outbox, in the transaction of the change.
INSERT INTO quota_events (id, at, node_id, tenant_id, project_id, kind, data)
VALUES (@id, @at, @node_id, sqlc.narg('tenant_id'), sqlc.narg('project_id'), @kind, @data);

-- name: TenantOf :one
-- Returns the tenant of a node; no row for the installation.
SELECT t.id FROM tenancy_nodes n
JOIN tenancy_nodes t ON t.id = ANY (n.path) AND t.kind = 'tenant'
WHERE n.id = @id;

-- name: ReadQuotaSamples :many
-- Returns the usage of one resource by a node, averaged over steps of equal length.
SELECT date_bin(@step::interval, s.at, @origin::timestamptz)::timestamptz AS at,
    avg(coalesce((s.used ->> @resource::text)::float8, 0))::float8 AS used,
    avg(coalesce((s.waiting ->> @resource::text)::float8, 0))::float8 AS waiting
FROM quota_samples s
WHERE s.node_id = @node_id AND s.at >= @since AND s.at <= @until
GROUP BY 1
ORDER BY 1;

-- name: ListQuotaChanges :many
-- Returns changes of limits, newest first: those of the given nodes, or all of them
-- (everything).
SELECT id, at, actor, object_kind, object_id, object_name, old_value, new_value, reason FROM audit_log
WHERE action = 'quota.update' AND (@everything::boolean OR object_id = ANY (@nodes::text[])) AND at >= @since
ORDER BY id DESC
LIMIT @row_limit;

-- name: DescribeWaiting :many
-- Returns the names of nodes of executions. The two arrays have the same order; index -1 is
-- the execution itself.
SELECT e.id AS execution_id, coalesce(n.node_index, -1)::int AS node_index, e.workflow_name, e.name AS execution_name, coalesce(n.name, '')::text AS node_name
FROM (SELECT unnest(@executions::uuid[]) AS execution_id, unnest(@indexes::int[]) AS node_index) w
JOIN executions e ON e.id = w.execution_id
LEFT JOIN nodes n ON n.execution_id = w.execution_id AND n.node_index = w.node_index;
