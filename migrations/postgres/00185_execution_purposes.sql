-- Executions that list the options of an input are not work that users launch, so lists leave them out by
-- default. Executions of this kind are removed a day after their end, so only the latest ones are marked.
-- +goose Up
ALTER TABLE executions ADD COLUMN purpose text NOT NULL DEFAULT 'WORK' CONSTRAINT executions_purpose_check CHECK (purpose IN ('WORK', 'OPTIONS'));
UPDATE executions e SET purpose = 'OPTIONS' FROM option_runs r WHERE r.execution_id = e.id;
INSERT INTO execution_changes (execution_id, project_id, created_at)
SELECT e.id, e.project_id, e.created_at FROM executions e WHERE e.purpose = 'OPTIONS';
CREATE INDEX executions_options_idx ON executions (project_id, id) WHERE purpose = 'OPTIONS';

-- +goose Down
ALTER TABLE executions DROP COLUMN purpose;
