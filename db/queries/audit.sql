-- name: InsertAuditEntries :exec
INSERT INTO audit_log (id, at, tenant_id, project_id, actor_id, actor_kind, actor, credential, address, request_id,
    action, object_kind, object_id, object_name, old_value, new_value, reason)
SELECT e.id, e.at, e.tenant_id, e.project_id, e.actor_id, e.actor_kind, e.actor, e.credential, e.address, e.request_id,
    e.action, e.object_kind, e.object_id, e.object_name, e.old_value, e.new_value, e.reason
FROM jsonb_to_recordset(@entries::jsonb) AS e(
    id uuid, at timestamptz, tenant_id uuid, project_id uuid, actor_id uuid, actor_kind text, actor text, credential text, address text, request_id text,
    action text, object_kind text, object_id text, object_name text, old_value jsonb, new_value jsonb, reason text);

-- name: ListAuditEntries :many
-- Returns the newest entries first. A reader sees entries of tenants, and of single nodes for
-- which the reader has the permission to read the log. Administrators see all entries
-- (everything).
SELECT * FROM audit_log
WHERE id < @before AND id >= @since AND id < @until
    AND (@everything::boolean OR tenant_id = ANY(@tenants::uuid[]) OR project_id = ANY(@nodes::uuid[])
        OR (object_kind IN ('department', 'team', 'project') AND object_id = ANY(@node_texts::text[])))
    AND (sqlc.narg('tenant')::uuid IS NULL OR tenant_id = sqlc.narg('tenant')::uuid)
    AND (sqlc.narg('project')::uuid IS NULL OR project_id = sqlc.narg('project')::uuid)
    AND (sqlc.narg('actor_id')::uuid IS NULL OR actor_id = sqlc.narg('actor_id')::uuid)
    AND (@actor::text = '' OR lower(actor) LIKE @actor::text)
    AND (@action::text = '' OR action = @action::text OR starts_with(action, @action::text || '.'))
    AND (@object_kind::text = '' OR object_kind = @object_kind::text)
    AND (@object::text = '' OR object_id = @object::text OR lower(object_name) LIKE @object_like::text)
ORDER BY id DESC
LIMIT @row_limit;

-- name: AuditActions :many
-- Returns the distinct actions of the newest entries, as options of a filter.
SELECT DISTINCT action FROM (SELECT action FROM audit_log ORDER BY id DESC LIMIT 5000) AS newest ORDER BY action;

-- name: AuditPlaces :many
-- Returns tenants first, then the nodes below them.
SELECT id, kind, name, tenant_id FROM tenancy_nodes WHERE kind <> 'installation' ORDER BY cardinality(path), lower(name), id;
