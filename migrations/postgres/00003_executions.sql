-- Executions, their nodes and attempts, and the events of every change. These
-- tables are range-partitioned by month on the execution's UUIDv7, whose first
-- 48 bits are milliseconds: a look-up by key touches one partition, and
-- retention drops partitions. There are no foreign keys between partitioned
-- tables; one transaction writes an execution with its nodes, and partitions of
-- one month are dropped together.
-- +goose Up

-- uuid_floor is the least UUIDv7 of a moment: the bound of a partition.
-- +goose StatementBegin
CREATE FUNCTION uuid_floor(moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;
-- +goose StatementEnd

-- ensure_partitions creates, for every range-partitioned table of this schema,
-- the partitions of the month of moment and of the following months. Attaching
-- takes no lock that stops readers or writers. It returns how many are new.
-- +goose StatementBegin
CREATE FUNCTION ensure_partitions(moment timestamptz, months_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent  text;
    child   text;
    month   timestamp;
    created integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(7166661001);
    FOR parent IN
        SELECT c.relname FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
        WHERE p.partstrat = 'r' AND c.relnamespace = current_schema()::regnamespace
        ORDER BY c.relname
    LOOP
        FOR i IN 0 .. months_ahead LOOP
            month := date_trunc('month', moment AT TIME ZONE 'UTC') + make_interval(months => i);
            child := parent || to_char(month, '"_y"YYYY"m"MM');
            CONTINUE WHEN to_regclass(quote_ident(child)) IS NOT NULL;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (fillfactor = %s)', child, parent,
                CASE WHEN parent IN ('executions', 'nodes', 'attempts') THEN 70 ELSE 100 END);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child,
                uuid_floor(month AT TIME ZONE 'UTC'), uuid_floor((month + interval '1 month') AT TIME ZONE 'UTC'));
            created := created + 1;
        END LOOP;
    END LOOP;
    RETURN created;
END
$$;
-- +goose StatementEnd

-- The execution has counts per node state, updated by the statement that changes the nodes.
-- owner, owner_epoch and lease_until are the fence of the drive loop: every write of states
-- checks the epoch. An idle loop clears lease_until; a crashed loop leaves it set. wake_at is
-- the next time to check (retries, waiting for capacity). drive_requested_at is the time of an
-- enqueued drive job that has not started. event_seq numbers the events.
CREATE TABLE executions (
    id                  uuid NOT NULL,
    tenant_id           uuid NOT NULL,
    project_id          uuid NOT NULL,
    workflow_id         uuid NOT NULL,
    version_id          uuid NOT NULL,
    workflow_name       text NOT NULL,
    version             text NOT NULL,
    name                text NOT NULL DEFAULT '',
    status              text NOT NULL DEFAULT 'PENDING',
    priority            integer NOT NULL,
    inputs              jsonb NOT NULL,
    outputs             jsonb,
    error               jsonb,
    submitted_by        uuid NOT NULL,
    submitted_by_name   text NOT NULL,
    relaunch_of         uuid,
    created_at          timestamptz NOT NULL,
    started_at          timestamptz,
    finished_at         timestamptz,
    cancel_requested_at timestamptz,
    cancel_reason       text NOT NULL DEFAULT '',
    total               integer NOT NULL,
    pending             integer NOT NULL,
    ready               integer NOT NULL DEFAULT 0,
    queued              integer NOT NULL DEFAULT 0,
    running             integer NOT NULL DEFAULT 0,
    retrying            integer NOT NULL DEFAULT 0,
    succeeded           integer NOT NULL DEFAULT 0,
    failed              integer NOT NULL DEFAULT 0,
    skipped             integer NOT NULL DEFAULT 0,
    cancelled           integer NOT NULL DEFAULT 0,
    levels              integer NOT NULL,
    levels_done         integer NOT NULL DEFAULT 0,
    event_seq           bigint NOT NULL DEFAULT 0,
    owner               text NOT NULL DEFAULT '',
    owner_epoch         bigint NOT NULL DEFAULT 0,
    lease_until         timestamptz,
    wake_at             timestamptz,
    drive_requested_at  timestamptz,
    CONSTRAINT executions_pkey PRIMARY KEY (id),
    CONSTRAINT executions_status_check CHECK (status IN ('PENDING', 'RUNNING', 'PAUSED', 'SUCCEEDED', 'FAILED', 'CANCELLED')),
    CONSTRAINT executions_priority_check CHECK (priority BETWEEN 0 AND 100),
    CONSTRAINT executions_counts_check CHECK (
        least(pending, ready, queued, running, retrying, succeeded, failed, skipped, cancelled) >= 0
        AND pending + ready + queued + running + retrying + succeeded + failed + skipped + cancelled = total),
    CONSTRAINT executions_levels_check CHECK (levels_done BETWEEN 0 AND levels),
    CONSTRAINT executions_started_check CHECK ((status = 'PENDING') <= (started_at IS NULL)),
    CONSTRAINT executions_finished_check CHECK (
        (status IN ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (finished_at IS NOT NULL)
        AND (finished_at IS NULL OR pending + ready + queued + running + retrying = 0)),
    CONSTRAINT executions_succeeded_check CHECK (status <> 'SUCCEEDED' OR succeeded + skipped = total)
) PARTITION BY RANGE (id);
CREATE INDEX executions_project_idx ON executions (project_id, id DESC);
CREATE INDEX executions_workflow_idx ON executions (workflow_id, id DESC);
CREATE INDEX executions_submitter_idx ON executions (submitted_by, id DESC);
CREATE INDEX executions_status_idx ON executions (project_id, status, id DESC);
CREATE INDEX executions_live_idx ON executions (id) WHERE status IN ('PENDING', 'RUNNING');

-- A key is unique within its project forever, across the partitions.
CREATE TABLE execution_idempotency_keys (
    project_id   uuid NOT NULL,
    key          text NOT NULL,
    execution_id uuid NOT NULL,
    request_hash bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT execution_idempotency_keys_pkey PRIMARY KEY (project_id, key)
);

-- attempt counts the started attempts, retries those that use a retry of the policy (the
-- repetition of an interrupted attempt uses none). changed_seq is the event_seq of the execution
-- at the latest change. The key is the only index, so that a state change stays on its page.
CREATE TABLE nodes (
    execution_id         uuid NOT NULL,
    node_index           integer NOT NULL,
    name                 text NOT NULL,
    level                integer NOT NULL,
    state                text NOT NULL DEFAULT 'PENDING',
    pending_dependencies integer NOT NULL,
    attempt              integer NOT NULL DEFAULT 0,
    retries              integer NOT NULL DEFAULT 0,
    reason               jsonb,
    error                jsonb,
    outputs              jsonb,
    ready_at             timestamptz,
    started_at           timestamptz,
    finished_at          timestamptz,
    retry_at             timestamptz,
    progress             integer,
    progress_message     text NOT NULL DEFAULT '',
    progress_status      text NOT NULL DEFAULT '',
    changed_seq          bigint NOT NULL DEFAULT 0,
    CONSTRAINT nodes_pkey PRIMARY KEY (execution_id, node_index),
    CONSTRAINT nodes_state_check CHECK (state IN ('PENDING', 'READY', 'QUEUED', 'RUNNING', 'RETRYING', 'SUCCEEDED', 'FAILED', 'SKIPPED', 'CANCELLED')),
    CONSTRAINT nodes_pending_check CHECK (pending_dependencies >= 0
        AND (pending_dependencies = 0 OR state IN ('PENDING', 'SKIPPED', 'CANCELLED'))),
    CONSTRAINT nodes_attempt_check CHECK (attempt >= 0 AND retries BETWEEN 0 AND attempt
        AND (attempt > 0 OR state NOT IN ('QUEUED', 'RUNNING', 'RETRYING', 'SUCCEEDED'))),
    CONSTRAINT nodes_ready_check CHECK ((state = 'READY') <= (ready_at IS NOT NULL)),
    CONSTRAINT nodes_retrying_check CHECK ((state = 'RETRYING') = (retry_at IS NOT NULL)),
    CONSTRAINT nodes_finished_check CHECK ((state IN ('SUCCEEDED', 'FAILED', 'SKIPPED', 'CANCELLED')) = (finished_at IS NOT NULL)),
    CONSTRAINT nodes_failed_check CHECK ((state = 'FAILED') <= (error IS NOT NULL)),
    CONSTRAINT nodes_progress_check CHECK (progress BETWEEN 0 AND 100)
) PARTITION BY RANGE (execution_id);

-- One row for each attempt that a launcher was requested to start.
CREATE TABLE attempts (
    execution_id   uuid NOT NULL,
    node_index     integer NOT NULL,
    attempt        integer NOT NULL,
    launcher       text NOT NULL,
    queued_at      timestamptz NOT NULL,
    started_at     timestamptz,
    finished_at    timestamptz,
    outcome        text,
    exit_code      integer,
    message        text NOT NULL DEFAULT '',
    host           text NOT NULL DEFAULT '',
    pid            integer,
    cpu_seconds    double precision,
    peak_rss_bytes bigint,
    outputs        jsonb,
    CONSTRAINT attempts_pkey PRIMARY KEY (execution_id, node_index, attempt),
    CONSTRAINT attempts_number_check CHECK (attempt > 0),
    CONSTRAINT attempts_outcome_check CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'START_FAILED', 'INTERRUPTED', 'OUTPUT_FAILED', 'LOST')),
    CONSTRAINT attempts_finished_check CHECK ((outcome IS NOT NULL) = (finished_at IS NOT NULL))
) PARTITION BY RANGE (execution_id);

-- Every change of state writes its event in the same transaction.
CREATE TABLE events (
    execution_id uuid NOT NULL,
    seq          bigint NOT NULL,
    at           timestamptz NOT NULL,
    kind         text NOT NULL,
    node_index   integer,
    attempt      integer,
    message      text NOT NULL DEFAULT '',
    data         jsonb,
    CONSTRAINT events_pkey PRIMARY KEY (execution_id, seq)
) PARTITION BY RANGE (execution_id);

-- The capacity that a live attempt uses, from its claim to its end. The rows also list the
-- attempts that should be live: every heartbeat moves expires_at. After deadline_at, which is
-- known when the attempt starts, the engine no longer waits for the runner's own timeout.
CREATE TABLE reservations (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    project_id   uuid NOT NULL,
    launcher     text NOT NULL,
    cpu_millis   integer NOT NULL,
    memory_mib   integer NOT NULL,
    priority     integer NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    deadline_at  timestamptz,
    stop_sent_at timestamptz,
    CONSTRAINT reservations_pkey PRIMARY KEY (execution_id, node_index, attempt),
    CONSTRAINT reservations_amounts_check CHECK (cpu_millis >= 0 AND memory_mib >= 0)
);

-- Final reports that arrived while no drive loop of this process owned the execution. A report
-- is durable before the response to its sender, and deleted when it is applied.
CREATE TABLE reports (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    report       bytea NOT NULL,
    received_at  timestamptz NOT NULL,
    CONSTRAINT reports_pkey PRIMARY KEY (execution_id, node_index, attempt)
);

-- Checkpoints of tasks: one value per node, shared by its attempts.
CREATE TABLE checkpoints (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    data         jsonb NOT NULL,
    saved_at     timestamptz NOT NULL,
    CONSTRAINT checkpoints_pkey PRIMARY KEY (execution_id, node_index)
) PARTITION BY RANGE (execution_id);

ALTER TABLE reservations SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
SELECT ensure_partitions(now(), 2);

-- +goose Down
DROP TABLE checkpoints, reports, reservations, events, attempts, nodes, execution_idempotency_keys, executions;
DROP FUNCTION ensure_partitions(timestamptz, integer);
DROP FUNCTION uuid_floor(timestamptz);
