-- name: InsertSchedule :exec
INSERT INTO schedules (id, tenant_id, project_id, workflow_id, workflow_name, name, expressions, at, timezone, anchor, gap, fold, starts_at, ends_at,
    version, inputs, priority, misfire, catch_up, catch_up_max, overlap, max_running, jitter, pause_after, paused, reason, message,
    owner_id, owner_name, created_at, updated_at, resumed_at, next_at, due_at,
    calendar_id, business_days, exclude, condition, stop_when, keep_succeeded, keep_failed, declared_as)
VALUES (@id, @tenant_id, @project_id, @workflow_id, @workflow_name, @name, @expressions, sqlc.narg(at), @timezone, @anchor, @gap, @fold, sqlc.narg(starts_at), sqlc.narg(ends_at),
    @version, @inputs, @priority, @misfire, @catch_up, @catch_up_max, @overlap, @max_running, @jitter, @pause_after, @paused, @reason, @message,
    @owner_id, @owner_name, @now, @now, @now, sqlc.narg(next_at), sqlc.narg(due_at),
    sqlc.narg(calendar_id), @business_days, @exclude, @condition, @stop_when, sqlc.narg(keep_succeeded), sqlc.narg(keep_failed), sqlc.narg(declared_as));

-- name: GetSchedule :one
SELECT * FROM schedules WHERE id = @id;

-- name: LockSchedule :one
SELECT * FROM schedules WHERE id = @id FOR UPDATE;

-- name: ClaimSchedule :one
-- Returns no row for a schedule that another server changes now.
SELECT * FROM schedules WHERE id = @id FOR UPDATE SKIP LOCKED;

-- name: ListSchedules :many
SELECT * FROM schedules
WHERE project_id = @project_id
    AND (sqlc.narg(workflow_id)::uuid IS NULL OR workflow_id = sqlc.narg(workflow_id))
    AND (sqlc.narg(paused)::bool IS NULL OR paused = sqlc.narg(paused))
    AND (@name::text = '' OR lower(name) = lower(@name))
    AND lower(name) > lower(@after::text)
ORDER BY lower(name)
LIMIT @max_rows;

-- name: UpdateSchedule :exec
UPDATE schedules SET name = @name, expressions = @expressions, at = sqlc.narg(at), timezone = @timezone, anchor = @anchor, gap = @gap, fold = @fold,
    starts_at = sqlc.narg(starts_at), ends_at = sqlc.narg(ends_at), version = @version, inputs = @inputs, priority = @priority, misfire = @misfire,
    catch_up = @catch_up, catch_up_max = @catch_up_max, overlap = @overlap, max_running = @max_running, jitter = @jitter, pause_after = @pause_after,
    paused = @paused, reason = @reason, message = @message, owner_id = @owner_id, owner_name = @owner_name, resumed_at = @resumed_at,
    last_at = sqlc.narg(last_at), next_at = sqlc.narg(next_at), due_at = sqlc.narg(due_at), updated_at = @updated_at,
    calendar_id = sqlc.narg(calendar_id), business_days = @business_days, exclude = @exclude, condition = @condition, stop_when = @stop_when,
    keep_succeeded = sqlc.narg(keep_succeeded), keep_failed = sqlc.narg(keep_failed), problem = ''
WHERE id = @id;

-- name: DeleteSchedule :exec
DELETE FROM schedules WHERE id = @id;

-- name: CountSchedules :one
SELECT count(*) FROM schedules WHERE project_id = @project_id;

-- name: DueSchedules :many
SELECT id FROM schedules WHERE NOT paused AND due_at <= @now::timestamptz ORDER BY due_at LIMIT @max_rows;

-- name: SchedulesByID :many
SELECT * FROM schedules WHERE id = ANY (@ids::uuid[]) ORDER BY due_at, id;

-- name: ClaimSchedules :many
-- Locks schedules, in a fixed order. Omits those that another server changes now.
SELECT id, paused, next_at, updated_at FROM schedules WHERE id = ANY (@ids::uuid[]) ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: NextDue :one
SELECT due_at FROM schedules WHERE NOT paused AND due_at IS NOT NULL ORDER BY due_at LIMIT 1;

-- name: AdvanceSchedules :exec
UPDATE schedules s SET last_at = a.last_at, next_at = a.next_at, due_at = a.due_at, problem = ''
FROM jsonb_to_recordset(@schedules::jsonb) AS a(id uuid, last_at timestamptz, next_at timestamptz, due_at timestamptz)
WHERE s.id = a.id;

-- name: SetScheduleProblems :exec
-- Sets the problems of schedules. '' removes a problem that begins with own, and not one of another kind. It
-- does not write those that have not changed.
UPDATE schedules s SET problem = p.problem
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@problems::text[]) AS problem) p
WHERE s.id = p.id AND s.problem <> p.problem AND (p.problem <> '' OR starts_with(s.problem, @own::text));

-- name: InsertOccurrences :many
-- Returns the schedules of the occurrences that it inserts. It omits those whose time has an occurrence.
INSERT INTO schedule_occurrences (schedule_id, fire_at, last_fire_at, fires, interval_start, state, reason, message, execution_id, decided_at)
SELECT o.schedule_id, o.fire_at, o.last_fire_at, o.fires, o.interval_start, o.state, o.reason, o.message, o.execution_id, o.decided_at
FROM jsonb_to_recordset(@occurrences::jsonb) AS o(
    schedule_id uuid, fire_at timestamptz, last_fire_at timestamptz, fires bigint, interval_start timestamptz, state text, reason text, message text,
    execution_id uuid, decided_at timestamptz)
ON CONFLICT (schedule_id, fire_at) DO NOTHING
RETURNING schedule_id;

-- name: ForgetMissedOccurrences :many
-- Returns the schedules whose occurrence it removes.
DELETE FROM schedule_occurrences o
USING (SELECT unnest(@schedule_ids::uuid[]) AS schedule_id, unnest(@fire_ats::timestamptz[]) AS fire_at) f
WHERE o.schedule_id = f.schedule_id AND o.fire_at = f.fire_at AND o.state = 'SKIPPED' AND o.reason = 'missed'
RETURNING o.schedule_id;

-- name: SettleOccurrence :execrows
-- A queued occurrence is launched, refused or dropped.
UPDATE schedule_occurrences SET state = @state, reason = @reason, message = @message, execution_id = sqlc.narg(execution_id), decided_at = @now
WHERE schedule_id = @schedule_id AND fire_at = @fire_at AND state = 'QUEUED';

-- name: ListOccurrences :many
-- The newest occurrences of each of the schedules before a time, with the outcome of their executions, newest first.
SELECT o.*, e.status, e.started_at, e.finished_at, coalesce(e.error ->> 'message', '')::text AS failure
FROM unnest(@schedule_ids::uuid[]) AS s(id)
CROSS JOIN LATERAL (
    SELECT x.schedule_id, x.fire_at FROM schedule_occurrences x
    WHERE x.schedule_id = s.id AND (sqlc.narg(before)::timestamptz IS NULL OR x.fire_at < sqlc.narg(before))
    ORDER BY x.fire_at DESC LIMIT @max_rows
) newest
JOIN schedule_occurrences o ON o.schedule_id = newest.schedule_id AND o.fire_at = newest.fire_at
LEFT JOIN executions e ON e.id = o.execution_id
ORDER BY o.schedule_id, o.fire_at DESC;

-- name: LiveOccurrences :many
-- The executions of schedules that have not ended.
SELECT o.schedule_id, e.id FROM schedule_occurrences o
JOIN executions e ON e.id = o.execution_id
WHERE o.schedule_id = ANY (@schedule_ids::uuid[]) AND e.status IN ('PENDING', 'RUNNING', 'PAUSED')
ORDER BY o.schedule_id, o.fire_at;

-- name: ScheduleOfExecution :one
-- Returns the schedule that launched an execution. The reason is that of its occurrence.
SELECT s.id, s.name, o.reason FROM schedule_occurrences o JOIN schedules s ON s.id = o.schedule_id WHERE o.execution_id = @execution_id::uuid;

-- name: StateBeforeOccurrence :one
-- Returns the state of the newest other run of a schedule that was launched or refused, '' for none.
SELECT coalesce((
    SELECT o.state FROM schedule_occurrences o
    WHERE o.schedule_id = @schedule_id AND o.fire_at <> @fire_at AND o.state IN ('LAUNCHED', 'REFUSED')
    ORDER BY o.fire_at DESC LIMIT 1
), '')::text AS state;

-- name: CountQueuedOccurrences :many
SELECT schedule_id, count(*) AS queued FROM schedule_occurrences
WHERE schedule_id = ANY (@schedule_ids::uuid[]) AND state = 'QUEUED' GROUP BY schedule_id;

-- name: FirstQueuedOccurrence :one
SELECT * FROM schedule_occurrences WHERE schedule_id = @schedule_id AND state = 'QUEUED' ORDER BY fire_at LIMIT 1;

-- name: SchedulesWithQueue :many
-- Schedules whose first queued occurrence can be launched.
SELECT DISTINCT s.id FROM schedule_occurrences w
JOIN schedules s ON s.id = w.schedule_id
WHERE w.state = 'QUEUED' AND NOT s.paused
    AND (SELECT count(*) FROM schedule_occurrences o JOIN executions e ON e.id = o.execution_id
        WHERE o.schedule_id = s.id AND e.status IN ('PENDING', 'RUNNING', 'PAUSED')) < s.max_running;

-- name: FailingSchedules :many
-- Schedules whose last occurrences since they were resumed all failed, as many as pause them; of all
-- schedules, or some.
SELECT s.id FROM schedules s
WHERE (sqlc.narg(ids)::uuid[] IS NULL OR s.id = ANY (sqlc.narg(ids)::uuid[])) AND NOT s.paused AND s.pause_after > 0 AND s.pause_after <= (
    SELECT count(*) FROM (
        SELECT o.state = 'REFUSED' OR coalesce(e.status, o.outcome) = 'FAILED' AS failed,
            row_number() OVER (ORDER BY o.fire_at DESC) AS nth
        FROM schedule_occurrences o LEFT JOIN executions e ON e.id = o.execution_id
        WHERE o.schedule_id = s.id AND o.decided_at > s.resumed_at AND (o.state = 'REFUSED' OR coalesce(e.status, o.outcome) IN ('SUCCEEDED', 'FAILED'))
    ) ended WHERE ended.failed AND ended.nth <= s.pause_after);

-- name: DeleteOldOccurrences :exec
DELETE FROM schedule_occurrences WHERE decided_at < @before AND state <> 'QUEUED';

-- name: SchedulesAhead :many
-- Schedules whose last run is later than a time.
SELECT id FROM schedules WHERE NOT paused AND last_at > @latest::timestamptz LIMIT 1000;

-- name: DeclaredSchedules :many
-- The schedules that the definition of a workflow declares.
SELECT * FROM schedules WHERE workflow_id = @workflow_id AND declared_as IS NOT NULL ORDER BY declared_as FOR UPDATE;

-- name: CountEndedOccurrences :one
-- The executions of a schedule by how they ended, since it was created or resumed.
SELECT count(*) FILTER (WHERE coalesce(e.status, o.outcome) = 'SUCCEEDED') AS succeeded,
    count(*) FILTER (WHERE coalesce(e.status, o.outcome) = 'FAILED') AS failed
FROM schedule_occurrences o
LEFT JOIN executions e ON e.id = o.execution_id
WHERE o.schedule_id = @schedule_id AND o.decided_at >= @since;

-- name: SchedulesWithHistory :many
SELECT id FROM schedules WHERE keep_succeeded IS NOT NULL OR keep_failed IS NOT NULL ORDER BY id;

-- name: ExpireHistory :execrows
-- Executions of a schedule beyond the newest that it keeps expire now. Those that are pinned stay.
UPDATE executions SET expires_at = @now::timestamptz
WHERE executions.kept_at IS NULL AND (executions.expires_at IS NULL OR executions.expires_at > @now::timestamptz) AND executions.id IN (
    SELECT ended.id FROM (
        SELECT e.id, e.status, row_number() OVER (PARTITION BY e.status = 'SUCCEEDED' ORDER BY o.fire_at DESC) AS nth
        FROM schedule_occurrences o JOIN executions e ON e.id = o.execution_id
        WHERE o.schedule_id = @schedule_id AND e.status IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
    ) ended JOIN schedules s ON s.id = @schedule_id
    WHERE ended.nth > CASE WHEN ended.status = 'SUCCEEDED' THEN s.keep_succeeded ELSE s.keep_failed END);

-- name: InsertCalendar :exec
INSERT INTO schedule_calendars (id, tenant_id, project_id, name, description, weekend, holidays, blackouts, created_at, updated_at)
VALUES (@id, @tenant_id, @project_id, @name, @description, @weekend, @holidays, @blackouts, @now, @now);

-- name: UpdateCalendar :exec
UPDATE schedule_calendars SET name = @name, description = @description, weekend = @weekend, holidays = @holidays, blackouts = @blackouts, updated_at = @now
WHERE id = @id;

-- name: DeleteCalendar :exec
DELETE FROM schedule_calendars WHERE id = @id;

-- name: GetCalendar :one
SELECT * FROM schedule_calendars WHERE id = @id;

-- name: LockCalendarByName :one
SELECT * FROM schedule_calendars WHERE project_id = @project_id AND lower(name) = lower(@name::text) FOR UPDATE;

-- name: CalendarByName :one
SELECT * FROM schedule_calendars WHERE project_id = @project_id AND lower(name) = lower(@name::text);

-- name: ListCalendars :many
SELECT * FROM schedule_calendars WHERE project_id = @project_id ORDER BY lower(name);

-- name: CalendarUses :many
SELECT s.calendar_id::uuid AS calendar, s.id, s.name, w.name AS workflow
FROM schedules s JOIN workflows w ON w.id = s.workflow_id
WHERE s.project_id = @project_id AND s.calendar_id IS NOT NULL
ORDER BY lower(s.name), s.id;

-- name: SchedulesWithCalendar :many
SELECT * FROM schedules WHERE calendar_id = @calendar_id ORDER BY lower(name) FOR UPDATE;

-- name: ScheduleState :one
-- Counts the schedules of all projects, and returns the earliest time at which one is due.
SELECT count(*) FILTER (WHERE NOT paused) AS active, count(*) FILTER (WHERE paused AND reason IN ('', 'person', 'workflow')) AS paused,
    count(*) FILTER (WHERE paused AND reason NOT IN ('', 'person', 'workflow')) AS stopped, count(*) FILTER (WHERE problem <> '') AS problems,
    coalesce(min(CASE WHEN paused THEN NULL ELSE due_at END), now())::timestamptz AS due_at
FROM schedules;
