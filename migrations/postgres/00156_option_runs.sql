-- Runs that list options: the outputs of a workflow that lists the options of an input, cached for the
-- inputs that the workflow reads. The row of a key names the latest run, so a key has at most one
-- run that has not ended.
-- +goose Up
CREATE TABLE option_runs (
    project_id   uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    key          bytea NOT NULL, -- hash of the version of the workflow and of its inputs
    execution_id uuid NOT NULL, -- the latest run
    started_at   timestamptz NOT NULL, -- of the latest run
    ended        boolean NOT NULL, -- the end of the latest run is recorded here
    failure      text NOT NULL, -- why the latest run has no outputs, a sentence; '': it has, or has not ended
    failed_at    timestamptz,
    outputs      jsonb, -- of the latest run that succeeded
    answered_at  timestamptz, -- when outputs were computed
    keep_until   timestamptz NOT NULL, -- afterwards, outputs are too old to be used
    PRIMARY KEY (project_id, key),
    CONSTRAINT option_runs_outputs_check CHECK ((outputs IS NULL) = (answered_at IS NULL)),
    CONSTRAINT option_runs_failure_check CHECK (ended OR failure = '')
);
CREATE INDEX option_runs_running_idx ON option_runs (project_id) WHERE NOT ended;

-- +goose Down
DROP TABLE option_runs;
