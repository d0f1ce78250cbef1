-- Schedules: workflows that are launched at times. next_at is the next fire, and due_at when it
-- happens: the same with the jitter of the schedule. Both are null when nothing more will fire.
-- +goose Up
CREATE TABLE schedules (
    id            uuid PRIMARY KEY,
    tenant_id     uuid NOT NULL,
    project_id    uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    workflow_id   uuid NOT NULL REFERENCES workflows ON DELETE CASCADE,
    workflow_name text NOT NULL,
    name          text NOT NULL,
    expressions   text[] NOT NULL, -- cron expressions and intervals
    at            timestamptz, -- the one time of a schedule without expressions
    timezone      text NOT NULL,
    anchor        timestamptz NOT NULL, -- of intervals
    gap           text NOT NULL,
    fold          text NOT NULL,
    starts_at     timestamptz,
    ends_at       timestamptz,
    version       text NOT NULL, -- '': the latest at each fire
    inputs        jsonb NOT NULL,
    priority      integer NOT NULL, -- -1: that of the definition
    misfire       text NOT NULL,
    catch_up      integer NOT NULL, -- seconds
    catch_up_max  integer NOT NULL,
    overlap       text NOT NULL,
    max_running   integer NOT NULL,
    jitter        integer NOT NULL, -- seconds
    pause_after   integer NOT NULL, -- failures in a row; 0: never
    paused        boolean NOT NULL,
    reason        text NOT NULL DEFAULT '',
    message       text NOT NULL DEFAULT '',
    owner_id      uuid NOT NULL,
    owner_name    text NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    resumed_at    timestamptz NOT NULL, -- failures before do not count
    last_at       timestamptz, -- the last fire
    next_at       timestamptz,
    due_at        timestamptz,
    CONSTRAINT schedules_when_check CHECK ((cardinality(expressions) = 0) = (at IS NOT NULL)),
    CONSTRAINT schedules_due_check CHECK ((next_at IS NULL) = (due_at IS NULL)),
    CONSTRAINT schedules_gap_check CHECK (gap IN ('run_after', 'skip')),
    CONSTRAINT schedules_fold_check CHECK (fold IN ('first', 'last', 'both')),
    CONSTRAINT schedules_misfire_check CHECK (misfire IN ('skip', 'latest', 'all')),
    CONSTRAINT schedules_overlap_check CHECK (overlap IN ('skip', 'queue_one', 'queue_all', 'cancel', 'allow'))
);
CREATE UNIQUE INDEX schedules_name_key ON schedules (project_id, lower(name));
CREATE INDEX schedules_due_idx ON schedules (due_at) WHERE NOT paused AND due_at IS NOT NULL;
CREATE INDEX schedules_workflow_idx ON schedules (workflow_id);

-- What became of each fire. The transaction that launches an execution writes its occurrence and
-- the next fire of the schedule, so no kill launches it twice or loses it.
CREATE TABLE schedule_occurrences (
    schedule_id    uuid NOT NULL REFERENCES schedules ON DELETE CASCADE,
    fire_at        timestamptz NOT NULL,
    last_fire_at   timestamptz NOT NULL, -- of the fires in this row
    fires          bigint NOT NULL DEFAULT 1,
    interval_start timestamptz NOT NULL,
    state          text NOT NULL,
    reason         text NOT NULL DEFAULT '',
    message        text NOT NULL DEFAULT '',
    execution_id   uuid,
    decided_at     timestamptz NOT NULL,
    CONSTRAINT schedule_occurrences_pkey PRIMARY KEY (schedule_id, fire_at),
    CONSTRAINT schedule_occurrences_state_check CHECK (state IN ('LAUNCHED', 'QUEUED', 'SKIPPED', 'REFUSED')),
    CONSTRAINT schedule_occurrences_execution_check CHECK ((state = 'LAUNCHED') = (execution_id IS NOT NULL))
);
CREATE UNIQUE INDEX schedule_occurrences_execution_key ON schedule_occurrences (execution_id);
CREATE INDEX schedule_occurrences_queued_idx ON schedule_occurrences (schedule_id, fire_at) WHERE state = 'QUEUED';
CREATE INDEX schedule_occurrences_old_idx ON schedule_occurrences (decided_at);

-- +goose Down
DROP TABLE schedule_occurrences;
DROP TABLE schedules;
