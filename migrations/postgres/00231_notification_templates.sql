-- +goose Up

-- notification_templates replace the built-in message about an event in channels of one kind.
CREATE TABLE notification_templates (
    tenant_id  uuid NOT NULL,
    project_id uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    kind       text NOT NULL, -- of the channels
    event      text NOT NULL, -- 'any': every event without a template of its own
    subject    text NOT NULL, -- of e-mails; '' for the other kinds
    body       text NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by text NOT NULL,
    PRIMARY KEY (project_id, kind, event),
    CONSTRAINT notification_templates_kind_check CHECK (kind IN ('slack', 'teams', 'email', 'webhook'))
);

-- The preview of a template shows the latest message about its event.
CREATE INDEX notifications_event_idx ON notifications (project_id, event, id DESC);

-- The loop of notifications looks for triggers that the server has paused.
CREATE INDEX triggers_paused_idx ON triggers (project_id, id) WHERE NOT enabled AND paused <> '';

-- +goose Down
DROP INDEX triggers_paused_idx;
DROP INDEX notifications_event_idx;
DROP TABLE notification_templates;
