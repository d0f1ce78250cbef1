-- Triggers that wait until all of several conditions have an event with the same key within a window.
-- +goose Up
ALTER TABLE triggers DROP CONSTRAINT triggers_kind_check, DROP CONSTRAINT triggers_settings_check;
ALTER TABLE triggers
    ADD CONSTRAINT triggers_kind_check CHECK (kind IN ('execution', 'webhook', 'artifact', 'dataset', 'model', 'event', 'http', 's3', 'all')),
    ADD CONSTRAINT triggers_settings_check CHECK ((kind IN ('http', 's3', 'all')) = (settings IS NOT NULL));

-- A join is a set of events with the same key. An open one waits for more; expires_at is when its oldest
-- event leaves the window.
CREATE TABLE trigger_joins (
    id         uuid PRIMARY KEY,
    trigger_id uuid NOT NULL REFERENCES triggers ON DELETE CASCADE,
    key        text NOT NULL, -- '': the trigger has no key
    state      text NOT NULL,
    opened_at  timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    closed_at  timestamptz,
    CONSTRAINT trigger_joins_state_check CHECK (state IN ('OPEN', 'COMPLETE', 'EXPIRED')),
    CONSTRAINT trigger_joins_closed_check CHECK ((state = 'OPEN') = (closed_at IS NULL))
);
CREATE UNIQUE INDEX trigger_joins_open_key ON trigger_joins (trigger_id, key) WHERE state = 'OPEN';
CREATE INDEX trigger_joins_complete_idx ON trigger_joins (trigger_id, key) WHERE state = 'COMPLETE';
CREATE INDEX trigger_joins_expires_idx ON trigger_joins (expires_at) WHERE state = 'OPEN';

-- The events of joins. The newest one of a condition counts, unless it has left the window.
CREATE TABLE trigger_join_events (
    trigger_id uuid NOT NULL REFERENCES triggers ON DELETE CASCADE,
    condition  text NOT NULL,
    key        text NOT NULL, -- identifies the event
    join_id    uuid NOT NULL REFERENCES trigger_joins ON DELETE CASCADE,
    subject    text NOT NULL,
    payload    jsonb, -- what expressions read; NULL after the join has closed
    source_id  uuid,
    depth      integer NOT NULL,
    at         timestamptz NOT NULL,
    expired    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (trigger_id, condition, key)
);
CREATE INDEX trigger_join_events_join_idx ON trigger_join_events (join_id);
CREATE INDEX trigger_join_events_current_idx ON trigger_join_events (join_id) WHERE NOT expired;
CREATE INDEX trigger_join_events_expired_idx ON trigger_join_events (at) WHERE expired;

-- +goose Down
DROP TABLE trigger_join_events;
DROP TABLE trigger_joins;
DELETE FROM triggers WHERE kind = 'all';
ALTER TABLE triggers DROP CONSTRAINT triggers_kind_check, DROP CONSTRAINT triggers_settings_check;
ALTER TABLE triggers
    ADD CONSTRAINT triggers_kind_check CHECK (kind IN ('execution', 'webhook', 'artifact', 'dataset', 'model', 'event', 'http', 's3')),
    ADD CONSTRAINT triggers_settings_check CHECK ((kind IN ('http', 's3')) = (settings IS NOT NULL));
