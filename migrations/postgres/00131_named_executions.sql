-- A search for a text in the names of executions reads this index only. Most executions have no
-- name and are not in it.
-- +goose Up
CREATE INDEX executions_named_idx ON executions (project_id, id DESC) INCLUDE (name) WHERE name <> '';

-- +goose Down
DROP INDEX executions_named_idx;
