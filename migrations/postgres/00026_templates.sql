-- Operator templates with immutable versions, of one project or, without a project, of the
-- whole tenant.
-- +goose Up
CREATE TABLE operator_templates (
    id              uuid NOT NULL,
    tenant_id       uuid NOT NULL,
    project_id      uuid,
    name            text NOT NULL,
    version         text NOT NULL,
    major           bigint NOT NULL,
    minor           bigint NOT NULL,
    patch           bigint NOT NULL,
    prerelease      text NOT NULL DEFAULT '',
    description     text NOT NULL DEFAULT '',
    document        jsonb NOT NULL,
    content_hash    bytea NOT NULL CONSTRAINT operator_templates_hash_check CHECK (length(content_hash) = 32),
    created_by      uuid NOT NULL,
    created_by_name text NOT NULL,
    created_at      timestamptz NOT NULL,
    CONSTRAINT operator_templates_pkey PRIMARY KEY (id),
    CONSTRAINT operator_templates_version_key UNIQUE NULLS NOT DISTINCT (tenant_id, project_id, name, version)
);
CREATE INDEX operator_templates_name_idx ON operator_templates (tenant_id, name, major DESC, minor DESC, patch DESC);

-- +goose Down
DROP TABLE operator_templates;
