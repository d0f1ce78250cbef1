-- name: GetConnection :one
SELECT * FROM connections WHERE project_id = @project_id AND name = @name;

-- name: LockConnection :one
SELECT * FROM connections WHERE project_id = @project_id AND name = @name FOR UPDATE;

-- name: ListConnections :many
SELECT * FROM connections WHERE project_id = @project_id ORDER BY name LIMIT @row_limit;

-- name: CountConnections :one
SELECT count(*) FROM connections WHERE project_id = @project_id;

-- name: InsertConnection :exec
INSERT INTO connections (project_id, tenant_id, name, kind, description, declared, settings, secret_fields, key_id, sealed, created_at, created_by, updated_at, updated_by)
VALUES (@project_id, @tenant_id, @name, @kind, @description, @declared, @settings, @secret_fields, @key_id, @sealed, @now, @actor, @now, @actor);

-- name: UpdateConnection :exec
UPDATE connections SET description = @description, declared = @declared, settings = @settings, secret_fields = @secret_fields,
    key_id = @key_id, sealed = @sealed, updated_at = @now, updated_by = @actor
WHERE project_id = @project_id AND name = @name;

-- name: DeleteConnection :exec
DELETE FROM connections WHERE project_id = @project_id AND name = @name;

-- name: ListConnectionsOfOtherKeys :many
-- Returns connections whose secret fields were encrypted with an earlier key.
SELECT * FROM connections WHERE key_id <> @key_id ORDER BY project_id, name LIMIT @row_limit FOR UPDATE SKIP LOCKED;

-- name: ResealConnection :exec
UPDATE connections SET key_id = @key_id, sealed = @sealed WHERE project_id = @project_id AND name = @name;

-- name: NoteConnectionUse :execrows
-- Records the latest execution of a workflow that received a connection. No row changes when it is
-- already the latest.
INSERT INTO connection_uses AS u (project_id, name, workflow, execution_id, used_at)
VALUES (@project_id, @name, @workflow, @execution_id, @now)
ON CONFLICT (project_id, name, workflow) DO UPDATE SET execution_id = excluded.execution_id, used_at = excluded.used_at
WHERE u.execution_id <> excluded.execution_id;

-- name: ListConnectionUses :many
SELECT * FROM connection_uses WHERE project_id = @project_id ORDER BY name, used_at DESC LIMIT @row_limit;
