-- Executions are found by the metadata of their artifacts.
-- +goose Up
ALTER TABLE search_fields DROP CONSTRAINT search_fields_part_check,
    ADD CONSTRAINT search_fields_part_check CHECK (part IN ('inputs', 'outputs', 'metrics', 'metadata'));

-- The index reads earlier executions with metadata again.
INSERT INTO execution_changes (execution_id, project_id, created_at)
SELECT e.id, e.project_id, e.created_at FROM executions e
WHERE e.id IN (SELECT a.execution_id FROM artifacts a WHERE a.metadata <> '{}');

-- +goose Down
DELETE FROM search_fields WHERE part = 'metadata';
ALTER TABLE search_fields DROP CONSTRAINT search_fields_part_check,
    ADD CONSTRAINT search_fields_part_check CHECK (part IN ('inputs', 'outputs', 'metrics'));
