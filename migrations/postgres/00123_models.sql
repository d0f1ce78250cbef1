-- The registry of models: what the catalogue's versions of models are used for. An entry of the
-- catalogue never changes, so its stage, aliases and requests are rows of their own.
-- +goose Up

-- A version without a row has no stage. A model has at most one version in production.
CREATE TABLE model_stages (
    entry_id   uuid NOT NULL REFERENCES catalogue_entries ON DELETE CASCADE,
    project_id uuid NOT NULL,
    name       text NOT NULL,
    stage      text NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT model_stages_pkey PRIMARY KEY (entry_id),
    CONSTRAINT model_stages_stage_check CHECK (stage IN ('staging', 'production', 'archived'))
);
CREATE UNIQUE INDEX model_stages_production_key ON model_stages (project_id, name) WHERE stage = 'production';
CREATE INDEX model_stages_name_idx ON model_stages (project_id, name);

CREATE TABLE model_aliases (
    project_id uuid NOT NULL,
    name       text NOT NULL,
    alias      text NOT NULL,
    entry_id   uuid NOT NULL REFERENCES catalogue_entries ON DELETE CASCADE,
    set_by     text NOT NULL,
    set_at     timestamptz NOT NULL,
    CONSTRAINT model_aliases_pkey PRIMARY KEY (project_id, name, alias)
);
CREATE INDEX model_aliases_entry_idx ON model_aliases (entry_id);

-- Requests to move a version to a stage. checks is how the rules of the project judged the version
-- then. A version has at most one open request. proposed: a rule made the request.
CREATE TABLE model_requests (
    id                uuid NOT NULL,
    entry_id          uuid NOT NULL REFERENCES catalogue_entries ON DELETE CASCADE,
    project_id        uuid NOT NULL,
    name              text NOT NULL,
    stage             text NOT NULL,
    state             text NOT NULL DEFAULT 'open',
    reason            text NOT NULL,
    proposed          boolean NOT NULL DEFAULT false,
    checks            jsonb NOT NULL,
    requested_by      uuid NOT NULL,
    requested_by_name text NOT NULL,
    requested_at      timestamptz NOT NULL,
    decided_by_name   text NOT NULL DEFAULT '',
    decided_at        timestamptz,
    decision          text NOT NULL DEFAULT '',
    CONSTRAINT model_requests_pkey PRIMARY KEY (id),
    CONSTRAINT model_requests_stage_check CHECK (stage IN ('none', 'staging', 'production', 'archived')),
    CONSTRAINT model_requests_state_check CHECK (state IN ('open', 'approved', 'rejected', 'withdrawn')),
    CONSTRAINT model_requests_decided_check CHECK ((state = 'open') = (decided_at IS NULL))
);
CREATE UNIQUE INDEX model_requests_open_key ON model_requests (entry_id) WHERE state = 'open';
CREATE INDEX model_requests_name_idx ON model_requests (project_id, name, id DESC);

-- What happened to a model, for people; the audit log has the same changes.
CREATE TABLE model_history (
    id         uuid NOT NULL,
    project_id uuid NOT NULL,
    name       text NOT NULL,
    entry_id   uuid NOT NULL REFERENCES catalogue_entries ON DELETE CASCADE,
    version    text NOT NULL,
    action     text NOT NULL,
    detail     text NOT NULL DEFAULT '',
    reason     text NOT NULL DEFAULT '',
    by_name    text NOT NULL,
    at         timestamptz NOT NULL,
    CONSTRAINT model_history_pkey PRIMARY KEY (id)
);
CREATE INDEX model_history_name_idx ON model_history (project_id, name, id DESC);

-- What a project asks of promotions to production: the approval of another person, and rules that
-- compare a version with the one in production. name '' is the policy of all models of the project.
CREATE TABLE model_policies (
    project_id uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    name       text NOT NULL,
    approval   boolean NOT NULL,
    propose    boolean NOT NULL,
    rules      jsonb NOT NULL,
    updated_by text NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT model_policies_pkey PRIMARY KEY (project_id, name)
);

-- +goose Down
DROP TABLE model_policies, model_history, model_requests, model_aliases, model_stages;
