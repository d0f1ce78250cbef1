-- Attempts that provide a service to other nodes while they run (daemons).
-- +goose Up
-- The address of an attempt's service. It is empty until the pod is ready.
ALTER TABLE attempts ADD COLUMN address text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE attempts DROP COLUMN address;
