-- The sweep that launched an execution; '' for none.
ALTER TABLE execution_values ADD COLUMN IF NOT EXISTS sweep LowCardinality(String) AFTER submitted_by_id;
