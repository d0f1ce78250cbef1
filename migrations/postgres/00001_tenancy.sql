-- The part of the tenancy tree that one machine needs: a tenant, its teams, their projects, and
-- the people. Sign-in adds departments and memberships.
-- +goose Up
CREATE TABLE tenants (
    id         uuid PRIMARY KEY,
    name       text NOT NULL CONSTRAINT tenants_name_key UNIQUE CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE teams (
    id         uuid PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants,
    name       text NOT NULL CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT teams_name_key UNIQUE (tenant_id, name)
);
CREATE TABLE projects (
    id         uuid PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants,
    team_id    uuid NOT NULL REFERENCES teams,
    name       text NOT NULL CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT projects_name_key UNIQUE (tenant_id, name)
);
CREATE TABLE users (
    id         uuid PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants,
    name       text NOT NULL CHECK (name <> ''),
    role       text NOT NULL CHECK (role IN ('admin', 'member')),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT users_name_key UNIQUE (tenant_id, name)
);
-- The tenant, team, project and user of local mode; the IDs are constants of package auth.
INSERT INTO tenants (id, name) VALUES ('01900000-0000-7000-8000-000000000001', 'local');
INSERT INTO teams (id, tenant_id, name) VALUES ('01900000-0000-7000-8000-000000000002', '01900000-0000-7000-8000-000000000001', 'local');
INSERT INTO projects (id, tenant_id, team_id, name) VALUES ('01900000-0000-7000-8000-000000000003', '01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002', 'default');
INSERT INTO users (id, tenant_id, name, role) VALUES ('01900000-0000-7000-8000-000000000004', '01900000-0000-7000-8000-000000000001', 'admin', 'admin');

-- +goose Down
DROP TABLE users, projects, teams, tenants;
