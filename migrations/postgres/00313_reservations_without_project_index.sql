-- Reservations exist only while attempts run. Reading all of them takes less time than it takes to
-- maintain an index whose entries every attempt adds.

-- +goose Up
DROP INDEX reservations_project_idx;

-- +goose Down
CREATE INDEX reservations_project_idx ON reservations (project_id);
