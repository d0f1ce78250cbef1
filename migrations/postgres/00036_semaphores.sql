-- The person who set the permits of a semaphore.
-- +goose Up
ALTER TABLE semaphores ADD COLUMN updated_by text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE semaphores DROP COLUMN updated_by;
