-- name: SaveCheckpointFolder :execrows
INSERT INTO checkpoint_folders (execution_id, node_index, attempt, sha256, size, saved_at)
SELECT a.execution_id, a.node_index, a.attempt, @sha256::bytea, @size::bigint, @saved_at::timestamptz
FROM attempts a
WHERE a.execution_id = @execution_id AND a.node_index = @node_index AND a.attempt = @attempt AND a.finished_at IS NULL
ON CONFLICT ON CONSTRAINT checkpoint_folders_pkey
DO UPDATE SET attempt = excluded.attempt, sha256 = excluded.sha256, size = excluded.size, saved_at = excluded.saved_at
WHERE checkpoint_folders.attempt <= excluded.attempt;

-- name: GetCheckpointFolder :one
SELECT sha256, size, saved_at FROM checkpoint_folders WHERE execution_id = @execution_id AND node_index = @node_index;

-- name: RegisterGangMember :exec
-- Stores the state of a rank. A rank that has failed or succeeded does not change.
INSERT INTO gang_members (execution_id, node_index, attempt, rank, address, state, message, exit_code, class, changed_at)
VALUES (@execution_id, @node_index, @attempt, @rank, @address, @state, @message, @exit_code, @class, @changed_at)
ON CONFLICT ON CONSTRAINT gang_members_pkey
DO UPDATE SET address = excluded.address, state = excluded.state, message = excluded.message,
    exit_code = excluded.exit_code, class = excluded.class, changed_at = excluded.changed_at
WHERE gang_members.state = 1 AND (excluded.state <> 1 OR gang_members.address <> excluded.address);

-- name: GangMembers :many
SELECT rank, address, state, message, exit_code, class FROM gang_members
WHERE execution_id = @execution_id AND node_index = @node_index AND attempt = @attempt
ORDER BY rank;

-- name: ForgetGangs :execrows
DELETE FROM gang_members WHERE changed_at < @before::timestamptz;

-- name: QueueResidentWork :exec
INSERT INTO resident_work (task_id, pool, tenant_id, project_id, spec, queued_at)
VALUES (@task_id, @pool, @tenant_id, @project_id, @spec, @queued_at)
ON CONFLICT ON CONSTRAINT resident_work_pkey DO NOTHING;

-- name: ResidentWorkOf :one
-- Returns the work that a worker has taken and not ended.
SELECT task_id, tenant_id, project_id, spec FROM resident_work WHERE worker = @worker AND pool = @pool;

-- name: TakeResidentWork :one
UPDATE resident_work SET worker = @worker, taken_at = @taken_at::timestamptz
WHERE task_id = (
    SELECT w.task_id FROM resident_work w
    WHERE w.pool = @pool AND w.worker = ''
    ORDER BY w.queued_at, w.task_id
    LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING task_id, tenant_id, project_id, spec;

-- name: EndResidentWork :execrows
DELETE FROM resident_work WHERE task_id = @task_id AND worker = @worker;

-- name: WithdrawResidentWork :many
-- Deletes work that no worker has taken.
DELETE FROM resident_work WHERE task_id = ANY (@task_ids::text[]) AND worker = '' RETURNING task_id;

-- name: RemoveResidentWork :exec
DELETE FROM resident_work WHERE task_id = ANY (@task_ids::text[]);

-- name: ListResidentWork :many
SELECT task_id, pool, project_id, worker FROM resident_work;

-- name: ResidentPools :many
-- Returns the pools with work, each with a spec from which its pods are created.
SELECT DISTINCT ON (w.pool) w.pool, w.tenant_id, w.project_id, w.spec,
    count(*) FILTER (WHERE w.worker = '') OVER (PARTITION BY w.pool) AS queued,
    count(*) FILTER (WHERE w.worker <> '') OVER (PARTITION BY w.pool) AS taken
FROM resident_work w
ORDER BY w.pool, w.queued_at;
