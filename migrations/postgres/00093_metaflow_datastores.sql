-- Where the client of Metaflow keeps the data of a project: artifacts, logs and cards. A project
-- without a row uses its own folder in the data directory. Credentials are names of secrets.
-- +goose Up
CREATE TABLE metaflow_datastores (
    project_id           uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    kind                 text NOT NULL CHECK (kind IN ('local', 's3')),
    root                 text NOT NULL, -- empty: the folder of the project
    endpoint             text NOT NULL,
    region               text NOT NULL,
    access_key_secret    text NOT NULL,
    secret_key_secret    text NOT NULL,
    session_token_secret text NOT NULL,
    updated_at           timestamptz NOT NULL,
    updated_by           text NOT NULL,
    CONSTRAINT metaflow_datastores_pkey PRIMARY KEY (project_id)
);

-- +goose Down
DROP TABLE metaflow_datastores;
