-- The fire of the schedule that launched an execution: the time for which it runs, which can be
-- earlier than its launch.
-- +goose Up
ALTER TABLE executions ADD COLUMN scheduled_at timestamptz; -- null: no schedule launched it

-- +goose Down
ALTER TABLE executions DROP COLUMN scheduled_at;
