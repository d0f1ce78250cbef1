-- The index of executions contains their sweep. It reads the executions of earlier sweeps again.
-- +goose Up
INSERT INTO execution_changes (execution_id, project_id, created_at)
SELECT e.id, e.project_id, e.created_at
FROM input_sweep_runs r JOIN executions e ON e.id = r.execution_id;

-- +goose Down
SELECT 1;
