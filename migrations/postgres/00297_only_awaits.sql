-- An execution that only waits for approvals is shown as awaiting approval and not as running, even if
-- the approval is in a graph, which runs as long as its nodes. Searches learn when that changes.
-- +goose Up
ALTER TABLE executions ADD COLUMN only_awaits boolean NOT NULL DEFAULT false;

UPDATE executions SET only_awaits = true
WHERE status = 'RUNNING' AND awaiting_approval > 0 AND running = awaiting_approval AND queued = 0;

DROP TRIGGER executions_noted_update ON executions;
CREATE TRIGGER executions_noted_update AFTER UPDATE OF status, finished_at, outputs, error, only_awaits ON executions
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.finished_at IS DISTINCT FROM NEW.finished_at
        OR OLD.only_awaits IS DISTINCT FROM NEW.only_awaits)
    EXECUTE FUNCTION note_execution_change();

-- +goose Down
DROP TRIGGER executions_noted_update ON executions;
CREATE TRIGGER executions_noted_update AFTER UPDATE OF status, finished_at, outputs, error ON executions
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.finished_at IS DISTINCT FROM NEW.finished_at)
    EXECUTE FUNCTION note_execution_change();
ALTER TABLE executions DROP COLUMN only_awaits;
