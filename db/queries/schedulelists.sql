-- name: SearchSchedules :many
-- Schedules of a project whose name, workflow or owner contains a text.
SELECT * FROM schedules
WHERE project_id = @project_id
    AND (sqlc.narg(workflow_id)::uuid IS NULL OR workflow_id = sqlc.narg(workflow_id))
    AND (sqlc.narg(paused)::bool IS NULL OR paused = sqlc.narg(paused))
    AND (@pattern::text = '' OR name ILIKE @pattern OR workflow_name ILIKE @pattern OR owner_name ILIKE @pattern)
    AND lower(name) > lower(@after::text)
ORDER BY lower(name)
LIMIT @max_rows;

-- name: CountProjectSchedules :one
SELECT count(*) AS total, count(*) FILTER (WHERE NOT paused AND next_at IS NOT NULL) AS active,
    coalesce(min(next_at) FILTER (WHERE NOT paused), 'epoch')::timestamptz AS next_at
FROM schedules WHERE project_id = @project_id AND (sqlc.narg(workflow_id)::uuid IS NULL OR workflow_id = sqlc.narg(workflow_id));

-- name: CountOccurrencesByHour :many
-- Outcomes of the runs of a project, by schedule and hour of a time zone. Missed ones that share
-- a row count in the hour of the first.
SELECT o.schedule_id, to_char(o.fire_at AT TIME ZONE @zone::text, 'YYYY-MM-DD HH24')::text AS hour, sum(o.fires)::bigint AS fires,
    count(*) FILTER (WHERE o.state = 'REFUSED' OR coalesce(e.status, o.outcome) = 'FAILED') AS failed
FROM schedule_occurrences o
JOIN schedules s ON s.id = o.schedule_id
LEFT JOIN executions e ON e.id = o.execution_id
WHERE s.project_id = @project_id AND o.fire_at >= @since::timestamptz AND o.fire_at < @until::timestamptz
GROUP BY 1, 2;

-- name: ListProjectOccurrences :many
-- The occurrences of a project in a time span, oldest first.
SELECT o.*, s.name, e.status, e.started_at, e.finished_at, coalesce(e.error ->> 'message', '')::text AS failure
FROM schedule_occurrences o
JOIN schedules s ON s.id = o.schedule_id
LEFT JOIN executions e ON e.id = o.execution_id
WHERE s.project_id = @project_id AND o.fire_at >= @since::timestamptz AND o.fire_at < @until::timestamptz
ORDER BY o.fire_at, s.name
LIMIT @max_rows;
