-- name: CountLiveWork :many
-- The executions that have not ended, and the states of their nodes, by tenant.
SELECT t.name AS tenant, e.status, count(*) AS executions, sum(e.pending)::bigint AS pending, sum(e.ready)::bigint AS ready,
    sum(e.queued)::bigint AS queued, sum(e.running)::bigint AS running, sum(e.retrying)::bigint AS retrying
FROM executions e JOIN tenancy_nodes t ON t.id = e.tenant_id
WHERE e.status IN ('PENDING', 'RUNNING')
GROUP BY t.name, e.status
ORDER BY count(*) DESC, t.name, e.status;

-- name: TenantName :one
SELECT name FROM tenancy_nodes WHERE id = @id;
