-- Workflows and their immutable versions. A version stores the canonical
-- definition and the compiled plan; semver columns give the order of releases.
-- +goose Up
CREATE TABLE workflows (
    id                uuid PRIMARY KEY,
    project_id        uuid NOT NULL REFERENCES projects,
    name              text NOT NULL,
    owner_team        text NOT NULL,
    description       text NOT NULL DEFAULT '',
    tags              text[] NOT NULL DEFAULT '{}',
    status            text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'ARCHIVED')),
    latest_version_id uuid,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    CONSTRAINT workflows_name_key UNIQUE (project_id, name)
);
CREATE INDEX workflows_team_idx ON workflows (owner_team, created_at DESC);
CREATE TABLE workflow_versions (
    id           uuid PRIMARY KEY,
    workflow_id  uuid NOT NULL REFERENCES workflows ON DELETE CASCADE,
    version      text NOT NULL,
    major        bigint NOT NULL,
    minor        bigint NOT NULL,
    patch        bigint NOT NULL,
    prerelease   text NOT NULL DEFAULT '',
    definition   jsonb NOT NULL,
    plan         jsonb NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    node_count   integer NOT NULL CHECK (node_count > 0),
    created_by   uuid NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT workflow_versions_version_key UNIQUE (workflow_id, version)
);
ALTER TABLE workflows ADD CONSTRAINT workflows_latest_fkey
    FOREIGN KEY (latest_version_id) REFERENCES workflow_versions DEFERRABLE INITIALLY DEFERRED;

-- +goose Down
ALTER TABLE workflows DROP CONSTRAINT workflows_latest_fkey;
DROP TABLE workflow_versions, workflows;
