-- Events whose launch failed for a temporary reason. Each trigger repeats its own in their order, so that
-- it does not delay other triggers.
-- +goose Up
CREATE TABLE trigger_pending (
    id         uuid PRIMARY KEY,
    trigger_id uuid NOT NULL REFERENCES triggers ON DELETE CASCADE,
    key        text NOT NULL, -- of the delivery
    subject    text NOT NULL,
    payload    jsonb NOT NULL,
    source_id  uuid,
    depth      integer NOT NULL,
    failures   integer NOT NULL,
    error      text NOT NULL, -- of the last attempt
    due_at     timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT trigger_pending_once_key UNIQUE (trigger_id, key)
);
CREATE INDEX trigger_pending_order_idx ON trigger_pending (trigger_id, id);

-- +goose Down
DROP TABLE trigger_pending;
