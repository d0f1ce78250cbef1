-- Artifacts are named, typed outputs. The content-addressed store contains their bytes under
-- their SHA-256, and many artifacts may share one blob. The table is
-- range-partitioned by month on its own UUIDv7.
-- +goose Up
CREATE TABLE blobs (
    sha256     bytea NOT NULL,
    size       bigint NOT NULL,
    media_type text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT blobs_pkey PRIMARY KEY (sha256),
    CONSTRAINT blobs_sha256_check CHECK (length(sha256) = 32),
    CONSTRAINT blobs_size_check CHECK (size >= 0)
);

CREATE TABLE artifacts (
    id            uuid NOT NULL,
    tenant_id     uuid NOT NULL,
    project_id    uuid NOT NULL,
    execution_id  uuid NOT NULL,
    node_index    integer NOT NULL,
    node          text NOT NULL,
    attempt       integer NOT NULL,
    workflow_name text NOT NULL,
    name          text NOT NULL,
    type          text NOT NULL,
    kind          text NOT NULL,
    sha256        bytea NOT NULL,
    size          bigint NOT NULL,
    media_type    text NOT NULL,
    filename      text NOT NULL,
    metadata      jsonb NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL,
    CONSTRAINT artifacts_pkey PRIMARY KEY (id),
    CONSTRAINT artifacts_name_check CHECK (name <> ''),
    CONSTRAINT artifacts_sha256_check CHECK (length(sha256) = 32),
    CONSTRAINT artifacts_size_check CHECK (size >= 0)
) PARTITION BY RANGE (id);
CREATE INDEX artifacts_execution_idx ON artifacts (execution_id, kind);
CREATE INDEX artifacts_kind_idx ON artifacts (project_id, kind, id DESC);
CREATE INDEX artifacts_workflow_idx ON artifacts (project_id, workflow_name, id DESC);
CREATE INDEX artifacts_sha256_idx ON artifacts (sha256);
SELECT ensure_partitions(now(), 2);

-- +goose Down
DROP TABLE artifacts, blobs;
