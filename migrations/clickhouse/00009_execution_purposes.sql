-- Why an execution was launched; '' is WORK.
ALTER TABLE execution_values ADD COLUMN IF NOT EXISTS purpose LowCardinality(String) AFTER sweep;
