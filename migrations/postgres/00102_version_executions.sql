-- Cleanup checks for each development version whether an execution uses it.
-- Launches and changes of executions wait while the index is built, about one second for each
-- million executions: reads do not wait. CONCURRENTLY needs a migration outside a transaction, and
-- would leave an invalid index behind if the server stopped during it.
-- +goose Up
CREATE INDEX executions_version_idx ON executions (workflow_id, version_id);

-- +goose Down
DROP INDEX executions_version_idx;
