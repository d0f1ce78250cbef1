-- The location, the resources and the class of the end of attempts; the events of their pods;
-- and the leases for leader election.
-- +goose Up
ALTER TABLE attempts
    ADD COLUMN class       text NOT NULL DEFAULT '',
    ADD COLUMN namespace   text NOT NULL DEFAULT '',
    ADD COLUMN pod         text NOT NULL DEFAULT '',
    ADD COLUMN machine     text NOT NULL DEFAULT '',
    ADD COLUMN memory_mib  integer NOT NULL DEFAULT 0,
    ADD COLUMN gpus        integer NOT NULL DEFAULT 0,
    ADD COLUMN gpu_type    text NOT NULL DEFAULT '',
    ADD CONSTRAINT attempts_amounts_check CHECK (memory_mib >= 0 AND gpus >= 0);

-- One row for each event of an attempt's pod; repetitions increase its count.
CREATE TABLE pod_events (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    event_id     text NOT NULL,
    at           timestamptz NOT NULL,
    warning      boolean NOT NULL,
    reason       text NOT NULL,
    message      text NOT NULL,
    count        integer NOT NULL,
    CONSTRAINT pod_events_pkey PRIMARY KEY (execution_id, node_index, attempt, event_id),
    CONSTRAINT pod_events_count_check CHECK (count > 0)
) PARTITION BY RANGE (execution_id);

-- Leases for leader election. term increases with every change of the holder and fences the
-- writes of earlier holders; address is the holder's address for other servers.
CREATE TABLE leases (
    name       text NOT NULL,
    holder     text NOT NULL,
    term       bigint NOT NULL,
    address    text NOT NULL DEFAULT '',
    expires_at timestamptz NOT NULL,
    CONSTRAINT leases_pkey PRIMARY KEY (name),
    CONSTRAINT leases_term_check CHECK (term > 0)
);

-- +goose Down
DROP TABLE leases;
DROP TABLE pod_events;
ALTER TABLE attempts
    DROP COLUMN class, DROP COLUMN namespace, DROP COLUMN pod, DROP COLUMN machine,
    DROP COLUMN memory_mib, DROP COLUMN gpus, DROP COLUMN gpu_type;
