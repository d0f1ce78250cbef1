-- name: OrderNode :execrows
-- Adds to earlier orders for a node. Affects no row if the execution has ended.
WITH live AS (
    SELECT e.id FROM executions e WHERE e.id = @execution_id AND e.status IN ('PENDING', 'RUNNING', 'PAUSED') FOR UPDATE
)
INSERT INTO node_orders AS o (execution_id, node_index, cancel, priority, cpu_millis, memory_mib, gpus, reason, ordered_by, ordered_at)
SELECT live.id, @node_index::integer, @cancel::boolean, sqlc.narg('priority')::integer, sqlc.narg('cpu_millis')::integer,
    sqlc.narg('memory_mib')::integer, sqlc.narg('gpus')::integer, @reason::text, @ordered_by::text, @ordered_at::timestamptz
FROM live
ON CONFLICT ON CONSTRAINT node_orders_pkey DO UPDATE SET
    seq = DEFAULT, taken = false, cancel = o.cancel OR EXCLUDED.cancel,
    priority = coalesce(EXCLUDED.priority, o.priority), cpu_millis = coalesce(EXCLUDED.cpu_millis, o.cpu_millis),
    memory_mib = coalesce(EXCLUDED.memory_mib, o.memory_mib), gpus = coalesce(EXCLUDED.gpus, o.gpus),
    reason = EXCLUDED.reason, ordered_by = EXCLUDED.ordered_by, ordered_at = EXCLUDED.ordered_at;

-- name: OrdersOf :many
SELECT * FROM node_orders WHERE execution_id = @execution_id ORDER BY node_index;

-- name: TakeOrders :exec
UPDATE node_orders SET taken = true WHERE execution_id = @execution_id AND seq = ANY (@seqs::bigint[]) AND NOT taken;

-- name: DeleteOrdersOf :exec
DELETE FROM node_orders WHERE execution_id = @execution_id;

-- name: QueueCounts :many
-- Counts the waiting and running nodes of a tenant by project and priority. A node's own
-- priority overrides that of its execution.
WITH counted AS (
    SELECT e.project_id, e.priority, e.ready, e.queued + e.running AS active
    FROM executions e
    WHERE e.tenant_id = @tenant_id AND e.status IN ('PENDING', 'RUNNING')
    UNION ALL
    SELECT e.project_id, moved.priority, moved.ready, 0
    FROM node_orders o
    JOIN executions e ON e.id = o.execution_id
    JOIN nodes n ON n.execution_id = o.execution_id AND n.node_index = o.node_index
    CROSS JOIN LATERAL (VALUES (e.priority, -1), (o.priority, 1)) AS moved(priority, ready)
    WHERE e.tenant_id = @tenant_id AND e.status IN ('PENDING', 'RUNNING') AND n.state = 'READY' AND o.priority IS NOT NULL
)
SELECT project_id, priority::integer AS priority, sum(ready)::integer AS waiting, sum(active)::integer AS active
FROM counted
GROUP BY project_id, priority;

-- name: CountWaiting :one
-- Counts the nodes of a project that wait for capacity, and the executions that wait to start.
SELECT count_waiting(@project_id)::integer AS waiting;

-- name: ListEventsOfNode :many
SELECT e.seq, e.at, e.kind, e.node_index, e.attempt, e.message, e.data FROM events e
WHERE e.execution_id = @execution_id AND e.node_index = @node_index
ORDER BY e.seq DESC
LIMIT @max_rows;
