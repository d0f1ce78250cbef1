-- Connections of projects: where a service is and how to sign in to it. settings has the visible
-- fields. sealed is one JSON object of the secret fields, encrypted as in secrets; it is NULL
-- without any, and secret_fields names them. declared has the fields of a custom connection.
-- connection_uses records which workflow received which connection.
-- +goose Up
CREATE TABLE connections (
    project_id    uuid NOT NULL REFERENCES tenancy_nodes,
    tenant_id     uuid NOT NULL REFERENCES tenancy_nodes,
    name          text NOT NULL,
    kind          text NOT NULL,
    description   text NOT NULL DEFAULT '',
    declared      jsonb NOT NULL DEFAULT '[]',
    settings      jsonb NOT NULL,
    secret_fields text[] NOT NULL DEFAULT '{}',
    key_id        text,
    sealed        bytea,
    created_at    timestamptz NOT NULL,
    created_by    text NOT NULL,
    updated_at    timestamptz NOT NULL,
    updated_by    text NOT NULL,
    CONSTRAINT connections_pkey PRIMARY KEY (project_id, name),
    CONSTRAINT connections_name_check CHECK (name ~ '^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$'),
    CONSTRAINT connections_kind_check CHECK (kind IN ('postgres', 's3', 'http', 'huggingface', 'custom')),
    CONSTRAINT connections_sealed_check CHECK ((sealed IS NULL) = (key_id IS NULL) AND (sealed IS NULL) = (secret_fields = '{}'))
);
CREATE INDEX connections_key_idx ON connections (key_id);

CREATE TABLE connection_uses (
    project_id   uuid NOT NULL,
    name         text NOT NULL,
    workflow     text NOT NULL,
    execution_id uuid NOT NULL,
    used_at      timestamptz NOT NULL,
    CONSTRAINT connection_uses_pkey PRIMARY KEY (project_id, name, workflow)
);

-- +goose Down
DROP TABLE connection_uses, connections;
