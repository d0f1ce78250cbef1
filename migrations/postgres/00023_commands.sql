-- Commands of people for a live execution, in order: pause it, or skip, mark as succeeded, retry,
-- hold or answer a node. node_index is -1 for the execution itself. The owner of the execution
-- applies a command and deletes it in the same transaction; taken means that it has started, for
-- example while an attempt has to end first.
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
