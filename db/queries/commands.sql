-- name: LockLive :one
-- Keeps a live execution from ending until the transaction does; no row when it has ended.
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
