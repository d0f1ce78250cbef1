-- +goose Up

-- A failed delivery looks for the last one that launched or failed, and lists of triggers count the
-- launches of a week. A busy trigger keeps many deliveries that did neither.
CREATE INDEX trigger_deliveries_decided_idx ON trigger_deliveries (trigger_id, id DESC) INCLUDE (outcome) WHERE outcome IN ('LAUNCHED', 'FAILED');
CREATE INDEX trigger_deliveries_launched_idx ON trigger_deliveries (trigger_id, at) WHERE outcome = 'LAUNCHED';

-- +goose Down
DROP INDEX trigger_deliveries_launched_idx;
DROP INDEX trigger_deliveries_decided_idx;
