-- Attempts that serve others while they run.
-- +goose Up
-- Where an attempt serves, once the cluster says that its pod is ready; '' before.
ALTER TABLE attempts ADD COLUMN address text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE attempts DROP COLUMN address;
