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

-- name: LockTenancy :one
-- Is the first statement of every transaction that changes the tree, roles or administrators.
-- It serializes them, so that a check is still valid when its transaction commits.
SELECT version FROM tenancy_version FOR UPDATE;

-- name: LockActiveProjects :many
-- Prevents other transactions from archiving projects until this one ends. Omits archived projects.
SELECT id FROM tenancy_nodes WHERE id = ANY (@ids::uuid[]) AND kind = 'project' AND archived_at IS NULL ORDER BY id FOR SHARE;

-- name: LockActiveProject :one
-- Prevents other transactions from archiving a project until this one ends.
SELECT id FROM tenancy_nodes WHERE id = @id AND kind = 'project' AND archived_at IS NULL FOR SHARE;

-- name: LockTenancyNode :one
SELECT * FROM tenancy_nodes WHERE id = @id FOR NO KEY UPDATE;

-- name: InsertTenancyNode :exec
INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, description, namespace, created_at)
VALUES (@id, @kind, @parent_id, @parent_kind, @tenant_id, @path, @name, @description, @namespace, @created_at);

-- name: UpdateTenancyNode :exec
UPDATE tenancy_nodes SET name = @name, description = @description WHERE id = @id;

-- name: SetTenancyNodeArchived :exec
UPDATE tenancy_nodes SET archived_at = @archived_at WHERE id = @id;

-- name: CountActiveChildren :one
SELECT count(*) FROM tenancy_nodes WHERE parent_id = @id AND archived_at IS NULL;

-- name: CountLiveExecutions :one
SELECT count(*) FROM executions WHERE project_id = @project_id AND status IN ('PENDING', 'RUNNING', 'PAUSED');

-- name: ListTenancyNodes :many
-- Returns all nodes at or below root, with the numbers of users and groups that have a role
-- directly on each.
SELECT sqlc.embed(n),
    (SELECT count(DISTINCT m.user_id) FROM memberships m JOIN users u ON u.id = m.user_id AND u.kind = 'person' WHERE m.node_id = n.id) AS members,
    (SELECT count(DISTINCT (g.provider, g.group_name)) FROM group_roles g WHERE g.node_id = n.id) AS groups
FROM tenancy_nodes n WHERE n.path @> ARRAY[@root::uuid];

-- name: TenancyNodesByID :many
SELECT * FROM tenancy_nodes WHERE id = ANY(@ids::uuid[]);

-- name: ListTenancyNodesOfKind :many
SELECT * FROM tenancy_nodes
WHERE kind = @kind AND id > @after
    AND (@archived::boolean OR archived_at IS NULL)
    AND (sqlc.narg('below')::uuid IS NULL OR path @> ARRAY[sqlc.narg('below')::uuid])
    AND (@pattern::text = '' OR lower(name) LIKE @pattern::text)
ORDER BY id LIMIT @row_limit;

-- name: ListMemberships :many
-- Returns the roles on the nodes of a path: those on the last node and the inherited ones.
SELECT m.id, m.user_id, m.node_id, m.role, m.source, m.created_at,
    u.name AS user_name, u.email, u.kind AS user_kind, u.disabled_at, coalesce(c.name, '') AS created_by_name
FROM memberships m JOIN users u ON u.id = m.user_id LEFT JOIN users c ON c.id = m.created_by
WHERE m.node_id = ANY(@nodes::uuid[])
ORDER BY lower(u.name), u.id, m.created_at, m.id;

-- name: GetMembership :one
SELECT m.*, u.name AS user_name, u.email, u.kind AS user_kind FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.id = @id AND m.node_id = @node_id;

-- name: InsertMembership :execrows
INSERT INTO memberships (id, user_id, node_id, role, source, created_at, created_by)
VALUES (@id, @user_id, @node_id, @role, '', @created_at, sqlc.narg('created_by'))
ON CONFLICT ON CONSTRAINT memberships_key DO NOTHING;

-- name: FindMembership :one
SELECT id FROM memberships WHERE user_id = @user_id AND node_id = @node_id AND role = @role AND source = '';

-- name: DeleteMembership :exec
DELETE FROM memberships WHERE id = @id;

-- name: CountMembersWithRoles :one
-- Counts the active users who have one of the roles directly on the node.
SELECT count(DISTINCT m.user_id) FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.node_id = @node_id AND m.role = ANY(@roles::text[]) AND u.kind = 'person' AND u.disabled_at IS NULL AND m.id <> ALL(@without::uuid[]);

-- name: ListGroupRoles :many
-- Returns the roles of groups; members is the number of users who have the role through the
-- group.
SELECT g.id, g.provider, g.group_name, g.node_id, g.role, g.created_at, coalesce(c.name, '') AS created_by_name,
    (SELECT count(*) FROM memberships m WHERE m.node_id = g.node_id AND m.role = g.role AND m.source = 'group:' || g.provider || '/' || g.group_name) AS members
FROM group_roles g LEFT JOIN users c ON c.id = g.created_by
WHERE g.node_id = ANY(@nodes::uuid[])
ORDER BY g.provider, g.group_name, g.role, g.id;

-- name: GetGroupRole :one
SELECT * FROM group_roles WHERE id = @id AND node_id = @node_id;

-- name: InsertGroupRole :execrows
INSERT INTO group_roles (id, provider, group_name, node_id, role, created_at, created_by)
VALUES (@id, @provider, @group_name, @node_id, @role, @created_at, sqlc.narg('created_by'))
ON CONFLICT ON CONSTRAINT group_roles_key DO NOTHING;

-- name: FindGroupRole :one
SELECT id FROM group_roles WHERE provider = @provider AND group_name = @group_name AND node_id = @node_id AND role = @role;

-- name: DeleteGroupRole :exec
DELETE FROM group_roles WHERE id = @id;

-- name: MembershipsOfGroup :many
SELECT id FROM memberships WHERE node_id = @node_id AND role = @role AND source = @source;

-- name: DeleteMemberships :exec
DELETE FROM memberships WHERE id = ANY(@ids::uuid[]);

-- name: UsersByEmail :many
SELECT id, name, email, issuer, disabled_at FROM users WHERE kind = 'person' AND email <> '' AND lower(email) = lower(@email::text) ORDER BY id LIMIT 5;

-- name: LockUser :one
SELECT * FROM users WHERE id = @id FOR NO KEY UPDATE;

-- name: ListUsers :many
SELECT u.id, u.kind, u.name, u.email, u.issuer, u.installation_admin, u.created_at, u.seen_at, u.disabled_at, u.groups,
    (SELECT count(*) FROM memberships m WHERE m.user_id = u.id) AS roles,
    (SELECT count(*) FROM sessions s WHERE s.user_id = u.id AND s.expires_at > @now) AS sessions
FROM users u
WHERE u.kind = 'person' AND u.id > @after
    AND (@pattern::text = '' OR lower(u.name) LIKE @pattern::text OR lower(u.email) LIKE @pattern::text)
    AND (@status::text = '' OR @status::text = 'disabled' AND u.disabled_at IS NOT NULL
        OR @status::text = 'active' AND u.disabled_at IS NULL OR @status::text = 'admin' AND u.installation_admin)
ORDER BY u.id LIMIT @row_limit;

-- name: RolesOfUser :many
SELECT m.id, m.node_id, m.role, m.source, m.created_at, n.kind, n.name, n.path, (n.archived_at IS NOT NULL)::boolean AS archived
FROM memberships m JOIN tenancy_nodes n ON n.id = m.node_id WHERE m.user_id = @user_id ORDER BY cardinality(n.path), lower(n.name), m.role;

-- name: SetUserDisabled :exec
UPDATE users SET disabled_at = @disabled_at WHERE id = @id;

-- name: CountOtherAdmins :one
-- Counts the administrators who can sign in, except for two users.
SELECT count(*) FROM users WHERE installation_admin AND disabled_at IS NULL AND id NOT IN (@one::uuid, @other::uuid);

-- name: ListServiceAccounts :many
SELECT u.id, u.name, u.project_id, u.created_at, u.disabled_at, coalesce(c.name, '') AS created_by_name,
    coalesce((SELECT m.role FROM memberships m WHERE m.user_id = u.id AND m.node_id = u.project_id AND m.source = '' ORDER BY m.created_at DESC LIMIT 1), '')::text AS role,
    (SELECT count(*) FROM api_keys k WHERE k.user_id = u.id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > @now::timestamptz)) AS keys,
    coalesce((SELECT max(k.last_used_at) FROM api_keys k WHERE k.user_id = u.id), 'epoch')::timestamptz AS last_used_at
FROM users u LEFT JOIN users c ON c.id = u.created_by
WHERE u.kind = 'service' AND u.project_id = @project_id
ORDER BY u.disabled_at IS NOT NULL, lower(u.name), u.id;

-- name: InsertServiceAccount :exec
INSERT INTO users (id, kind, name, project_id, created_at, created_by) VALUES (@id, 'service', @name, @project_id, @created_at, sqlc.narg('created_by'));

-- name: SetMembershipRole :exec
UPDATE memberships SET role = @role WHERE id = @id;
