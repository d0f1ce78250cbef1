-- Lists of runs contain all flows of a project, the newest first.
-- +goose Up
CREATE INDEX metaflow_runs_project_idx ON metaflow_runs (project_id, run_number DESC);

-- +goose Down
DROP INDEX metaflow_runs_project_idx;
