-- name: HasMetaflowRuns :one
SELECT EXISTS (SELECT 1 FROM metaflow_runs WHERE project_id = @project_id);

-- name: FindMetaflowRuns :many
-- Runs of a project, newest first: one of them unless run_number is 0. The filters are parts
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
-- Attempts of the tasks of a run, or of some of them unless the list of their numbers is empty. The
-- number of an attempt is in the tags of its metadata. A task without an attempt has one row.
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
WHERE t.run_number = @run_number AND (cardinality(@task_numbers::bigint[]) = 0 OR t.task_number = ANY (@task_numbers::bigint[]))
ORDER BY t.task_number, a.attempt;

-- name: ReportMetaflowAttempt :exec
-- Records what an attempt reported with its task; started, ended and ok are empty if it did not.
UPDATE metaflow_tasks SET
    started = CASE WHEN started = 0 THEN @started ELSE started END,
    ended = CASE WHEN @attempt::bigint < attempt THEN ended WHEN @ended::bigint > 0 THEN @ended WHEN @attempt > attempt THEN 0 ELSE ended END,
    ok = CASE WHEN @attempt < attempt THEN ok WHEN @ok::text <> '' THEN @ok WHEN @attempt > attempt THEN '' ELSE ok END,
    origin = CASE WHEN @origin::text = '' THEN origin ELSE @origin END,
    attempt = greatest(attempt, @attempt)
WHERE task_number = @task_number;

-- name: MetaflowStepCounts :many
-- Tasks of a run by step and state, without the parameters. running and now_ms decide about attempts
-- without an end, and about tasks without an attempt.
SELECT t.step_name, s.state::text AS state, count(*) AS tasks, min(t.ts_epoch)::bigint AS first_epoch, max(t.task_number)::bigint AS last_task,
    coalesce(min(t.started) FILTER (WHERE t.started > 0), 0)::bigint AS started, max(t.ended)::bigint AS ended, max(t.origin)::text AS origin
FROM metaflow_tasks t
    LEFT JOIN metaflow_heartbeats h ON h.run_number = t.run_number AND h.task_number = t.task_number
    CROSS JOIN LATERAL (SELECT metaflow_task_state(t.attempt, t.ok, coalesce(h.at * 1000, t.ts_epoch), @running::boolean, @beats::boolean, @now_ms::bigint) AS state) s
WHERE t.run_number = @run_number AND t.step_name <> '_parameters'
GROUP BY t.step_name, s.state
ORDER BY min(t.task_number);

-- name: MetaflowTaskPage :many
-- Numbers of tasks of a run, newest first, as in MetaflowStepCounts: of a step, with a state and
-- before a task, unless these are empty.
SELECT t.task_number
FROM metaflow_tasks t
    LEFT JOIN metaflow_heartbeats h ON h.run_number = t.run_number AND h.task_number = t.task_number
WHERE t.run_number = @run_number AND t.step_name <> '_parameters'
    AND (@step_name::text = '' OR t.step_name = @step_name) AND (@before::bigint = 0 OR t.task_number < @before)
    AND (@state::text = '' OR metaflow_task_state(t.attempt, t.ok, coalesce(h.at * 1000, t.ts_epoch), @running::boolean, @beats::boolean, @now_ms::bigint) = @state)
ORDER BY t.task_number DESC
LIMIT @row_limit;
