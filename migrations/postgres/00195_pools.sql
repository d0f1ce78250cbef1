-- +goose Up
-- A pool is a group of machines outside the cluster. Their workers join with a token and pull the
-- attempts of operators that name the pool.
CREATE TABLE pools (
    name        text NOT NULL,
    description text NOT NULL DEFAULT '',
    draining    boolean NOT NULL DEFAULT false, -- its workers take no attempts
    created_at  timestamptz NOT NULL,
    created_by  text NOT NULL,
    CONSTRAINT pools_pkey PRIMARY KEY (name),
    CONSTRAINT pools_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')
);

-- Tokens with which workers join a pool. Only a hash is stored: the tokens are random.
CREATE TABLE pool_tokens (
    id           text NOT NULL,
    pool         text NOT NULL,
    sha256       bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    created_by   text NOT NULL,
    last_used_at timestamptz,
    CONSTRAINT pool_tokens_pkey PRIMARY KEY (id),
    CONSTRAINT pool_tokens_pool_fkey FOREIGN KEY (pool) REFERENCES pools (name) ON DELETE CASCADE,
    CONSTRAINT pool_tokens_sha256_check CHECK (length(sha256) = 32)
);
CREATE INDEX pool_tokens_pool_idx ON pool_tokens (pool);

-- A worker is one process on one machine. session identifies the process: a restarted worker keeps
-- its row and gets a new session. An amount of 0 CPU or memory is no limit.
CREATE TABLE pool_workers (
    id         uuid NOT NULL,
    pool       text NOT NULL,
    name       text NOT NULL,
    session    uuid NOT NULL,
    labels     jsonb NOT NULL,
    slots      integer NOT NULL,
    cpu_millis integer NOT NULL,
    memory_mib integer NOT NULL,
    gpus       integer NOT NULL,
    gpu_type   text NOT NULL,
    version    text NOT NULL,
    draining   boolean NOT NULL DEFAULT false, -- an administrator requested it
    leaving    boolean NOT NULL DEFAULT false, -- the process was asked to stop
    joined_at  timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    CONSTRAINT pool_workers_pkey PRIMARY KEY (id),
    CONSTRAINT pool_workers_pool_fkey FOREIGN KEY (pool) REFERENCES pools (name) ON DELETE CASCADE,
    CONSTRAINT pool_workers_amounts_check CHECK (slots > 0 AND cpu_millis >= 0 AND memory_mib >= 0 AND gpus >= 0)
);
CREATE INDEX pool_workers_pool_idx ON pool_workers (pool);

-- Attempts that wait for a worker of a pool, or that one has taken. A row is deleted when the worker
-- has delivered the result, or when the worker is lost.
CREATE TABLE pool_work (
    task_id      text NOT NULL,
    pool         text NOT NULL,
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    tenant_id    uuid NOT NULL,
    project_id   uuid NOT NULL,
    labels       jsonb NOT NULL, -- that the worker must have
    cpu_millis   integer NOT NULL,
    memory_mib   integer NOT NULL,
    gpus         integer NOT NULL,
    gpu_type     text NOT NULL,
    priority     integer NOT NULL,
    spec         bytea NOT NULL, -- without its token, which is signed when it is taken
    queued_at    timestamptz NOT NULL,
    reason       text NOT NULL DEFAULT '', -- why it waits, as shown at its node
    worker       uuid,
    session      uuid, -- of the worker's process that received it
    taken_at     timestamptz,
    CONSTRAINT pool_work_pkey PRIMARY KEY (task_id),
    CONSTRAINT pool_work_worker_fkey FOREIGN KEY (worker) REFERENCES pool_workers (id),
    CONSTRAINT pool_work_taken_check CHECK ((worker IS NULL) = (taken_at IS NULL) AND (worker IS NULL) = (session IS NULL))
);
CREATE INDEX pool_work_queue_idx ON pool_work (pool, priority DESC, queued_at) WHERE worker IS NULL;
CREATE INDEX pool_work_worker_idx ON pool_work (worker) WHERE worker IS NOT NULL;

-- +goose Down
DROP TABLE pool_work;
DROP TABLE pool_workers;
DROP TABLE pool_tokens;
DROP TABLE pools;
