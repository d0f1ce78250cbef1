-- name: QuotaTree :many
-- Returns the tenancy tree with its limits, parents before children. Archived nodes are
-- included while work runs there.
SELECT n.id, n.parent_id, n.kind, n.name, n.path, q.limits, q.borrow, q.lend, q.defaults, coalesce(q.weight, 1)::float8 AS weight
FROM tenancy_nodes n
LEFT JOIN quotas q ON q.node_id = n.id
JOIN quota_usage u ON u.node_id = n.id
WHERE n.archived_at IS NULL OR u.used <> '{}'
ORDER BY cardinality(n.path), n.id;

-- name: QuotaRevision :one
-- Returns the revision of the limits and of the tree; see LockQuotaPath.
SELECT revision FROM quota_usage WHERE depth = 1;

-- name: QuotaUse :many
SELECT node_id, used, storage_bytes, history, history_at FROM quota_usage;

-- name: StoredBytes :many
SELECT u.node_id, u.storage_bytes, n.kind FROM quota_usage u
JOIN tenancy_nodes n ON n.id = u.node_id
WHERE u.storage_bytes > 0;

-- name: QuotaUseBelow :many
-- Returns the usage of all nodes at or below the given ones.
SELECT u.node_id, u.used FROM quota_usage u
JOIN tenancy_nodes n ON n.id = u.node_id
WHERE n.path && @nodes::uuid[] AND u.used <> '{}';

-- name: LockQuotaPath :many
-- Locks the counters of a path from the root down. Every transaction locks the root first, so
-- values read under the lock are valid until the transaction ends.
SELECT node_id, used, storage_bytes, revision FROM quota_usage
WHERE node_id = ANY (@nodes::uuid[])
ORDER BY depth, node_id
FOR UPDATE;

-- name: WriteQuotaUse :exec
-- Writes counters that LockQuotaPath has locked.
UPDATE quota_usage u SET used = w.used, storage_bytes = w.storage_bytes
FROM jsonb_to_recordset(@rows::jsonb) AS w(node_id uuid, used jsonb, storage_bytes bigint)
WHERE u.node_id = w.node_id;

-- name: WriteQuotaHistory :exec
UPDATE quota_usage u SET history = w.history, history_at = @at::timestamptz
FROM jsonb_to_recordset(@rows::jsonb) AS w(node_id uuid, history jsonb)
WHERE u.node_id = w.node_id;

-- name: SumReservations :many
-- Returns the amounts of live reservations by project and GPU type.
SELECT project_id, gpu_type, sum(cpu_millis)::bigint AS cpu, sum(memory_mib)::bigint AS memory, sum(gpus)::bigint AS gpus,
    sum(pods)::bigint AS pods, sum(executions)::bigint AS executions
FROM reservations GROUP BY project_id, gpu_type;

-- name: InsertQuotaSamples :exec
INSERT INTO quota_samples (node_id, at, used, waiting)
SELECT w.node_id, @at::timestamptz, w.used, w.waiting
FROM jsonb_to_recordset(@rows::jsonb) AS w(node_id uuid, used jsonb, waiting jsonb)
ON CONFLICT ON CONSTRAINT quota_samples_pkey DO NOTHING;

-- name: ThinQuotaSamples :execrows
-- Reduces old samples to one per ten minutes, and deletes the oldest ones.
DELETE FROM quota_samples
WHERE at < @oldest::timestamptz
    OR (at < @thin_before::timestamptz AND at >= @thin_from::timestamptz AND extract(minute FROM at)::int % 10 <> 0);

-- name: ClusterProjects :many
-- Returns the projects with their namespaces in a cluster, including archived ones.
SELECT id, tenant_id, name, namespace, (archived_at IS NOT NULL)::bool AS archived
FROM tenancy_nodes WHERE kind = 'project' ORDER BY id;
