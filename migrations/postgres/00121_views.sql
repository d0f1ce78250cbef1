-- Saved views of the table of executions: a query with its columns, order and groups under a name.
-- +goose Up
CREATE TABLE execution_views (
    id         uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    name       text NOT NULL,
    sharing    text NOT NULL,
    query      text NOT NULL DEFAULT '',
    sort       text NOT NULL DEFAULT '',
    columns    text[] NOT NULL DEFAULT '{}',
    group_by   text NOT NULL DEFAULT '',
    is_default boolean NOT NULL DEFAULT false, -- opens instead of the list of all executions
    owner_id   uuid NOT NULL,
    owner_name text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by text NOT NULL,
    CONSTRAINT execution_views_sharing_check CHECK (sharing IN ('private', 'project')),
    CONSTRAINT execution_views_default_check CHECK (NOT is_default OR sharing = 'project'),
    CONSTRAINT execution_views_name_check CHECK (char_length(name) BETWEEN 1 AND 80)
);
CREATE UNIQUE INDEX execution_views_shared_key ON execution_views (project_id, lower(name)) WHERE sharing = 'project';
CREATE UNIQUE INDEX execution_views_private_key ON execution_views (project_id, owner_id, lower(name)) WHERE sharing = 'private';
CREATE UNIQUE INDEX execution_views_default_key ON execution_views (project_id) WHERE is_default;

-- +goose Down
DROP TABLE execution_views;
