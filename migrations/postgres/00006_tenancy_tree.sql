-- This table stores the whole tenancy tree: installation › tenants › departments › teams ›
-- projects. One table is enough, because limits, roles and fair shares work the same way at
-- every level. path contains the IDs from the installation to the node itself, so that one
-- comparison finds all descendants or all ancestors. Only departments can be nested. Nodes are
-- archived and never deleted, because executions and the audit log refer to them.
-- +goose Up
CREATE TABLE tenancy_nodes (
    id          uuid PRIMARY KEY,
    kind        text NOT NULL,
    parent_id   uuid,
    parent_kind text,
    tenant_id   uuid REFERENCES tenancy_nodes,
    path        uuid[] NOT NULL,
    name        text NOT NULL,
    description text NOT NULL DEFAULT '',
    namespace   text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    archived_at timestamptz,
    CONSTRAINT tenancy_nodes_kind_key UNIQUE (id, kind),
    CONSTRAINT tenancy_nodes_parent_fkey FOREIGN KEY (parent_id, parent_kind) REFERENCES tenancy_nodes (id, kind),
    CONSTRAINT tenancy_nodes_place_check CHECK (
        (kind = 'installation' AND parent_kind IS NULL)
        OR (kind = 'tenant' AND parent_kind = 'installation')
        OR (kind = 'department' AND parent_kind IN ('tenant', 'department'))
        OR (kind = 'team' AND parent_kind IN ('tenant', 'department'))
        OR (kind = 'project' AND parent_kind = 'team')),
    CONSTRAINT tenancy_nodes_parent_check CHECK ((parent_id IS NULL) = (parent_kind IS NULL)),
    CONSTRAINT tenancy_nodes_tenant_check CHECK ((kind = 'installation') = (tenant_id IS NULL) AND (kind <> 'tenant' OR tenant_id = id)),
    CONSTRAINT tenancy_nodes_path_check CHECK (path[cardinality(path)] = id AND cardinality(path) <= 16),
    CONSTRAINT tenancy_nodes_name_check CHECK (name <> '' AND length(name) <= 100),
    CONSTRAINT tenancy_nodes_namespace_check CHECK ((kind = 'project') = (namespace IS NOT NULL)
        AND namespace ~ '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')
);
CREATE UNIQUE INDEX tenancy_nodes_installation_key ON tenancy_nodes ((true)) WHERE parent_id IS NULL;
CREATE UNIQUE INDEX tenancy_nodes_name_key ON tenancy_nodes (parent_id, lower(name)) WHERE archived_at IS NULL;
CREATE UNIQUE INDEX tenancy_nodes_namespace_key ON tenancy_nodes (namespace) WHERE namespace IS NOT NULL;
CREATE INDEX tenancy_nodes_path_idx ON tenancy_nodes USING gin (path);

INSERT INTO tenancy_nodes (id, kind, path, name)
VALUES ('01900000-0000-7000-8000-000000000000', 'installation', ARRAY['01900000-0000-7000-8000-000000000000'::uuid], 'installation');
INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, created_at)
SELECT t.id, 'tenant', i.id, i.kind, t.id, i.path || t.id, t.name, t.created_at FROM tenants t, tenancy_nodes i WHERE i.kind = 'installation';
INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, created_at)
SELECT g.id, 'team', p.id, p.kind, p.tenant_id, p.path || g.id, g.name, g.created_at FROM teams g JOIN tenancy_nodes p ON p.id = g.tenant_id;
INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace, created_at)
SELECT j.id, 'project', g.id, g.kind, g.tenant_id, g.path || j.id, j.name, 'ff-' || left(replace(j.id::text, '-', ''), 32), j.created_at
FROM projects j JOIN tenancy_nodes g ON g.id = j.team_id;

ALTER TABLE workflows DROP CONSTRAINT workflows_project_id_fkey,
    ADD CONSTRAINT workflows_project_fkey FOREIGN KEY (project_id) REFERENCES tenancy_nodes;
ALTER TABLE catalogue_entries DROP CONSTRAINT catalogue_entries_project_id_fkey,
    ADD CONSTRAINT catalogue_entries_project_fkey FOREIGN KEY (project_id) REFERENCES tenancy_nodes;
ALTER TABLE custom_types DROP CONSTRAINT custom_types_tenant_id_fkey,
    ADD CONSTRAINT custom_types_tenant_fkey FOREIGN KEY (tenant_id) REFERENCES tenancy_nodes;
ALTER TABLE users DROP CONSTRAINT users_tenant_id_fkey;
DROP TABLE projects, teams, tenants;

-- +goose Down
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
INSERT INTO tenants (id, name, created_at) SELECT id, name, created_at FROM tenancy_nodes WHERE kind = 'tenant';
INSERT INTO teams (id, tenant_id, name, created_at) SELECT id, tenant_id, CASE WHEN count(*) OVER (PARTITION BY tenant_id, name) > 1 THEN name || ' ' || id ELSE name END, created_at FROM tenancy_nodes WHERE kind = 'team';
INSERT INTO projects (id, tenant_id, team_id, name, created_at)
SELECT id, tenant_id, parent_id, CASE WHEN count(*) OVER (PARTITION BY tenant_id, name) > 1 THEN name || ' ' || id ELSE name END, created_at
FROM tenancy_nodes WHERE kind = 'project';
ALTER TABLE workflows DROP CONSTRAINT workflows_project_fkey, ADD CONSTRAINT workflows_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects;
ALTER TABLE catalogue_entries DROP CONSTRAINT catalogue_entries_project_fkey,
    ADD CONSTRAINT catalogue_entries_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects;
ALTER TABLE custom_types DROP CONSTRAINT custom_types_tenant_fkey, ADD CONSTRAINT custom_types_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants;
ALTER TABLE users ADD CONSTRAINT users_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants;
DROP TABLE tenancy_nodes;
