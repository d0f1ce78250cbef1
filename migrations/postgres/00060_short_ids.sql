-- People read and type the random end of an execution's id ("#8c6804").
-- +goose Up
-- The reversed id, so that an end of the id is a prefix of the key.
CREATE INDEX executions_short_idx ON executions (project_id, (reverse(id::text)) COLLATE "C");

-- +goose Down
DROP INDEX executions_short_idx;
