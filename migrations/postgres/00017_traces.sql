-- traceparent is the trace of the launch as a W3C trace context. It is empty without tracing.
-- +goose Up
ALTER TABLE executions ADD COLUMN traceparent text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE executions DROP COLUMN traceparent;
