-- The trace that the launch of an execution belongs to, as a W3C trace context; empty
-- when it is not traced.
-- +goose Up
ALTER TABLE executions ADD COLUMN traceparent text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE executions DROP COLUMN traceparent;
