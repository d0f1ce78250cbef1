-- name: CountLiveWork :many
-- Returns the number of live executions and the states of their nodes, by tenant.
SELECT t.name AS tenant, e.status, count(*) AS executions, sum(e.pending)::bigint AS pending, sum(e.ready)::bigint AS ready,
    sum(e.queued)::bigint AS queued, sum(e.running - e.awaiting_approval)::bigint AS running, sum(e.awaiting_approval)::bigint AS awaiting_approval, sum(e.retrying)::bigint AS retrying
FROM executions e JOIN tenancy_nodes t ON t.id = e.tenant_id
WHERE e.status IN ('PENDING', 'RUNNING', 'PAUSED')
GROUP BY t.name, e.status
ORDER BY count(*) DESC, t.name, e.status;

-- name: AttemptSpans :many
-- Returns the ended attempts of an execution in the order of their start.
SELECT a.node_index, n.name, a.attempt, a.queued_at, a.started_at, a.finished_at, coalesce(a.outcome, '')::text AS outcome, a.message,
    a.class, a.namespace, a.pod, a.machine, a.host
FROM attempts a JOIN nodes n ON n.execution_id = a.execution_id AND n.node_index = a.node_index
WHERE a.execution_id = @execution_id AND a.finished_at IS NOT NULL
ORDER BY a.queued_at, a.node_index
LIMIT @row_limit;

-- name: TenantName :one
SELECT name FROM tenancy_nodes WHERE id = @id;
