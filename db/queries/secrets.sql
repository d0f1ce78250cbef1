-- name: GetSecret :one
SELECT * FROM secrets WHERE project_id = @project_id AND name = @name;

-- name: LockSecret :one
SELECT * FROM secrets WHERE project_id = @project_id AND name = @name FOR UPDATE;

-- name: ListSecrets :many
SELECT * FROM secrets WHERE project_id = @project_id ORDER BY name LIMIT @row_limit;

-- name: CountSecrets :one
SELECT count(*) FROM secrets WHERE project_id = @project_id;

-- name: InsertSecret :exec
INSERT INTO secrets (project_id, tenant_id, name, description, key_id, sealed, created_at, created_by, updated_at, updated_by)
VALUES (@project_id, @tenant_id, @name, @description, @key_id, @sealed, @now, @actor, @now, @actor);

-- name: UpdateSecret :execrows
UPDATE secrets SET description = @description, key_id = @key_id, sealed = @sealed, updated_at = @now, updated_by = @actor
WHERE project_id = @project_id AND name = @name;

-- name: DeleteSecret :execrows
DELETE FROM secrets WHERE project_id = @project_id AND name = @name;

-- name: ListSecretsOfOtherKeys :many
-- Rows that are sealed with another key than the present one, for sealing anew.
SELECT * FROM secrets WHERE key_id <> @key_id ORDER BY project_id, name LIMIT @row_limit FOR UPDATE SKIP LOCKED;

-- name: ResealSecret :exec
UPDATE secrets SET key_id = @key_id, sealed = @sealed WHERE project_id = @project_id AND name = @name;

-- name: NoteSecretUse :exec
-- Written at most once a minute for a name and a workflow.
INSERT INTO secret_uses AS u (project_id, name, workflow, execution_id, used_at)
SELECT @project_id, unnest(@names::text[]), @workflow, @execution_id, @now
ON CONFLICT (project_id, name, workflow) DO UPDATE SET execution_id = excluded.execution_id, used_at = excluded.used_at
WHERE u.used_at < excluded.used_at - interval '1 minute';

-- name: ListSecretUses :many
SELECT * FROM secret_uses WHERE project_id = @project_id ORDER BY name, used_at DESC LIMIT @row_limit;

-- name: GetProjectNames :one
-- Where a project stands: its tenant, and the Kubernetes namespace that is also
-- the folder of its secrets.
SELECT tenant_id, namespace FROM tenancy_nodes WHERE id = @project_id AND kind = 'project';

-- name: AttemptAlive :one
-- Whether an attempt was started, has not ended and is not asked to stop: the
-- only one that may be given anything.
SELECT EXISTS (
    SELECT 1 FROM reservations r
    WHERE r.execution_id = @execution_id AND r.node_index = @node_index AND r.attempt = @attempt AND r.stop_sent_at IS NULL
)::bool AS alive;
