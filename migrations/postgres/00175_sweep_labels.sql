-- +goose Up
-- The tags and the note that every run of a sweep gets.
ALTER TABLE input_sweeps
    ADD COLUMN tags text[] NOT NULL DEFAULT '{}',
    ADD COLUMN note text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE input_sweeps DROP COLUMN tags, DROP COLUMN note;
