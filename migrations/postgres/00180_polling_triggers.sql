-- Triggers that poll an address or a bucket. settings describes what they poll.
-- +goose Up
ALTER TABLE triggers ADD COLUMN settings jsonb; -- of http and s3
ALTER TABLE triggers ADD COLUMN paused text NOT NULL DEFAULT ''; -- why the server turned it off; '': it did not
ALTER TABLE triggers DROP CONSTRAINT triggers_kind_check, DROP CONSTRAINT triggers_sources_check;
ALTER TABLE triggers
    ADD CONSTRAINT triggers_kind_check CHECK (kind IN ('execution', 'webhook', 'artifact', 'dataset', 'model', 'event', 'http', 's3')),
    ADD CONSTRAINT triggers_sources_check CHECK ((kind IN ('execution', 'artifact', 'dataset', 'model', 'event')) = (cardinality(sources) > 0) AND (kind = 'execution') = (cardinality(states) > 0)),
    ADD CONSTRAINT triggers_settings_check CHECK ((kind IN ('http', 's3')) = (settings IS NOT NULL)),
    ADD CONSTRAINT triggers_paused_check CHECK (paused = '' OR NOT enabled);

-- The polls of a trigger. A server that polls has the turn until leased_until; only the holder of the
-- current turn moves the cursor. A new epoch starts when what the trigger polls changes.
CREATE TABLE trigger_polls (
    trigger_id   uuid PRIMARY KEY REFERENCES triggers ON DELETE CASCADE,
    epoch        uuid NOT NULL,
    baseline     boolean NOT NULL, -- the next complete poll only notes what exists
    cursor       jsonb NOT NULL, -- of http: what the last response was
    sequence     bigint NOT NULL DEFAULT 0, -- of http: events of the epoch
    turn         bigint NOT NULL DEFAULT 0,
    leased_until timestamptz,
    due_at       timestamptz NOT NULL,
    polled_at    timestamptz,
    status       text NOT NULL DEFAULT '', -- what the last successful poll found
    failures     integer NOT NULL DEFAULT 0, -- in a row
    error        text NOT NULL DEFAULT '' -- of the last poll
);
CREATE INDEX trigger_polls_due_idx ON trigger_polls (due_at);

-- The objects that a trigger has seen in a bucket.
CREATE TABLE trigger_objects (
    trigger_id uuid NOT NULL REFERENCES trigger_polls ON DELETE CASCADE,
    key        text NOT NULL,
    etag       text NOT NULL,
    PRIMARY KEY (trigger_id, key)
);

-- +goose Down
DROP TABLE trigger_objects;
DROP TABLE trigger_polls;
DELETE FROM triggers WHERE kind IN ('http', 's3');
ALTER TABLE triggers DROP CONSTRAINT triggers_kind_check, DROP CONSTRAINT triggers_sources_check, DROP CONSTRAINT triggers_settings_check,
    DROP CONSTRAINT triggers_paused_check, DROP COLUMN settings, DROP COLUMN paused;
ALTER TABLE triggers
    ADD CONSTRAINT triggers_kind_check CHECK (kind IN ('execution', 'webhook', 'artifact', 'dataset', 'model', 'event')),
    ADD CONSTRAINT triggers_sources_check CHECK ((kind <> 'webhook') = (cardinality(sources) > 0) AND (kind = 'execution') = (cardinality(states) > 0));
