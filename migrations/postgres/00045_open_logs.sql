-- Logs with outstanding lines after the end of the attempt: the end is reported before a long
-- log. A row is deleted with the last line.
-- +goose Up
CREATE TABLE open_logs (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    since        timestamptz NOT NULL,
    CONSTRAINT open_logs_pkey PRIMARY KEY (execution_id, node_index, attempt)
);
-- Rows of lost runners are removed by age.
CREATE INDEX open_logs_since_idx ON open_logs (since);

-- +goose Down
DROP TABLE open_logs;
