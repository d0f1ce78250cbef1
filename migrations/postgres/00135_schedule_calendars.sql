-- Calendars of a project: holidays, days off and times in which nothing fires. Schedules name one.
-- Conditions, history limits and the workflow that declares a schedule are settings of schedules.
-- +goose Up
CREATE TABLE schedule_calendars (
    id          uuid PRIMARY KEY,
    tenant_id   uuid NOT NULL,
    project_id  uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    name        text NOT NULL,
    description text NOT NULL,
    weekend     text[] NOT NULL,
    holidays    jsonb NOT NULL,
    blackouts   jsonb NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);
CREATE UNIQUE INDEX schedule_calendars_name_key ON schedule_calendars (project_id, lower(name));

ALTER TABLE schedules
    ADD COLUMN calendar_id uuid CONSTRAINT schedules_calendar_fkey REFERENCES schedule_calendars,
    ADD COLUMN business_days boolean NOT NULL DEFAULT false,
    ADD COLUMN exclude jsonb NOT NULL DEFAULT '[]', -- windows of the clock
    ADD COLUMN condition text NOT NULL DEFAULT '', -- a fire is skipped unless it is true
    ADD COLUMN stop_when text NOT NULL DEFAULT '', -- the schedule is paused once it is true
    ADD COLUMN keep_succeeded integer, -- executions that are kept; null: as the retention says
    ADD COLUMN keep_failed integer,
    ADD COLUMN declared_as text; -- its name in the definition of the workflow; null: a person created it
CREATE INDEX schedules_calendar_idx ON schedules (calendar_id) WHERE calendar_id IS NOT NULL;
CREATE UNIQUE INDEX schedules_declared_key ON schedules (workflow_id, declared_as) WHERE declared_as IS NOT NULL;
CREATE INDEX schedules_ahead_idx ON schedules (last_at) WHERE NOT paused;

-- +goose Down
DROP INDEX schedules_ahead_idx;
ALTER TABLE schedules
    DROP COLUMN declared_as, DROP COLUMN keep_failed, DROP COLUMN keep_succeeded, DROP COLUMN stop_when,
    DROP COLUMN condition, DROP COLUMN exclude, DROP COLUMN business_days, DROP COLUMN calendar_id;
DROP TABLE schedule_calendars;
