-- Mutexes and semaphores of a project, by name. A row of locks is one permit that a node holds,
-- or the execution if node_index is -1. A row of lock_waits is a waiting node; seen_at is its
-- latest check. semaphores contains the limits that administrators set; otherwise the limit of
-- the definition applies.
-- +goose Up
CREATE TABLE locks (
    project_id   uuid NOT NULL,
    name         text NOT NULL,
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    held_since   timestamptz NOT NULL,
    CONSTRAINT locks_pkey PRIMARY KEY (project_id, name, execution_id, node_index)
);
CREATE INDEX locks_execution_idx ON locks (execution_id);
CREATE TABLE lock_waits (
    project_id   uuid NOT NULL,
    name         text NOT NULL,
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    priority     integer NOT NULL,
    since        timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL,
    CONSTRAINT lock_waits_pkey PRIMARY KEY (project_id, name, execution_id, node_index)
);
CREATE INDEX lock_waits_execution_idx ON lock_waits (execution_id);
CREATE TABLE semaphores (
    project_id uuid NOT NULL,
    name       text NOT NULL,
    permits    integer NOT NULL CONSTRAINT semaphores_permits_check CHECK (permits > 0),
    updated_at timestamptz NOT NULL,
    CONSTRAINT semaphores_pkey PRIMARY KEY (project_id, name)
);

-- +goose Down
DROP TABLE semaphores, lock_waits, locks;
