-- name: GetTenancyNode :one
SELECT * FROM tenancy_nodes WHERE id = $1;

-- name: TenancyVersion :one
SELECT version FROM tenancy_version;

-- name: PolicyNodes :many
SELECT id, kind, tenant_id, path, name, namespace, (archived_at IS NOT NULL)::boolean AS archived FROM tenancy_nodes;

-- name: PolicyMemberships :many
SELECT DISTINCT m.user_id, m.node_id, m.role FROM memberships m JOIN users u ON u.id = m.user_id WHERE u.disabled_at IS NULL;

-- name: PolicyAdmins :many
SELECT id FROM users WHERE installation_admin AND disabled_at IS NULL;
