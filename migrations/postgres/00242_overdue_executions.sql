-- +goose Up

-- The event execution.overdue: an execution has not finished within the deadline of the rule.
ALTER TABLE notification_rules ADD COLUMN deadline_seconds integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE notification_rules DROP COLUMN deadline_seconds;
