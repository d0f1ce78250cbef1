-- People and service accounts with their permissions and credentials. (issuer, subject) of a
-- sign-in provider identifies a person; the local administrator has neither. The permissions of
-- a user are the sum of the memberships: a role on a node of the tenancy tree, valid for
-- everything below it. A membership from a group of the provider has the group in source, and is
-- removed when the provider no longer reports it. group_roles maps groups to roles.
-- +goose Up
ALTER TABLE users
    DROP CONSTRAINT users_name_key, DROP CONSTRAINT users_role_check,
    DROP COLUMN role, DROP COLUMN tenant_id,
    ADD COLUMN kind text NOT NULL DEFAULT 'person',
    ADD COLUMN issuer text,
    ADD COLUMN subject text,
    ADD COLUMN email text NOT NULL DEFAULT '',
    ADD COLUMN groups text[] NOT NULL DEFAULT '{}',
    ADD COLUMN installation_admin boolean NOT NULL DEFAULT false,
    ADD COLUMN project_id uuid REFERENCES tenancy_nodes,
    ADD COLUMN created_by uuid,
    ADD COLUMN seen_at timestamptz,
    ADD COLUMN disabled_at timestamptz,
    ADD CONSTRAINT users_kind_check CHECK (kind IN ('person', 'service')),
    ADD CONSTRAINT users_identity_key UNIQUE (issuer, subject),
    ADD CONSTRAINT users_identity_check CHECK ((issuer IS NULL) = (subject IS NULL)),
    ADD CONSTRAINT users_service_check CHECK ((kind = 'service') = (project_id IS NOT NULL)
        AND (kind = 'person' OR issuer IS NULL) AND (kind = 'person' OR NOT installation_admin));
CREATE UNIQUE INDEX users_service_key ON users (project_id, lower(name)) WHERE kind = 'service' AND disabled_at IS NULL;
CREATE INDEX users_email_idx ON users (lower(email)) WHERE email <> '';
UPDATE users SET installation_admin = true WHERE id = '01900000-0000-7000-8000-000000000004';

CREATE TABLE memberships (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    node_id    uuid NOT NULL REFERENCES tenancy_nodes,
    role       text NOT NULL,
    source     text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid,
    CONSTRAINT memberships_key UNIQUE (user_id, node_id, role, source),
    CONSTRAINT memberships_role_check CHECK (role <> '')
);
CREATE INDEX memberships_node_idx ON memberships (node_id);

-- All members of a group of a provider have a role on a node. Applied at every sign-in.
CREATE TABLE group_roles (
    id         uuid PRIMARY KEY,
    provider   text NOT NULL,
    group_name text NOT NULL,
    node_id    uuid NOT NULL REFERENCES tenancy_nodes,
    role       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid,
    CONSTRAINT group_roles_key UNIQUE (provider, group_name, node_id, role),
    CONSTRAINT group_roles_group_check CHECK (group_name <> '' AND role <> '')
);

-- One row whose number increases with every change of the tree, memberships, roles or quotas.
-- In-memory copies compare it.
CREATE TABLE tenancy_version (
    singleton boolean PRIMARY KEY DEFAULT true,
    version bigint NOT NULL DEFAULT 1,
    CONSTRAINT tenancy_version_singleton_check CHECK (singleton)
);
INSERT INTO tenancy_version DEFAULT VALUES;
-- +goose StatementBegin
CREATE FUNCTION bump_tenancy_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tenancy_version SET version = version + 1;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tenancy_nodes_version AFTER INSERT OR UPDATE OR DELETE ON tenancy_nodes FOR EACH STATEMENT EXECUTE FUNCTION bump_tenancy_version();
CREATE TRIGGER memberships_version AFTER INSERT OR UPDATE OR DELETE ON memberships FOR EACH STATEMENT EXECUTE FUNCTION bump_tenancy_version();
CREATE TRIGGER users_version AFTER INSERT OR DELETE OR UPDATE OF installation_admin, disabled_at, project_id ON users FOR EACH STATEMENT EXECUTE FUNCTION bump_tenancy_version();

-- Sessions of browsers: the cookie holds a random token, the table its SHA-256.
-- Deleting the row ends the session at its next request. admin is whether the
-- user was an administrator of the installation when the session started: if that changes, the
-- session ends and the user needs a new one. logout_hint is the encrypted ID token, which the
-- provider requires at sign-out.
CREATE TABLE sessions (
    token_hash bytea PRIMARY KEY,
    id         uuid NOT NULL CONSTRAINT sessions_id_key UNIQUE,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    project_id uuid REFERENCES tenancy_nodes,
    admin      boolean NOT NULL,
    provider   text NOT NULL DEFAULT '',
    logout_hint text NOT NULL DEFAULT '',
    address    text NOT NULL DEFAULT '',
    user_agent text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT sessions_token_check CHECK (length(token_hash) = 32)
);
CREATE INDEX sessions_user_idx ON sessions (user_id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

-- API keys of programs: ffk_<id>_<secret>. Only the HMAC of the secret is stored. Without a
-- scope, a key has all permissions of its owner; project_id restricts it to one project.
CREATE TABLE api_keys (
    id                text PRIMARY KEY,
    user_id           uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    project_id        uuid REFERENCES tenancy_nodes,
    name              text NOT NULL,
    secret_hmac       bytea NOT NULL,
    scopes            text[] NOT NULL DEFAULT '{}',
    created_at        timestamptz NOT NULL,
    created_by        uuid NOT NULL,
    expires_at        timestamptz,
    last_used_at      timestamptz,
    last_used_address text NOT NULL DEFAULT '',
    revoked_at        timestamptz,
    CONSTRAINT api_keys_id_check CHECK (id ~ '^[a-z0-9]{12}$'),
    CONSTRAINT api_keys_hmac_check CHECK (length(secret_hmac) = 32),
    CONSTRAINT api_keys_name_check CHECK (name <> '')
);
CREATE INDEX api_keys_user_idx ON api_keys (user_id);

-- +goose Down
DROP TABLE api_keys, sessions, tenancy_version, group_roles, memberships;
DROP FUNCTION bump_tenancy_version() CASCADE;
DELETE FROM users WHERE kind <> 'person' OR issuer IS NOT NULL;
ALTER TABLE users DROP COLUMN kind, DROP COLUMN issuer, DROP COLUMN subject, DROP COLUMN email, DROP COLUMN groups,
    DROP COLUMN installation_admin, DROP COLUMN project_id, DROP COLUMN created_by, DROP COLUMN seen_at, DROP COLUMN disabled_at,
    ADD COLUMN tenant_id uuid NOT NULL DEFAULT '01900000-0000-7000-8000-000000000001',
    ADD COLUMN role text NOT NULL DEFAULT 'admin' CHECK (role IN ('admin', 'member')),
    ADD CONSTRAINT users_name_key UNIQUE (tenant_id, name);
