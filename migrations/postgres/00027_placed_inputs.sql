-- How the files of an attempt's inputs came to it, as its runner told: a list, null
-- while it has not, or when there are none.
-- +goose Up
ALTER TABLE attempts ADD COLUMN inputs jsonb;

-- +goose Down
ALTER TABLE attempts DROP COLUMN inputs;
