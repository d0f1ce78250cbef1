-- Conditions of joins can poll and receive webhooks. Each condition that polls has its own turn and
-- cursor. condition is '' for a trigger that polls without a join.
-- +goose Up
ALTER TABLE trigger_objects DROP CONSTRAINT trigger_objects_trigger_id_fkey, DROP CONSTRAINT trigger_objects_pkey;
ALTER TABLE trigger_polls DROP CONSTRAINT trigger_polls_pkey;
ALTER TABLE trigger_polls ADD COLUMN condition text NOT NULL DEFAULT '';
ALTER TABLE trigger_polls ADD CONSTRAINT trigger_polls_pkey PRIMARY KEY (trigger_id, condition);
ALTER TABLE trigger_objects ADD COLUMN condition text NOT NULL DEFAULT '';
ALTER TABLE trigger_objects
    ADD CONSTRAINT trigger_objects_pkey PRIMARY KEY (trigger_id, condition, key),
    ADD CONSTRAINT trigger_objects_poll_fkey FOREIGN KEY (trigger_id, condition) REFERENCES trigger_polls ON DELETE CASCADE;

-- The condition of a join that received the event of a delivery, '' for others.
ALTER TABLE trigger_deliveries ADD COLUMN condition text NOT NULL DEFAULT '';
CREATE INDEX trigger_deliveries_condition_idx ON trigger_deliveries (trigger_id, condition, id DESC) WHERE condition <> '';
CREATE INDEX trigger_join_events_last_idx ON trigger_join_events (trigger_id, condition, at DESC);

-- +goose Down
DROP INDEX trigger_join_events_last_idx;
DROP INDEX trigger_deliveries_condition_idx;
ALTER TABLE trigger_deliveries DROP COLUMN condition;
DELETE FROM trigger_polls WHERE condition <> '';
ALTER TABLE trigger_objects DROP CONSTRAINT trigger_objects_poll_fkey, DROP CONSTRAINT trigger_objects_pkey, DROP COLUMN condition;
ALTER TABLE trigger_polls DROP CONSTRAINT trigger_polls_pkey, DROP COLUMN condition;
ALTER TABLE trigger_polls ADD CONSTRAINT trigger_polls_pkey PRIMARY KEY (trigger_id);
ALTER TABLE trigger_objects ADD CONSTRAINT trigger_objects_pkey PRIMARY KEY (trigger_id, key),
    ADD CONSTRAINT trigger_objects_trigger_id_fkey FOREIGN KEY (trigger_id) REFERENCES trigger_polls ON DELETE CASCADE;
