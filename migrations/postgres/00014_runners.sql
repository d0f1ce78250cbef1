-- State for runners in pods: checkpoint folders, the coordination of gangs, and the queue of
-- warm pods.
-- +goose Up
-- The manifest of the latest checkpoint folder of a node.
CREATE TABLE checkpoint_folders (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    sha256       bytea NOT NULL,
    size         bigint NOT NULL,
    saved_at     timestamptz NOT NULL,
    CONSTRAINT checkpoint_folders_pkey PRIMARY KEY (execution_id, node_index),
    CONSTRAINT checkpoint_folders_sha256_check CHECK (length(sha256) = 32),
    CONSTRAINT checkpoint_folders_size_check CHECK (size >= 0)
) PARTITION BY RANGE (execution_id);

-- The states of the ranks of a gang; rows are deleted when the attempt ends.
CREATE TABLE gang_members (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    rank         integer NOT NULL,
    address      text NOT NULL,
    state        smallint NOT NULL,
    message      text NOT NULL DEFAULT '',
    exit_code    integer NOT NULL DEFAULT 0,
    class        text NOT NULL DEFAULT '',
    changed_at   timestamptz NOT NULL,
    CONSTRAINT gang_members_pkey PRIMARY KEY (execution_id, node_index, attempt, rank),
    CONSTRAINT gang_members_rank_check CHECK (rank >= 0)
);
CREATE INDEX gang_members_changed_idx ON gang_members (changed_at);

-- Attempts for warm pods. A pool is a combination of project, image, resources and pod fields
-- that one pod can serve. worker is empty until a worker takes the row.
CREATE TABLE resident_work (
    task_id     text NOT NULL,
    pool        text NOT NULL,
    tenant_id   uuid NOT NULL,
    project_id  uuid NOT NULL,
    spec        bytea NOT NULL, -- without its token, which is signed when it is taken
    worker      text NOT NULL DEFAULT '',
    queued_at   timestamptz NOT NULL,
    taken_at    timestamptz,
    CONSTRAINT resident_work_pkey PRIMARY KEY (task_id),
    CONSTRAINT resident_work_taken_check CHECK ((worker = '') = (taken_at IS NULL))
);
CREATE INDEX resident_work_queue_idx ON resident_work (pool, queued_at) WHERE worker = '';
CREATE UNIQUE INDEX resident_work_worker_idx ON resident_work (worker) WHERE worker <> '';
SELECT ensure_partitions(now(), 2);

-- +goose Down
DROP TABLE resident_work;
DROP TABLE gang_members;
DROP TABLE checkpoint_folders;
