-- Short IDs of executions: users see and enter the random suffix of an ID ("#8c6804").
-- +goose Up
-- The index reverses the ID, so that a suffix of the ID is a prefix of the key.
CREATE INDEX executions_short_idx ON executions (project_id, (reverse(id::text)) COLLATE "C");

-- +goose Down
DROP INDEX executions_short_idx;
