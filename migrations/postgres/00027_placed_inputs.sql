-- The runner's report about the transfer of an attempt's input files: a list, or null without a
-- report or without files.
-- +goose Up
ALTER TABLE attempts ADD COLUMN inputs jsonb;

-- +goose Down
ALTER TABLE attempts DROP COLUMN inputs;
