-- The exception that ended an attempt, with frames and lines of source code but no values of
-- variables. It is a table of its own, so that lists of attempts do not read it.
-- +goose Up
CREATE TABLE tracebacks (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    content      jsonb NOT NULL,
    CONSTRAINT tracebacks_pkey PRIMARY KEY (execution_id, node_index, attempt)
);

-- +goose Down
DROP TABLE tracebacks;
