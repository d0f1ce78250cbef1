-- What people tell a live execution to do, in order: to pause, or to skip a node, to
-- count it as succeeded, to try it again, to hold it back, to answer it. node_index is
-- -1 when it is about the execution itself. Whoever drives the execution carries a
-- command out and deletes it in the same transaction; taken says that it has begun to,
-- as when an attempt has to end first.
-- +goose Up
CREATE TABLE node_commands (
    execution_id uuid NOT NULL,
    seq          bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    node_index   integer NOT NULL,
    command      text NOT NULL,
    data         jsonb,
    reason       text NOT NULL DEFAULT '',
    ordered_by   text NOT NULL,
    ordered_at   timestamptz NOT NULL,
    taken        boolean NOT NULL DEFAULT false,
    CONSTRAINT node_commands_pkey PRIMARY KEY (execution_id, seq),
    CONSTRAINT node_commands_command_check CHECK (command IN ('PAUSE', 'UNPAUSE', 'SKIP', 'SUCCEED', 'RETRY', 'HOLD', 'RELEASE', 'APPROVE', 'REJECT')),
    CONSTRAINT node_commands_node_check CHECK ((node_index = -1) = (command IN ('PAUSE', 'UNPAUSE')))
);
DROP INDEX executions_live_idx;
CREATE INDEX executions_live_idx ON executions (id) WHERE status IN ('PENDING', 'RUNNING', 'PAUSED');

-- +goose Down
DROP INDEX executions_live_idx;
CREATE INDEX executions_live_idx ON executions (id) WHERE status IN ('PENDING', 'RUNNING');
DROP TABLE node_commands;
