-- The retention of an execution that its launch set.
-- +goose Up
ALTER TABLE executions ADD COLUMN ttl jsonb;

-- +goose Down
ALTER TABLE executions DROP COLUMN ttl;
