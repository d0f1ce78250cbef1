-- name: MetaflowFlows :many
SELECT * FROM metaflow_flows WHERE project_id = @project_id ORDER BY ts_epoch, flow_id;

-- name: MetaflowFlow :one
SELECT * FROM metaflow_flows WHERE project_id = @project_id AND flow_id = @flow_id;

-- name: InsertMetaflowFlow :one
INSERT INTO metaflow_flows (project_id, flow_id, user_name, ts_epoch)
VALUES (@project_id, @flow_id, sqlc.narg('user_name'), @ts_epoch)
RETURNING *;

-- name: MetaflowRuns :many
-- Runs of a flow. wants and tagged are filters: lists of {field, op, values} and {op, values}. A
-- limit of 0 returns all rows. The cursor is the time and number of the last row of the page before.
SELECT * FROM metaflow_run_rows r
WHERE r.project_id = @project_id AND r.flow_id = @flow_id
    AND (@before_epoch::bigint = 0 OR (r.ts_epoch, r.run_number) < (@before_epoch::bigint, @before_id::bigint))
    AND NOT EXISTS (SELECT 1 FROM jsonb_to_recordset(@wants::jsonb) AS f(field text, op text, "values" text[])
        WHERE NOT metaflow_matches(to_jsonb(r) ->> f.field, f.op, f."values"))
    AND NOT EXISTS (SELECT 1 FROM jsonb_to_recordset(@tagged::jsonb) AS f(op text, "values" text[])
        WHERE NOT metaflow_tagged(r.tags || r.system_tags, f.op, f."values"))
ORDER BY r.ts_epoch DESC, r.run_number DESC
LIMIT NULLIF(@row_limit::bigint, 0);

-- name: MetaflowRun :one
SELECT * FROM metaflow_run_rows
WHERE project_id = @project_id AND flow_id = @flow_id AND (run_number = @run_number OR run_id = @run_id::text);

-- name: InsertMetaflowRun :one
INSERT INTO metaflow_runs (project_id, flow_id, run_id, user_name, ts_epoch, tags, system_tags)
VALUES (@project_id, @flow_id, sqlc.narg('run_id'), @user_name, @ts_epoch, @tags, @system_tags)
RETURNING run_number;

-- name: LockMetaflowTags :one
SELECT tags, system_tags FROM metaflow_runs WHERE run_number = @run_number FOR UPDATE;

-- name: SetMetaflowTags :exec
UPDATE metaflow_runs SET tags = @tags WHERE run_number = @run_number;

-- name: BeatMetaflow :exec
-- Records a heartbeat of a run and, unless task_number is 0, of one of its tasks.
INSERT INTO metaflow_heartbeats (run_number, task_number, at)
SELECT @run_number, n, @at FROM unnest(CASE WHEN @task_number::bigint = 0 THEN ARRAY[0::bigint] ELSE ARRAY[0, @task_number::bigint] END) AS n
ON CONFLICT (run_number, task_number) DO UPDATE SET at = EXCLUDED.at WHERE metaflow_heartbeats.at < EXCLUDED.at;

-- name: MetaflowSteps :many
SELECT * FROM metaflow_steps WHERE run_number = @run_number ORDER BY ts_epoch DESC, step_name;

-- name: MetaflowStep :one
SELECT * FROM metaflow_steps WHERE run_number = @run_number AND step_name = @step_name;

-- name: InsertMetaflowStep :one
INSERT INTO metaflow_steps (run_number, step_name, user_name, ts_epoch)
VALUES (@run_number, @step_name, @user_name, @ts_epoch)
RETURNING *;

-- name: MetaflowTasks :many
-- Tasks of a step; see MetaflowRuns.
SELECT t.*, h.at AS last_heartbeat_ts
FROM metaflow_tasks t LEFT JOIN metaflow_heartbeats h ON h.run_number = t.run_number AND h.task_number = t.task_number
WHERE t.run_number = @run_number AND t.step_name = @step_name
    AND (@before_epoch::bigint = 0 OR (t.ts_epoch, t.task_number) < (@before_epoch::bigint, @before_id::bigint))
    AND NOT EXISTS (SELECT 1 FROM jsonb_to_recordset(@wants::jsonb) AS f(field text, op text, "values" text[])
        WHERE NOT metaflow_matches(CASE f.field WHEN 'task_id' THEN coalesce(t.task_id, t.task_number::text)
            WHEN 'last_heartbeat_ts' THEN h.at::text ELSE to_jsonb(t) ->> f.field END, f.op, f."values"))
ORDER BY t.ts_epoch DESC, t.task_number DESC
LIMIT NULLIF(@row_limit::bigint, 0);

-- name: MetaflowTask :one
SELECT t.*, h.at AS last_heartbeat_ts
FROM metaflow_tasks t LEFT JOIN metaflow_heartbeats h ON h.run_number = t.run_number AND h.task_number = t.task_number
WHERE t.run_number = @run_number AND t.step_name = @step_name AND (t.task_number = @task_number OR t.task_id = @task_id::text);

-- name: InsertMetaflowTask :one
INSERT INTO metaflow_tasks (run_number, step_name, task_id, user_name, ts_epoch)
VALUES (@run_number, @step_name, sqlc.narg('task_id'), @user_name, @ts_epoch)
RETURNING *;

-- name: FilterMetaflowTasks :many
-- Tasks of a step with a metadata value that matches a regular expression; without a field and a
-- pattern, all tasks.
SELECT coalesce(t.task_id, t.task_number::text)::text AS task_id FROM metaflow_tasks t
WHERE t.run_number = @run_number AND t.step_name = @step_name
    AND (@field_name::text = '' AND @pattern::text = '' OR EXISTS (
        SELECT 1 FROM metaflow_metadata m WHERE m.task_number = t.task_number
            AND (@field_name::text = '' OR m.field_name = @field_name) AND (@pattern::text = '' OR m.value ~ @pattern)))
ORDER BY t.task_number;

-- name: InsertMetaflowMetadata :execrows
INSERT INTO metaflow_metadata (task_number, field_name, value, type, user_name, tags, ts_epoch)
SELECT @task_number, m.field_name, m.value, m.type, m.user_name, coalesce(m.tags, '{}'), @ts_epoch
FROM jsonb_to_recordset(@rows::jsonb) AS m(field_name text, value text, type text, user_name text, tags text[]);

-- name: EndMetaflowRun :exec
-- Records what the step "end" reported.
UPDATE metaflow_runs SET ended_ok = @ended_ok, ended_epoch = @ended_epoch WHERE run_number = @run_number;

-- name: MetaflowMetadata :many
-- Metadata of one task, or of all tasks of a run when task_number is 0, newest first.
SELECT m.*, t.step_name, coalesce(t.task_id, t.task_number::text)::text AS task_id
FROM metaflow_tasks t JOIN metaflow_metadata m ON m.task_number = t.task_number
WHERE t.run_number = @run_number AND (@task_number::bigint = 0 OR t.task_number = @task_number)
ORDER BY m.id DESC;

-- name: InsertMetaflowArtifacts :execrows
INSERT INTO metaflow_artifacts (task_number, attempt_id, name, location, ds_type, sha, type, content_type, user_name, ts_epoch)
SELECT @task_number, a.attempt_id, a.name, a.location, a.ds_type, a.sha, a.type, a.content_type, a.user_name, @ts_epoch
FROM jsonb_to_recordset(@rows::jsonb) AS a(attempt_id bigint, name text, location text, ds_type text, sha text, type text, content_type text, user_name text)
ON CONFLICT DO NOTHING;

-- name: MetaflowArtifacts :many
-- Artifacts of a run; of one step unless step_name is empty, of one task unless task_number is 0,
-- with one name unless name is empty. attempt -1 is the latest attempt of each task; with a name, the
-- latest one that has it.
SELECT a.*, t.step_name, coalesce(t.task_id, t.task_number::text)::text AS task_id
FROM metaflow_tasks t JOIN metaflow_artifacts a ON a.task_number = t.task_number
WHERE t.run_number = @run_number
    AND (@step_name::text = '' OR t.step_name = @step_name)
    AND (@task_number::bigint = 0 OR t.task_number = @task_number)
    AND (@name::text = '' OR a.name = @name)
    AND a.attempt_id = CASE WHEN @attempt::bigint >= 0 THEN @attempt ELSE (
        SELECT max(l.attempt_id) FROM metaflow_artifacts l WHERE l.task_number = t.task_number AND (@name::text = '' OR l.name = @name)) END
ORDER BY a.task_number, a.name;

-- name: MetaflowRunsByID :many
-- Runs of a project with an ID: numbers are unique, texts only within a flow.
SELECT * FROM metaflow_run_rows
WHERE project_id = @project_id AND (run_number = @run_number OR run_id = @run_id::text)
ORDER BY run_number LIMIT 2;

-- name: SetMetaflowParameters :exec
UPDATE metaflow_runs SET parameters = @parameters WHERE run_number = @run_number;

-- name: MetaflowTaskPlace :one
-- Returns the flow, the run and the step of a task.
SELECT r.flow_id, r.run_number, r.run_id, t.step_name
FROM metaflow_tasks t JOIN metaflow_runs r ON r.run_number = t.run_number
WHERE r.project_id = @project_id AND t.task_number = @task_number;

-- name: InsertMetaflowArtifact :one
-- Records an artifact again if it exists, so that its ID is returned.
INSERT INTO metaflow_artifacts (task_number, attempt_id, name, location, ds_type, sha, type, content_type, user_name, ts_epoch, size_bytes)
VALUES (@task_number, @attempt_id, @name, @location, @ds_type, @sha, @type, @content_type, @user_name, @ts_epoch, sqlc.narg('size_bytes'))
ON CONFLICT ON CONSTRAINT metaflow_artifacts_pkey DO UPDATE SET name = excluded.name
RETURNING id, sha;

-- name: MetaflowArtifactRecords :many
-- A page of the artifacts of a project, newest first: one unless id is 0, those with a hash unless
-- sha is empty, those before an ID unless before is 0.
SELECT a.*, t.step_name, coalesce(t.task_id, t.task_number::text)::text AS task_id, r.flow_id, coalesce(r.run_id, r.run_number::text)::text AS run_id
FROM metaflow_artifacts a JOIN metaflow_tasks t ON t.task_number = a.task_number JOIN metaflow_runs r ON r.run_number = t.run_number
WHERE r.project_id = @project_id AND (@id::bigint = 0 OR a.id = @id) AND (@sha::text = '' OR a.sha = @sha)
    AND (@run_number::bigint = 0 OR r.run_number = @run_number) AND (@task_number::bigint = 0 OR a.task_number = @task_number)
    AND (@before::bigint = 0 OR a.id < @before)
ORDER BY a.id DESC LIMIT @row_limit;
