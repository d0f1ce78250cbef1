-- Resumed executions: resume_of is the earlier execution, resume the request. Nodes name their
-- source node in an earlier execution: TAKEN and CACHED nodes reuse its result and never ran
-- here; BEFORE nodes run again with its checkpoints. Results are values; the bytes of artifacts
-- are never copied.
-- +goose Up
ALTER TABLE executions ADD COLUMN resume_of uuid, ADD COLUMN resume jsonb;
ALTER TABLE nodes
    ADD COLUMN origin_execution uuid,
    ADD COLUMN origin_index     integer,
    ADD COLUMN origin_use       text,
    ADD CONSTRAINT nodes_origin_check CHECK (
        origin_use IN ('TAKEN', 'CACHED', 'BEFORE')
        AND (origin_use IS NULL) = (origin_execution IS NULL) AND (origin_use IS NULL) = (origin_index IS NULL)),
    DROP CONSTRAINT nodes_attempt_check,
    ADD CONSTRAINT nodes_attempt_check CHECK (attempt >= 0 AND retries BETWEEN 0 AND attempt
        AND (attempt > 0 OR state NOT IN ('QUEUED', 'RUNNING', 'RETRYING')));

-- +goose Down
ALTER TABLE nodes
    DROP CONSTRAINT nodes_attempt_check,
    ADD CONSTRAINT nodes_attempt_check CHECK (attempt >= 0 AND retries BETWEEN 0 AND attempt
        AND (attempt > 0 OR state NOT IN ('QUEUED', 'RUNNING', 'RETRYING', 'SUCCEEDED'))) NOT VALID,
    DROP CONSTRAINT nodes_origin_check, DROP COLUMN origin_use, DROP COLUMN origin_index, DROP COLUMN origin_execution;
ALTER TABLE executions DROP COLUMN resume, DROP COLUMN resume_of;
