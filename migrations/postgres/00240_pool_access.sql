-- +goose Up

-- A restricted pool runs tasks only of projects that are listed in pool_access, or whose team,
-- department or tenant is.
ALTER TABLE pools ADD COLUMN restricted boolean NOT NULL DEFAULT false;
CREATE TABLE pool_access (
    pool    text NOT NULL,
    node_id uuid NOT NULL,
    CONSTRAINT pool_access_pkey PRIMARY KEY (pool, node_id),
    CONSTRAINT pool_access_pool_fkey FOREIGN KEY (pool) REFERENCES pools (name) ON DELETE CASCADE,
    CONSTRAINT pool_access_node_fkey FOREIGN KEY (node_id) REFERENCES tenancy_nodes (id) ON DELETE CASCADE
);
CREATE INDEX pool_access_node_idx ON pool_access (node_id);

-- +goose Down
DROP TABLE pool_access;
ALTER TABLE pools DROP COLUMN restricted;
