-- Results that later nodes may take over. A row says which node has, or is to have, the
-- result of a key; whether it has one is said by that node's own row alone, so there is
-- no state here that a crash could leave behind. parts is what the key was made of,
-- to say later why another key is another. executions.cache is what a launch asked
-- for, nodes.cache what was found.
-- +goose Up
CREATE TABLE cached_results (
    project_id   uuid NOT NULL,
    key          bytea NOT NULL,
    workflow_id  uuid NOT NULL,
    node         text NOT NULL,
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    parts        jsonb NOT NULL,
    claimed_at   timestamptz NOT NULL,
    CONSTRAINT cached_results_pkey PRIMARY KEY (project_id, key),
    CONSTRAINT cached_results_key_check CHECK (length(key) = 32)
);
CREATE INDEX cached_results_node_idx ON cached_results (workflow_id, node, claimed_at DESC);
ALTER TABLE executions ADD COLUMN cache jsonb;
ALTER TABLE nodes ADD COLUMN cache jsonb;

-- +goose Down
ALTER TABLE nodes DROP COLUMN cache;
ALTER TABLE executions DROP COLUMN cache;
DROP TABLE cached_results;
