-- name: InsertSession :execrows
INSERT INTO sessions (token_hash, id, user_id, project_id, admin, provider, logout_hint, address, user_agent, created_at, seen_at, expires_at)
SELECT @token_hash, @id, u.id, @project_id, u.installation_admin, @provider, @logout_hint, @address, @user_agent, @now, @now, @expires_at
FROM users u WHERE u.id = @user_id AND u.disabled_at IS NULL;

-- Returns the session of a token with its user. A session is invalid if it has ended, was idle
-- for too long or is too old, if its user is disabled, or if the user's administrator status
-- has changed.
-- name: FindSession :one
SELECT s.id, s.user_id, s.project_id, s.seen_at, u.name, u.installation_admin
FROM sessions s JOIN users u ON u.id = s.user_id
WHERE s.token_hash = @token_hash AND s.expires_at > @now AND s.seen_at > @idle_since
  AND u.disabled_at IS NULL AND u.installation_admin = s.admin;

-- name: TouchSession :exec
UPDATE sessions SET seen_at = @now, address = @address WHERE token_hash = @token_hash AND seen_at < @now;

-- name: SetSessionProject :exec
UPDATE sessions SET project_id = @project_id WHERE id = @id;

-- name: EndSession :many
DELETE FROM sessions WHERE id = @id AND user_id = @user_id RETURNING id, provider, logout_hint;

-- name: EndSessionOfToken :many
DELETE FROM sessions WHERE token_hash = @token_hash RETURNING id, user_id, provider, logout_hint;

-- name: EndSessionsOfUser :execrows
DELETE FROM sessions WHERE user_id = @user_id;

-- name: DeleteExpiredSessions :execrows
DELETE FROM sessions WHERE expires_at <= @now OR seen_at <= @idle_since;

-- name: ListSessions :many
SELECT s.id, s.provider, s.address, s.user_agent, s.created_at, s.seen_at, s.expires_at
FROM sessions s JOIN users u ON u.id = s.user_id
WHERE s.user_id = @user_id AND s.expires_at > @now AND s.seen_at > @idle_since AND u.installation_admin = s.admin
ORDER BY s.seen_at DESC, s.id;

-- name: GetUser :one
SELECT * FROM users WHERE id = @id;

-- name: FindUserByIdentity :one
SELECT * FROM users WHERE issuer = @issuer AND subject = @subject;

-- name: LockUserByIdentity :one
SELECT * FROM users WHERE issuer = @issuer AND subject = @subject FOR UPDATE;

-- name: InsertIdentity :execrows
INSERT INTO users (id, kind, issuer, subject, name, email, groups, installation_admin, created_at, seen_at)
VALUES (@id, 'person', @issuer, @subject, @name, @email, @groups, @installation_admin, @now, @now)
ON CONFLICT (issuer, subject) DO NOTHING;

-- name: UpdateIdentity :exec
UPDATE users SET name = @name, email = @email, groups = @groups, seen_at = @now WHERE id = @id;

-- name: SetInstallationAdmin :exec
UPDATE users SET installation_admin = @installation_admin WHERE id = @id;

-- Returns the roles that groups of a provider have on nodes that are not archived.
-- name: ListRolesOfGroups :many
SELECT g.group_name, g.node_id, g.role, n.name AS node_name, n.kind AS node_kind, n.tenant_id
FROM group_roles g JOIN tenancy_nodes n ON n.id = g.node_id
WHERE g.provider = @provider AND g.group_name = ANY(@groups::text[]) AND n.archived_at IS NULL
ORDER BY g.group_name, g.node_id, g.role;

-- name: ListGroupMemberships :many
SELECT m.id, m.node_id, m.role, m.source, n.name AS node_name, n.kind AS node_kind, n.tenant_id
FROM memberships m JOIN tenancy_nodes n ON n.id = m.node_id
WHERE m.user_id = @user_id AND m.source LIKE 'group:%'
ORDER BY m.source, m.node_id, m.role;

-- name: InsertGroupMembership :exec
INSERT INTO memberships (id, user_id, node_id, role, source) VALUES (@id, @user_id, @node_id, @role, @source) ON CONFLICT DO NOTHING;

-- name: DeleteGroupMemberships :exec
DELETE FROM memberships WHERE id = ANY(@ids::uuid[]);

-- name: ListMembershipsOfUser :many
SELECT m.node_id, m.role, m.source, n.kind, n.name,
    ARRAY(SELECT a.name FROM tenancy_nodes a WHERE a.id = ANY(n.path) AND a.kind <> 'installation' ORDER BY cardinality(a.path))::text[] AS path_names
FROM memberships m JOIN tenancy_nodes n ON n.id = m.node_id
WHERE m.user_id = @user_id AND n.archived_at IS NULL
ORDER BY cardinality(n.path), n.name, m.role;

-- name: InsertAPIKey :exec
INSERT INTO api_keys (id, user_id, project_id, name, secret_hmac, scopes, created_at, created_by, expires_at)
VALUES (@id, @user_id, @project_id, @name, @secret_hmac, @scopes, @created_at, @created_by, @expires_at);

-- name: FindAPIKey :one
SELECT k.*, u.name AS user_name, u.kind AS user_kind, u.installation_admin, u.project_id AS home_id
FROM api_keys k JOIN users u ON u.id = k.user_id
WHERE k.id = @id AND k.revoked_at IS NULL AND u.disabled_at IS NULL;

-- name: TouchAPIKey :exec
UPDATE api_keys SET last_used_at = @now, last_used_address = @address WHERE id = @id AND (last_used_at IS NULL OR last_used_at < @now);

-- name: RevokeAPIKey :execrows
UPDATE api_keys SET revoked_at = @now WHERE id = @id AND revoked_at IS NULL;

-- Returns the active keys of a user and of service accounts, newest first.
-- name: ListAPIKeys :many
SELECT k.id, k.user_id, k.project_id, k.name, k.scopes, k.created_at, k.expires_at, k.last_used_at, k.last_used_address,
    u.name AS user_name, u.kind AS user_kind, coalesce(p.name, '') AS project_name
FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN tenancy_nodes p ON p.id = k.project_id
WHERE (k.user_id = @user_id OR (u.kind = 'service' AND u.project_id = ANY(@projects::uuid[]))) AND k.revoked_at IS NULL
ORDER BY k.created_at DESC, k.id;

-- name: ListServiceAccountsIn :many
SELECT u.id, u.name, u.project_id, n.name AS project_name FROM users u JOIN tenancy_nodes n ON n.id = u.project_id
WHERE u.kind = 'service' AND u.disabled_at IS NULL AND u.project_id = ANY(@projects::uuid[])
ORDER BY n.name, u.name;
