-- The inbox: notifications of persons. An item is about one occurrence; the leader creates items from
-- the feed of events (docs/decisions/042-inbox.md).
-- +goose Up
CREATE TABLE inbox_items (
    id            uuid PRIMARY KEY,
    user_id       uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    tenant_id     uuid NOT NULL,
    project_id    uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE, -- who may not read it does not see the item
    event         text NOT NULL,
    occurrence    text NOT NULL, -- identifies what happened
    subject       text NOT NULL, -- the workflow or the model
    execution_id  uuid,
    node          text NOT NULL DEFAULT '', -- that waits for an answer
    message       jsonb NOT NULL,
    at            timestamptz NOT NULL, -- when it happened
    created_at    timestamptz NOT NULL,
    shown         boolean NOT NULL, -- false: sent by e-mail alone
    read_at       timestamptz,
    resolution    text NOT NULL DEFAULT '', -- of what waited for an answer: what became of it
    mail_state    text NOT NULL,
    mail_due_at   timestamptz, -- of the next attempt; an attempt moves it ahead before it sends
    mail_attempts integer NOT NULL DEFAULT 0,
    mail_error    text NOT NULL DEFAULT '',
    CONSTRAINT inbox_items_once_key UNIQUE (user_id, occurrence),
    CONSTRAINT inbox_items_mail_check CHECK (mail_state IN ('NONE', 'PENDING', 'SENT', 'FAILED', 'SKIPPED')),
    CONSTRAINT inbox_items_due_check CHECK ((mail_state = 'PENDING') = (mail_due_at IS NOT NULL))
);
CREATE INDEX inbox_items_newest_idx ON inbox_items (user_id, id DESC) WHERE shown;
CREATE INDEX inbox_items_unread_idx ON inbox_items (user_id, project_id) WHERE shown AND read_at IS NULL;
CREATE INDEX inbox_items_execution_idx ON inbox_items (execution_id) WHERE execution_id IS NOT NULL;
CREATE INDEX inbox_items_open_idx ON inbox_items (execution_id) WHERE resolution = '' AND event IN ('approval.waiting', 'model.requested');
CREATE INDEX inbox_items_mail_idx ON inbox_items (mail_due_at) WHERE mail_state = 'PENDING';
CREATE INDEX inbox_items_failed_idx ON inbox_items (user_id, id DESC) WHERE mail_state = 'FAILED';
CREATE INDEX inbox_items_old_idx ON inbox_items (created_at);

-- What a person wants to be notified of. modes has the events with another mode than the default.
CREATE TABLE inbox_settings (
    user_id    uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    modes      jsonb NOT NULL,
    address    text NOT NULL, -- of a person without an e-mail address from a sign-in provider
    digest     text NOT NULL,
    digest_at  text NOT NULL, -- HH:MM in timezone, of a daily digest
    quiet_from text NOT NULL, -- HH:MM in timezone; '': no quiet hours
    quiet_to   text NOT NULL,
    timezone   text NOT NULL,
    muted      text[] NOT NULL, -- names or patterns of workflows and models
    updated_at timestamptz NOT NULL,
    CONSTRAINT inbox_settings_digest_check CHECK (digest IN ('immediately', 'hourly', 'daily')),
    CONSTRAINT inbox_settings_quiet_check CHECK ((quiet_from = '') = (quiet_to = ''))
);

-- Up to where the feed of events has become items. Events from before this migration become none.
CREATE TABLE inbox_feed (
    one      boolean NOT NULL DEFAULT true,
    position bigint NOT NULL,
    CONSTRAINT inbox_feed_pkey PRIMARY KEY (one),
    CONSTRAINT inbox_feed_one_check CHECK (one)
);
INSERT INTO inbox_feed (position) SELECT position FROM event_feed_state;

-- +goose Down
DROP TABLE inbox_feed, inbox_settings, inbox_items;
