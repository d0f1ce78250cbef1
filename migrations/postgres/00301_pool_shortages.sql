-- A project has a shortage in a pool while its tasks wait and no worker of the pool has been connected for some
-- time. The audit log has its beginning and its end.
-- +goose Up
CREATE TABLE pool_shortages (
    pool       text NOT NULL,
    project_id uuid NOT NULL,
    tenant_id  uuid NOT NULL,
    began_at   timestamptz NOT NULL,
    CONSTRAINT pool_shortages_pkey PRIMARY KEY (pool, project_id),
    CONSTRAINT pool_shortages_pool_fkey FOREIGN KEY (pool) REFERENCES pools (name) ON DELETE CASCADE,
    CONSTRAINT pool_shortages_project_fkey FOREIGN KEY (project_id) REFERENCES tenancy_nodes (id) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE pool_shortages;
