-- name: LockLive :one
-- Prevents a live execution from ending before the transaction does. Returns no row if it has
-- ended.
SELECT id, status FROM executions WHERE id = @id AND status IN ('PENDING', 'RUNNING', 'PAUSED') FOR UPDATE;

-- name: InsertCommand :exec
INSERT INTO node_commands (execution_id, node_index, command, data, reason, ordered_by, ordered_at)
VALUES (@execution_id, @node_index, @command, @data, @reason, @ordered_by, @ordered_at);

-- name: CommandsOf :many
SELECT * FROM node_commands WHERE execution_id = @execution_id ORDER BY seq;

-- name: TakeCommands :exec
UPDATE node_commands SET taken = true WHERE execution_id = @execution_id AND seq = ANY (@seqs::bigint[]) AND NOT taken;

-- name: DeleteCommands :exec
DELETE FROM node_commands WHERE execution_id = @execution_id AND seq = ANY (@seqs::bigint[]);

-- name: DeleteCommandsOf :exec
DELETE FROM node_commands WHERE execution_id = @execution_id;

-- name: PendingApprovalsOf :many
-- Returns the nodes of an execution that wait for a user.
SELECT node_index, name, reason, started_at FROM nodes
WHERE execution_id = @execution_id AND state = 'RUNNING' AND reason ->> 'code' = 'APPROVAL'
ORDER BY node_index LIMIT @max_rows;

-- name: CountPendingApprovals :one
-- Counts the nodes of a project that wait for a user, and its open requests for stages of models.
SELECT count_approvals(@project_id)::integer AS requested;

-- name: ListPendingApprovals :many
-- Returns the nodes of a project that wait for a user, oldest first.
SELECT e.id AS execution_id, e.workflow_name, e.name AS execution_name, e.submitted_by_name, n.node_index, n.name, n.reason, n.started_at
FROM executions e
JOIN LATERAL (
    SELECT x.node_index, x.name, x.reason, x.started_at FROM nodes x
    WHERE x.execution_id = e.id AND x.state = 'RUNNING' AND x.reason ->> 'code' = 'APPROVAL'
) n ON true
WHERE e.project_id = @project_id AND e.status IN ('PENDING', 'RUNNING', 'PAUSED') AND e.running > 0
ORDER BY n.started_at, e.id, n.node_index
LIMIT @max_rows;
