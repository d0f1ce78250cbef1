-- Development versions: pre-releases named dev, which "flowforge run" and "flowforge dev" register.
-- +goose Up
ALTER TABLE workflow_versions ADD COLUMN development boolean NOT NULL
    GENERATED ALWAYS AS (prerelease = 'dev' OR prerelease LIKE 'dev.%') STORED;
CREATE INDEX workflow_versions_development_idx ON workflow_versions (created_at) WHERE development;

-- The version that each person develops.
CREATE TABLE development_versions (
    workflow_id uuid NOT NULL REFERENCES workflows ON DELETE CASCADE,
    user_id     uuid NOT NULL,
    version_id  uuid NOT NULL REFERENCES workflow_versions ON DELETE CASCADE,
    saved_at    timestamptz NOT NULL,
    CONSTRAINT development_versions_pkey PRIMARY KEY (workflow_id, user_id)
);
CREATE INDEX development_versions_version_idx ON development_versions (version_id);

ALTER TABLE sweeps ADD COLUMN versions bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE sweeps DROP COLUMN versions;
DROP TABLE development_versions;
ALTER TABLE workflow_versions DROP COLUMN development;
