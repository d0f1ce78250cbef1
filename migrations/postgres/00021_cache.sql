-- Results that later nodes can reuse. A row names the node that has, or will have, the result of
-- a key. Only the row of that node contains its state, so a crash leaves no stale state here.
-- parts are the parts of the key, to explain a difference between keys. executions.cache is the
-- cache mode of the launch, nodes.cache the result of the lookup.
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
