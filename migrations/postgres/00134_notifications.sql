-- Notifications: rules of projects say which events go to which channels, and a notification is
-- one message to one channel. A channel is a connection of a kind that receives messages.
-- +goose Up
ALTER TABLE connections DROP CONSTRAINT connections_kind_check;
ALTER TABLE connections ADD CONSTRAINT connections_kind_check
    CHECK (kind IN ('postgres', 's3', 'http', 'huggingface', 'slack', 'teams', 'email', 'pagerduty', 'webhook', 'custom'));

CREATE TABLE notification_rules (
    id              uuid PRIMARY KEY,
    tenant_id       uuid NOT NULL,
    project_id      uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    name            text NOT NULL,
    events          text[] NOT NULL,
    workflows       text[] NOT NULL, -- names or patterns with *; none: all
    channels        text[] NOT NULL, -- names of connections
    slow_factor     double precision NOT NULL, -- of execution.slow: times the usual duration
    waiting_seconds integer NOT NULL, -- of execution.waiting
    quiet_from      text NOT NULL, -- HH:MM in timezone; '': no quiet hours
    quiet_to        text NOT NULL,
    timezone        text NOT NULL,
    enabled         boolean NOT NULL,
    enabled_at      timestamptz NOT NULL, -- events before do not count
    muted_until     timestamptz,
    created_at      timestamptz NOT NULL,
    created_by      text NOT NULL,
    updated_at      timestamptz NOT NULL,
    updated_by      text NOT NULL,
    CONSTRAINT notification_rules_events_check CHECK (cardinality(events) > 0),
    CONSTRAINT notification_rules_channels_check CHECK (cardinality(channels) > 0),
    CONSTRAINT notification_rules_quiet_check CHECK ((quiet_from = '') = (quiet_to = ''))
);
CREATE UNIQUE INDEX notification_rules_name_key ON notification_rules (project_id, lower(name));

-- due_at is when the next attempt is made. An attempt moves it ahead before it sends, so that a
-- server that stops in between only delays the next attempt. occurrence identifies the event.
CREATE TABLE notifications (
    id          uuid PRIMARY KEY,
    tenant_id   uuid NOT NULL,
    project_id  uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    rule_id     uuid NOT NULL,
    rule_name   text NOT NULL,
    channel     text NOT NULL,
    event       text NOT NULL,
    occurrence  text NOT NULL,
    message     jsonb NOT NULL,
    state       text NOT NULL,
    reason      text NOT NULL DEFAULT '', -- why it waits, was not sent, or what the receiver answered
    attempts    integer NOT NULL DEFAULT 0,
    log         jsonb NOT NULL DEFAULT '[]', -- the last attempts
    created_at  timestamptz NOT NULL,
    due_at      timestamptz,
    settled_at  timestamptz,
    CONSTRAINT notifications_once_key UNIQUE (rule_id, channel, occurrence),
    CONSTRAINT notifications_state_check CHECK (state IN ('PENDING', 'DELIVERED', 'FAILED', 'MUTED')),
    CONSTRAINT notifications_due_check CHECK ((state = 'PENDING') = (due_at IS NOT NULL) AND (state = 'PENDING') = (settled_at IS NULL))
);
CREATE INDEX notifications_due_idx ON notifications (due_at) WHERE state = 'PENDING';
CREATE INDEX notifications_project_idx ON notifications (project_id, id DESC);
CREATE INDEX notifications_state_idx ON notifications (project_id, state, id DESC) WHERE state <> 'DELIVERED';
CREATE INDEX notifications_old_idx ON notifications (settled_at);

-- What is known about a channel. While it is open, no message is sent to it.
CREATE TABLE notification_channels (
    project_id uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    name       text NOT NULL,
    failures   integer NOT NULL, -- in a row
    open_until timestamptz,
    ok_at      timestamptz,
    failed_at  timestamptz,
    error      text NOT NULL DEFAULT '',
    CONSTRAINT notification_channels_pkey PRIMARY KEY (project_id, name)
);

-- +goose Down
DROP TABLE notification_channels;
DROP TABLE notifications;
DROP TABLE notification_rules;
DELETE FROM connections WHERE kind IN ('slack', 'teams', 'email', 'pagerduty', 'webhook');
ALTER TABLE connections DROP CONSTRAINT connections_kind_check;
ALTER TABLE connections ADD CONSTRAINT connections_kind_check CHECK (kind IN ('postgres', 's3', 'http', 'huggingface', 'custom'));
