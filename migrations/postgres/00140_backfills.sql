-- Backfills: a schedule launched for times in the past. A backfill keeps what it launches, so later
-- changes of its schedule do not matter. Each slot is one of its times.
-- +goose Up
CREATE TABLE backfills (
    id            uuid PRIMARY KEY,
    tenant_id     uuid NOT NULL,
    project_id    uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    workflow_id   uuid NOT NULL REFERENCES workflows ON DELETE CASCADE,
    workflow_name text NOT NULL,
    schedule_id   uuid NOT NULL, -- it may be deleted while the backfill stays
    schedule_name text NOT NULL,
    timezone      text NOT NULL,
    version       text NOT NULL,
    inputs        jsonb NOT NULL,
    from_at       timestamptz NOT NULL,
    until_at      timestamptz NOT NULL,
    rerun         text NOT NULL,
    newest_first  boolean NOT NULL,
    parallelism   integer NOT NULL,
    priority      integer NOT NULL, -- -1: that of the definition
    status        text NOT NULL,
    message       text NOT NULL DEFAULT '',
    owner_id      uuid NOT NULL,
    owner_name    text NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    finished_at   timestamptz,
    CONSTRAINT backfills_rerun_check CHECK (rerun IN ('missing', 'failed', 'all')),
    CONSTRAINT backfills_parallelism_check CHECK (parallelism BETWEEN 1 AND 100),
    CONSTRAINT backfills_status_check CHECK (status IN ('RUNNING', 'PAUSED', 'FINISHED', 'CANCELLED')),
    CONSTRAINT backfills_finished_check CHECK ((status IN ('FINISHED', 'CANCELLED')) = (finished_at IS NOT NULL))
);
CREATE INDEX backfills_project_idx ON backfills (project_id, id DESC);
CREATE INDEX backfills_running_idx ON backfills (id) WHERE status = 'RUNNING';

CREATE TABLE backfill_slots (
    backfill_id    uuid NOT NULL REFERENCES backfills ON DELETE CASCADE,
    schedule_id    uuid NOT NULL,
    fire_at        timestamptz NOT NULL,
    interval_start timestamptz NOT NULL,
    state          text NOT NULL,
    message        text NOT NULL DEFAULT '',
    execution_id   uuid,
    decided_at     timestamptz NOT NULL,
    CONSTRAINT backfill_slots_pkey PRIMARY KEY (backfill_id, fire_at),
    CONSTRAINT backfill_slots_state_check CHECK (state IN ('PENDING', 'LAUNCHED', 'KEPT', 'REFUSED', 'CANCELLED')),
    CONSTRAINT backfill_slots_launched_check CHECK (state <> 'LAUNCHED' OR execution_id IS NOT NULL)
);
-- One backfill at a time is going to launch a time of a schedule.
CREATE UNIQUE INDEX backfill_slots_pending_key ON backfill_slots (schedule_id, fire_at) WHERE state = 'PENDING';
CREATE UNIQUE INDEX backfill_slots_execution_key ON backfill_slots (execution_id) WHERE state = 'LAUNCHED';
CREATE INDEX backfill_slots_schedule_idx ON backfill_slots (schedule_id, fire_at);

-- +goose Down
DROP TABLE backfill_slots;
DROP TABLE backfills;
