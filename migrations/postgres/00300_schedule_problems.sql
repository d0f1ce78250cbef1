-- A schedule has a problem when the server could not process it: its run, its pause, or the removal of its
-- old executions. The problem disappears when the server has processed the schedule.
-- +goose Up
ALTER TABLE schedules ADD COLUMN problem text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE schedules DROP COLUMN problem;
