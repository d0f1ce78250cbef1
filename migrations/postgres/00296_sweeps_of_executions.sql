-- Lists show the runs of a sweep as one row. The indexes serve such a list: executions that no sweep
-- launched, in order, and the runs of a sweep by state.
-- +goose Up
ALTER TABLE executions ADD COLUMN sweep_id uuid REFERENCES input_sweeps ON DELETE SET NULL;
UPDATE executions e SET sweep_id = r.sweep_id FROM input_sweep_runs r WHERE r.execution_id = e.id;
CREATE INDEX executions_single_idx ON executions (project_id, id DESC) WHERE sweep_id IS NULL;
CREATE INDEX executions_single_workflow_idx ON executions (workflow_id, id DESC) WHERE sweep_id IS NULL;
CREATE INDEX executions_sweep_idx ON executions (sweep_id, status, id) WHERE sweep_id IS NOT NULL;

-- +goose Down
DROP INDEX executions_sweep_idx;
DROP INDEX executions_single_workflow_idx;
DROP INDEX executions_single_idx;
ALTER TABLE executions DROP COLUMN sweep_id;
