-- A rule remembers when users added events, workflows and channels to it. What happened before that causes no
-- messages about them.
-- +goose Up
ALTER TABLE notification_rules ADD COLUMN added jsonb NOT NULL DEFAULT '{}'; -- {"events": {NAME: TIME}, "workflows": …, "channels": …}; absent: since enabled_at

-- +goose Down
ALTER TABLE notification_rules DROP COLUMN added;
