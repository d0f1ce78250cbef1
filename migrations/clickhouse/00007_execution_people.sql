-- Two people can have one name: user:me finds by the ID.
ALTER TABLE execution_values ADD COLUMN IF NOT EXISTS submitted_by_id UUID AFTER submitted_by;
