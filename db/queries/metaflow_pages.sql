-- name: HasMetaflowRuns :one
SELECT EXISTS (SELECT 1 FROM metaflow_runs WHERE project_id = @project_id);

-- name: FindMetaflowRuns :many
-- Runs of a project, the newest first: one of them unless run_number is 0. The filters are parts
-- of names and tags; an empty one matches every run. before is the number of the last run of the
-- page before, 0 for the first page.
SELECT * FROM metaflow_run_rows
WHERE project_id = @project_id AND (@run_number::bigint = 0 OR run_number = @run_number) AND (@before::bigint = 0 OR run_number < @before)
    AND (@text::text = '' OR strpos(lower(flow_id || '/' || coalesce(run_id, run_number::text)), lower(@text)) > 0)
    AND (@user_part::text = '' OR strpos(lower("user"), lower(@user_part)) > 0)
    AND (@tag::text = '' OR metaflow_tagged(tags || system_tags, 'likeany', ARRAY[@tag::text]))
    AND (@status::text = '' OR status = @status)
ORDER BY run_number DESC
LIMIT @row_limit;

-- name: MetaflowAttempts :many
-- Attempts of the tasks of a run, or of one task unless task_number is 0. The number of an attempt
-- is in the tags of its metadata. A task without an attempt has one row.
SELECT t.task_number, t.task_id, t.step_name, t.ts_epoch, h.at AS last_heartbeat_ts,
    coalesce(a.attempt, -1)::bigint AS attempt, coalesce(a.started, 0)::bigint AS started, coalesce(a.ended, 0)::bigint AS ended,
    coalesce(a.ok, '')::text AS ok, coalesce(a.exception, '')::text AS exception, coalesce(a.path, '')::text AS path, coalesce(a.items, '')::text AS items, coalesce(a.origin, '')::text AS origin
FROM metaflow_tasks t
    LEFT JOIN metaflow_heartbeats h ON h.run_number = t.run_number AND h.task_number = t.task_number
    LEFT JOIN LATERAL (
        SELECT substr(g, 12)::bigint AS attempt,
            min(m.ts_epoch) FILTER (WHERE m.field_name = 'attempt') AS started,
            max(m.ts_epoch) FILTER (WHERE m.field_name = 'attempt_ok') AS ended,
            (array_agg(m.value ORDER BY m.id DESC) FILTER (WHERE m.field_name = 'attempt_ok'))[1] AS ok,
            (array_agg(m.value ORDER BY m.id DESC) FILTER (WHERE m.field_name = 'exception'))[1] AS exception,
            max(m.value) FILTER (WHERE m.field_name = 'foreach-execution-path') AS path,
            max(m.value) FILTER (WHERE m.field_name = 'foreach-stack') AS items,
            max(m.value) FILTER (WHERE m.field_name = 'origin-run-id' AND m.value <> 'None') AS origin
        FROM metaflow_metadata m, unnest(m.tags) AS g
        WHERE m.task_number = t.task_number AND g ~ '^attempt_id:[0-9]{1,9}$'
        GROUP BY 1) a ON true
WHERE t.run_number = @run_number AND (@task_number::bigint = 0 OR t.task_number = @task_number)
ORDER BY t.task_number, a.attempt;
