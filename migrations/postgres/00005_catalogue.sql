-- Objects that inputs can name: datasets, feature sets and models by name and version,
-- and the custom types. An entry never changes; a new version is a new row.
-- +goose Up
CREATE TABLE catalogue_entries (
    id          uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects,
    kind        text NOT NULL CONSTRAINT catalogue_entries_kind_check CHECK (kind IN ('Dataset', 'FeatureSet', 'Model')),
    name        text NOT NULL,
    version     text NOT NULL,
    description text NOT NULL DEFAULT '',
    format      text NOT NULL DEFAULT '',
    framework   text NOT NULL DEFAULT '',
    tags        text[] NOT NULL DEFAULT '{}',
    facts       jsonb NOT NULL,
    blob        jsonb,
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT catalogue_entries_version_key UNIQUE (project_id, kind, name, version)
);
CREATE INDEX catalogue_entries_newest_idx ON catalogue_entries (project_id, kind, id DESC);

CREATE TABLE custom_types (
    tenant_id  uuid NOT NULL REFERENCES tenants,
    name       text NOT NULL,
    definition jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT custom_types_pkey PRIMARY KEY (tenant_id, name)
);

-- +goose Down
DROP TABLE custom_types, catalogue_entries;
