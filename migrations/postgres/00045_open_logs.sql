-- Logs whose lines are still coming although the attempt has ended: the end of an attempt
-- is reported before a long log. A row goes when the last line has come.
-- +goose Up
CREATE TABLE open_logs (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    since        timestamptz NOT NULL,
    CONSTRAINT open_logs_pkey PRIMARY KEY (execution_id, node_index, attempt)
);
-- Rows of runners that never came back are removed by age.
CREATE INDEX open_logs_since_idx ON open_logs (since);

-- +goose Down
DROP TABLE open_logs;
