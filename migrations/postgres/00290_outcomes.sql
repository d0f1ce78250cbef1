-- A schedule and a backfill know how an execution ended after retention has removed it.
-- +goose Up
ALTER TABLE schedule_occurrences ADD COLUMN outcome text NOT NULL DEFAULT '';
ALTER TABLE backfill_slots ADD COLUMN outcome text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE backfill_slots DROP COLUMN outcome;
ALTER TABLE schedule_occurrences DROP COLUMN outcome;
