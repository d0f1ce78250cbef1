-- Nodes that wait for an approval are RUNNING for the engine, and are counted apart from those that run.
-- +goose Up
ALTER TABLE executions ADD COLUMN awaiting_approval integer NOT NULL DEFAULT 0; -- part of running

UPDATE executions e SET awaiting_approval = (
    SELECT count(*) FROM nodes n WHERE n.execution_id = e.id AND n.state = 'RUNNING' AND n.reason ->> 'code' = 'APPROVAL')
WHERE e.status IN ('PENDING', 'RUNNING', 'PAUSED') AND e.running > 0;

-- The state of a node that readers see.
CREATE FUNCTION shown_state(state text, reason jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN state = 'RUNNING' AND reason ->> 'code' = 'APPROVAL' THEN 'APPROVAL' ELSE state END
$$;

-- +goose Down
DROP FUNCTION shown_state;
ALTER TABLE executions DROP COLUMN awaiting_approval;
