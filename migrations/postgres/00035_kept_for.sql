-- How long one execution is kept after its end, when its launch said so.
-- +goose Up
ALTER TABLE executions ADD COLUMN ttl jsonb;

-- +goose Down
ALTER TABLE executions DROP COLUMN ttl;
