-- +goose Up

-- What the projects at and below a tenant, department, team or project may run in a pool at the same
-- time. NULL is no limit.
CREATE TABLE pool_limits (
    pool    text NOT NULL,
    node_id uuid NOT NULL,
    tasks   integer,
    gpus    integer,
    CONSTRAINT pool_limits_pkey PRIMARY KEY (pool, node_id),
    CONSTRAINT pool_limits_pool_fkey FOREIGN KEY (pool) REFERENCES pools (name) ON DELETE CASCADE,
    CONSTRAINT pool_limits_node_fkey FOREIGN KEY (node_id) REFERENCES tenancy_nodes (id) ON DELETE CASCADE,
    CONSTRAINT pool_limits_amounts_check CHECK ((tasks IS NOT NULL OR gpus IS NOT NULL) AND tasks >= 0 AND gpus >= 0)
);
CREATE INDEX pool_limits_node_idx ON pool_limits (node_id);

-- What the ended tasks of a project used in a pool, by the day (UTC) on which they ended.
CREATE TABLE pool_use (
    pool         text NOT NULL,
    project_id   uuid NOT NULL,
    day          timestamptz NOT NULL,
    tasks        bigint NOT NULL,
    task_seconds double precision NOT NULL,
    gpu_seconds  double precision NOT NULL,
    CONSTRAINT pool_use_pkey PRIMARY KEY (pool, project_id, day)
);

CREATE INDEX pool_work_running_idx ON pool_work (pool) WHERE worker IS NOT NULL;
CREATE INDEX pool_work_project_idx ON pool_work (pool, project_id, priority DESC, queued_at) WHERE worker IS NULL;

-- +goose Down
DROP INDEX pool_work_project_idx;
DROP INDEX pool_work_running_idx;
DROP TABLE pool_use;
DROP TABLE pool_limits;
