-- name: GetSecret :one
SELECT * FROM secrets WHERE project_id = @project_id AND name = @name;

-- name: LockSecret :one
SELECT * FROM secrets WHERE project_id = @project_id AND name = @name FOR UPDATE;

-- name: ListSecrets :many
SELECT * FROM secrets WHERE project_id = @project_id ORDER BY name LIMIT @row_limit;

-- name: CountSecrets :one
SELECT count(*) FROM secrets WHERE project_id = @project_id;

-- name: InsertSecret :exec
INSERT INTO secrets (project_id, tenant_id, name, description, key_id, sealed, store, store_path, store_key, store_version,
    created_at, created_by, updated_at, updated_by)
VALUES (@project_id, @tenant_id, @name, @description, @key_id, @sealed, @store, @store_path, @store_key, @store_version, @now, @actor, @now, @actor);

-- name: UpdateSecret :execrows
UPDATE secrets SET description = @description, key_id = @key_id, sealed = @sealed, store = @store, store_path = @store_path,
    store_key = @store_key, store_version = @store_version, updated_at = @now, updated_by = @actor
WHERE project_id = @project_id AND name = @name;

-- name: DeleteSecret :execrows
DELETE FROM secrets WHERE project_id = @project_id AND name = @name;

-- name: ListSecretsOfOtherKeys :many
-- Returns secrets that were encrypted with an earlier key, to encrypt them with the current
-- one.
SELECT * FROM secrets WHERE key_id <> @key_id ORDER BY project_id, name LIMIT @row_limit FOR UPDATE SKIP LOCKED;

-- name: ResealSecret :exec
UPDATE secrets SET key_id = @key_id, sealed = @sealed WHERE project_id = @project_id AND name = @name;

-- name: NoteSecretUse :exec
-- Records the use of a secret, at most once a minute per name and workflow.
INSERT INTO secret_uses AS u (project_id, name, workflow, execution_id, used_at)
SELECT @project_id, unnest(@names::text[]), @workflow, @execution_id, @now
ON CONFLICT (project_id, name, workflow) DO UPDATE SET execution_id = excluded.execution_id, used_at = excluded.used_at
WHERE u.used_at < excluded.used_at - interval '1 minute';

-- name: ListSecretUses :many
SELECT * FROM secret_uses WHERE project_id = @project_id ORDER BY name, used_at DESC LIMIT @row_limit;

-- name: GetProjectNames :one
-- Returns the tenant of a project and its Kubernetes namespace, which is also the folder of
-- its secrets.
SELECT tenant_id, namespace FROM tenancy_nodes WHERE id = @project_id AND kind = 'project';

-- name: AttemptAlive :one
-- Reports whether an attempt has started, has not ended and is not being stopped. Only such an
-- attempt may receive secrets.
SELECT EXISTS (
    SELECT 1 FROM reservations r
    WHERE r.execution_id = @execution_id AND r.node_index = @node_index AND r.attempt = @attempt AND r.stop_sent_at IS NULL
)::bool AS alive;
