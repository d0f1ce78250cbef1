-- Secrets of projects. The value is encrypted (AES-256-GCM) with a key that is not in the
-- database. key_id identifies the key, so that old rows remain readable while keys are rotated.
-- secret_uses records which workflow received which secret by name, for every secret store. Its
-- rows remain after a secret is deleted.
-- +goose Up
CREATE TABLE secrets (
    project_id  uuid NOT NULL REFERENCES tenancy_nodes,
    tenant_id   uuid NOT NULL REFERENCES tenancy_nodes,
    name        text NOT NULL,
    description text NOT NULL DEFAULT '',
    key_id      text NOT NULL,
    sealed      bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    created_by  text NOT NULL,
    updated_at  timestamptz NOT NULL,
    updated_by  text NOT NULL,
    CONSTRAINT secrets_pkey PRIMARY KEY (project_id, name),
    CONSTRAINT secrets_name_check CHECK (name ~ '^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$'),
    CONSTRAINT secrets_sealed_check CHECK (length(sealed) > 28)
);
CREATE INDEX secrets_key_idx ON secrets (key_id);

CREATE TABLE secret_uses (
    project_id   uuid NOT NULL,
    name         text NOT NULL,
    workflow     text NOT NULL,
    execution_id uuid NOT NULL,
    used_at      timestamptz NOT NULL,
    CONSTRAINT secret_uses_pkey PRIMARY KEY (project_id, name, workflow)
);

-- +goose Down
DROP TABLE secret_uses, secrets;
