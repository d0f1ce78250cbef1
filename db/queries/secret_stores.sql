-- name: ListSecretStores :many
SELECT * FROM secret_stores ORDER BY name LIMIT @row_limit;

-- name: GetSecretStore :one
SELECT * FROM secret_stores WHERE name = @name;

-- name: LockSecretStore :one
SELECT * FROM secret_stores WHERE name = @name FOR UPDATE;

-- name: CountSecretStores :one
SELECT count(*) FROM secret_stores;

-- name: InsertSecretStore :exec
INSERT INTO secret_stores (name, kind, description, settings, secret_fields, key_id, sealed, created_at, created_by, updated_at, updated_by)
VALUES (@name, @kind, @description, @settings, @secret_fields, @key_id, @sealed, @now, @actor, @now, @actor);

-- name: UpdateSecretStore :exec
UPDATE secret_stores SET description = @description, settings = @settings, secret_fields = @secret_fields, key_id = @key_id, sealed = @sealed,
    updated_at = @now, updated_by = @actor
WHERE name = @name;

-- name: DeleteSecretStore :exec
DELETE FROM secret_stores WHERE name = @name;

-- name: ListSecretStoreUses :many
-- Returns the secrets that refer to stores, with their projects.
SELECT s.store::text AS store, s.name, s.store_path::text AS path, n.name AS project, n.namespace::text AS namespace
FROM secrets s JOIN tenancy_nodes n ON n.id = s.project_id
WHERE s.store IS NOT NULL AND (@store::text = '' OR s.store = @store::text)
ORDER BY s.store, n.namespace, s.name LIMIT @row_limit;

-- name: ListSecretStoresOfOtherKeys :many
SELECT * FROM secret_stores WHERE key_id <> @key_id ORDER BY name LIMIT @row_limit FOR UPDATE SKIP LOCKED;

-- name: ResealSecretStore :exec
UPDATE secret_stores SET key_id = @key_id, sealed = @sealed WHERE name = @name;

-- name: KnownNamespaces :many
-- Returns those of the names that are namespaces of projects.
SELECT namespace::text FROM tenancy_nodes WHERE namespace = ANY(@names::text[]);
