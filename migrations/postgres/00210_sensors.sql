-- +goose Up
-- Sensors poll until a condition holds. polling has the beginning of the wait, the number of polls,
-- the last result and the time of the next poll; it is null for other nodes. A poll that found
-- nothing ends its attempt as NOT_YET.
ALTER TABLE nodes ADD COLUMN polling jsonb;
-- +goose StatementBegin
DO $$
DECLARE part regclass;
BEGIN
    FOR part IN SELECT relid FROM pg_partition_tree('attempts') ORDER BY level LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS attempts_outcome_check', part);
    END LOOP;
END
$$;
-- +goose StatementEnd
ALTER TABLE attempts ADD CONSTRAINT attempts_outcome_check
    CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'START_FAILED', 'INTERRUPTED', 'OUTPUT_FAILED', 'LOST', 'PREEMPTED', 'NOT_YET'));

-- +goose Down
UPDATE attempts SET outcome = 'INTERRUPTED' WHERE outcome = 'NOT_YET';
-- +goose StatementBegin
DO $$
DECLARE part regclass;
BEGIN
    FOR part IN SELECT relid FROM pg_partition_tree('attempts') ORDER BY level LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS attempts_outcome_check', part);
    END LOOP;
END
$$;
-- +goose StatementEnd
ALTER TABLE attempts ADD CONSTRAINT attempts_outcome_check
    CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'START_FAILED', 'INTERRUPTED', 'OUTPUT_FAILED', 'LOST', 'PREEMPTED'));
ALTER TABLE nodes DROP COLUMN polling;
