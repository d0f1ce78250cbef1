-- Sweeps: one version of a workflow that is launched many times with different inputs. (The table
-- sweeps belongs to the retention.) The history in these rows is all that a sweep knows, so any
-- server continues it.
-- +goose Up
CREATE TABLE input_sweeps (
    id              uuid PRIMARY KEY,
    tenant_id       uuid NOT NULL,
    project_id      uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    workflow_id     uuid NOT NULL REFERENCES workflows ON DELETE CASCADE,
    version_id      uuid NOT NULL,
    workflow_name   text NOT NULL,
    version         text NOT NULL,
    name            text NOT NULL,
    state           text NOT NULL,
    reason          text NOT NULL DEFAULT '',
    message         text NOT NULL DEFAULT '',
    method          text NOT NULL,
    space           jsonb NOT NULL,
    space_version   integer NOT NULL DEFAULT 1,
    space_from      integer NOT NULL DEFAULT 0, -- number of the first run with this space
    inputs          jsonb NOT NULL,
    objective       jsonb, -- null: runs are not compared
    stopping        jsonb NOT NULL,
    planned         integer NOT NULL,
    created         integer NOT NULL DEFAULT 0, -- runs so far; the number of the next
    parallelism     integer NOT NULL,
    gpu_hours       double precision NOT NULL, -- budget; 0: none
    seed            bigint NOT NULL,
    priority        integer NOT NULL,
    refused         integer NOT NULL DEFAULT 0, -- launches refused one after the other
    created_by      uuid NOT NULL,
    created_by_name text NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    request_key     text NOT NULL DEFAULT '',
    request_hash    bytea NOT NULL DEFAULT '',
    CONSTRAINT input_sweeps_state_check CHECK (state IN ('RUNNING', 'PAUSED', 'STOPPING', 'SUCCEEDED', 'STOPPED')),
    CONSTRAINT input_sweeps_ended_check CHECK ((state IN ('SUCCEEDED', 'STOPPED')) = (ended_at IS NOT NULL)),
    CONSTRAINT input_sweeps_method_check CHECK (method IN ('grid', 'random', 'sobol', 'tpe')),
    CONSTRAINT input_sweeps_planned_check CHECK (planned BETWEEN 1 AND 10000),
    CONSTRAINT input_sweeps_created_check CHECK (created BETWEEN 0 AND planned),
    CONSTRAINT input_sweeps_parallelism_check CHECK (parallelism BETWEEN 1 AND 500)
);
CREATE INDEX input_sweeps_project_idx ON input_sweeps (project_id, id DESC);
CREATE INDEX input_sweeps_open_idx ON input_sweeps (id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX input_sweeps_request_key ON input_sweeps (project_id, request_key) WHERE request_key <> '';

-- One run. The transaction that launches its execution sets execution_id, so that no kill launches
-- it twice or loses it. A run is settled when nothing about it changes any more.
CREATE TABLE input_sweep_runs (
    sweep_id      uuid NOT NULL REFERENCES input_sweeps ON DELETE CASCADE,
    number        integer NOT NULL, -- from 0
    state         text NOT NULL,
    chosen        jsonb NOT NULL, -- values by path
    space_version integer NOT NULL,
    execution_id  uuid,
    objective     double precision,
    step          bigint,
    best_step     bigint,
    rungs         jsonb NOT NULL DEFAULT '{}', -- best value until each compared step
    stop          text NOT NULL DEFAULT '', -- why it is being stopped early
    message       text NOT NULL DEFAULT '',
    gpu_hours     double precision NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL,
    started_at    timestamptz,
    finished_at   timestamptz,
    settled       boolean NOT NULL DEFAULT false,
    CONSTRAINT input_sweep_runs_pkey PRIMARY KEY (sweep_id, number),
    CONSTRAINT input_sweep_runs_state_check CHECK (state IN ('PROPOSED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED', 'STOPPED_EARLY', 'REFUSED')),
    CONSTRAINT input_sweep_runs_execution_check CHECK (execution_id IS NOT NULL OR state IN ('PROPOSED', 'CANCELLED', 'REFUSED'))
);
CREATE UNIQUE INDEX input_sweep_runs_execution_key ON input_sweep_runs (execution_id);
CREATE INDEX input_sweep_runs_open_idx ON input_sweep_runs (sweep_id) WHERE NOT settled;

-- +goose Down
DROP TABLE input_sweep_runs;
DROP TABLE input_sweeps;
