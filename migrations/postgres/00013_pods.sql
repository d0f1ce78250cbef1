-- Where attempts run, what they hold, and what kind of end they came to; the
-- events of their pods; and the leases of what only one server may do at a time.
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

-- One row for each event of an attempt's pod; seen again it counts up.
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

-- Who may do what only one server does at a time. term grows with every change of
-- the holder and fences the writes of earlier ones; address is where other servers
-- reach the holder.
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
