-- +goose Up

-- Notification rules look for the first refused run of each schedule and the first failed delivery of
-- each trigger, which the audit log contains once per streak.
CREATE INDEX audit_log_streak_idx ON audit_log (project_id, id) WHERE action IN ('schedule.refuse', 'trigger.fail');

-- +goose Down
DROP INDEX audit_log_streak_idx;
