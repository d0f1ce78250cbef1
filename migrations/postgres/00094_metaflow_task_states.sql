-- The page of a run counts tasks by state every two seconds. The state of a task comes from what
-- its latest attempt has reported, so the report is kept with the task: counting 10,000 tasks from
-- their metadata would read 130,000 rows.
--
-- Servers of the version before keep reporting meanwhile, so the lock of the new columns is held for
-- a moment only: each statement commits by itself, and the tasks follow 1,000 at a time. A migration
-- that was interrupted can run again.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE metaflow_tasks
    ADD COLUMN IF NOT EXISTS attempt bigint NOT NULL DEFAULT -1, -- the latest one that has started; -1: none
    ADD COLUMN IF NOT EXISTS started bigint NOT NULL DEFAULT 0,  -- the first attempt, in milliseconds
    ADD COLUMN IF NOT EXISTS ended bigint NOT NULL DEFAULT 0,    -- the latest attempt, in milliseconds
    ADD COLUMN IF NOT EXISTS ok text NOT NULL DEFAULT '',        -- the latest attempt: True, False or nothing
    ADD COLUMN IF NOT EXISTS origin text NOT NULL DEFAULT '';    -- the run from which a resumed run reused the task
ALTER TABLE metaflow_tasks SET (fillfactor = 70); -- reports change no index
-- +goose StatementBegin
DO $$
DECLARE
    low bigint := 0;
    high bigint;
BEGIN
    LOOP
        SELECT max(n.task_number) INTO high FROM (SELECT task_number FROM metaflow_tasks WHERE task_number > low ORDER BY task_number LIMIT 1000) n;
        EXIT WHEN high IS NULL;
        UPDATE metaflow_tasks t SET attempt = a.attempt, started = coalesce(a.started, t.ts_epoch), ended = coalesce(a.ended, 0), ok = coalesce(a.ok, ''), origin = coalesce(a.origin, '')
        FROM (
            SELECT l.task_number, l.attempt, l.origin,
                (SELECT min(m.ts_epoch) FROM metaflow_metadata m WHERE m.task_number = l.task_number AND m.field_name = 'attempt') AS started,
                (SELECT max(m.ts_epoch) FROM metaflow_metadata m WHERE m.task_number = l.task_number AND m.field_name = 'attempt_ok' AND m.tags @> ARRAY['attempt_id:' || l.attempt]) AS ended,
                (SELECT m.value FROM metaflow_metadata m WHERE m.task_number = l.task_number AND m.field_name = 'attempt_ok' AND m.tags @> ARRAY['attempt_id:' || l.attempt] ORDER BY m.id DESC LIMIT 1) AS ok
            FROM (
                SELECT m.task_number, coalesce(max(substr(g, 12)::bigint) FILTER (WHERE m.field_name IN ('attempt', 'attempt_ok')), -1) AS attempt,
                    max(m.value) FILTER (WHERE m.field_name = 'origin-run-id' AND m.value <> 'None') AS origin
                FROM metaflow_metadata m, unnest(m.tags) AS g
                WHERE m.task_number > low AND m.task_number <= high AND g ~ '^attempt_id:[0-9]{1,9}$'
                GROUP BY m.task_number) l) a
        WHERE a.task_number = t.task_number;
        COMMIT;
        low := high;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- The state of a task by its latest attempt. beat is its last sign in milliseconds; beats: the client
-- of the run sends heartbeats.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION metaflow_task_state(attempt bigint, ok text, beat bigint, running boolean, beats boolean, now_ms bigint) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN attempt < 0 THEN CASE WHEN running THEN 'waiting' ELSE 'omitted' END
    WHEN ok = 'True' THEN 'completed' WHEN ok = 'False' THEN 'failed'
    WHEN running AND (NOT beats OR now_ms - beat < 360000) THEN 'running' ELSE 'failed' END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION IF EXISTS metaflow_task_state;
ALTER TABLE metaflow_tasks RESET (fillfactor);
ALTER TABLE metaflow_tasks DROP COLUMN IF EXISTS attempt, DROP COLUMN IF EXISTS started, DROP COLUMN IF EXISTS ended, DROP COLUMN IF EXISTS ok, DROP COLUMN IF EXISTS origin;
