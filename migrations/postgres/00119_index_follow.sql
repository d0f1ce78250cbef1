-- How far the index of executions (00103) follows.
-- +goose Up

-- A search takes the changes of its own project first, and every change takes the other rows of
-- its execution with it. problem: why the execution cannot be indexed; it waits for its next
-- change or the next start of a server.
ALTER TABLE execution_changes ADD COLUMN problem text NOT NULL DEFAULT '';
CREATE INDEX execution_changes_project_idx ON execution_changes (project_id, id);
CREATE INDEX execution_changes_execution_idx ON execution_changes (execution_id);

-- The table in ClickHouse that has the index, and the job that notes the executions from before
-- it. marker is in a row of that table: another marker, or none, means that the table was replaced
-- or emptied. The job notes executions from the newest to the oldest; next_id is the next one
-- that it considers, NULL when it has noted all.
CREATE TABLE search_index (
    one        boolean NOT NULL DEFAULT true,
    marker     uuid NOT NULL,
    next_id    uuid,
    CONSTRAINT search_index_pkey PRIMARY KEY (one),
    CONSTRAINT search_index_one_check CHECK (one)
);

-- +goose Down
DROP TABLE search_index;
DROP INDEX execution_changes_execution_idx, execution_changes_project_idx;
ALTER TABLE execution_changes DROP COLUMN problem;
