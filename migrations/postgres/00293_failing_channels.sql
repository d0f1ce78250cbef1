-- A channel that does not receive messages is reported once, until it receives one again.
-- +goose Up
ALTER TABLE notification_channels ADD COLUMN reported boolean NOT NULL DEFAULT false; -- the audit log has the current failures

-- +goose Down
ALTER TABLE notification_channels DROP COLUMN reported;
