-- name: ListNotificationRules :many
SELECT * FROM notification_rules WHERE project_id = @project_id ORDER BY lower(name) LIMIT @row_limit;

-- name: LockNotificationRule :one
SELECT * FROM notification_rules WHERE project_id = @project_id AND lower(name) = lower(@name) FOR UPDATE;

-- name: CountNotificationRules :one
SELECT count(*) FROM notification_rules WHERE project_id = @project_id;

-- name: InsertNotificationRule :exec
INSERT INTO notification_rules (id, tenant_id, project_id, name, events, workflows, channels, slow_factor, waiting_seconds, quiet_from, quiet_to, timezone, enabled, enabled_at, muted_until, created_at, created_by, updated_at, updated_by, deadline_seconds, added)
VALUES (@id, @tenant_id, @project_id, @name, @events, @workflows, @channels, @slow_factor, @waiting_seconds, @quiet_from, @quiet_to, @timezone, @enabled, @enabled_at, @muted_until, @created_at, @created_by, @updated_at, @updated_by, @deadline_seconds, @added);

-- name: UpdateNotificationRule :exec
UPDATE notification_rules SET name = @name, events = @events, workflows = @workflows, channels = @channels, slow_factor = @slow_factor, waiting_seconds = @waiting_seconds, deadline_seconds = @deadline_seconds,
    quiet_from = @quiet_from, quiet_to = @quiet_to, timezone = @timezone, enabled = @enabled, enabled_at = @enabled_at, muted_until = @muted_until, added = @added,
    updated_at = @updated_at, updated_by = @updated_by
WHERE id = @id;

-- name: DeleteNotificationRule :exec
DELETE FROM notification_rules WHERE id = @id;

-- name: ListRulesOfEvents :many
-- Returns the enabled rules that have one of the events, in one project or in all.
SELECT * FROM notification_rules
WHERE enabled AND events && @events::text[] AND (sqlc.narg(project_id)::uuid IS NULL OR project_id = sqlc.narg(project_id))
ORDER BY project_id, id;

-- name: InsertNotification :execrows
-- Does nothing for an occurrence that the rule has already sent to the channel.
INSERT INTO notifications (id, tenant_id, project_id, rule_id, rule_name, channel, event, occurrence, message, state, reason, created_at, due_at, settled_at)
VALUES (@id, @tenant_id, @project_id, @rule_id, @rule_name, @channel, @event, @occurrence, @message, @state, @reason, @created_at, @due_at, @settled_at)
ON CONFLICT ON CONSTRAINT notifications_once_key DO NOTHING;

-- name: KnownOccurrences :many
-- Returns the channels that have a message of a rule about one of the occurrences.
SELECT occurrence, channel FROM notifications WHERE rule_id = @rule_id AND occurrence = ANY(@occurrences::text[]);

-- name: NextNotification :one
-- Returns when the next notification is due and its channel accepts it.
SELECT greatest(x.due_at, c.open_until)::timestamptz AS due_at FROM notifications x
LEFT JOIN notification_channels c ON c.project_id = x.project_id AND c.name = x.channel
WHERE x.state = 'PENDING' ORDER BY greatest(x.due_at, c.open_until) LIMIT 1;

-- name: ClaimNotifications :many
-- Moves due notifications ahead and counts an attempt. Two processes never claim the same one. busy are channels
-- (project and name) that already send.
UPDATE notifications n SET due_at = @until, attempts = n.attempts + 1
FROM (
    SELECT x.id FROM notifications x
    LEFT JOIN notification_channels c ON c.project_id = x.project_id AND c.name = x.channel
    WHERE x.state = 'PENDING' AND x.due_at <= @now AND (c.open_until IS NULL OR c.open_until <= @now)
        AND x.project_id::text || '/' || x.channel <> ALL (@busy::text[])
    ORDER BY x.due_at LIMIT @row_limit FOR UPDATE OF x SKIP LOCKED
) due
WHERE n.id = due.id
RETURNING n.*;

-- name: QuietHours :one
SELECT quiet_from, quiet_to, timezone FROM notification_rules WHERE id = @id;

-- name: PostponeNotification :execrows
-- Takes back the claim of a notification whose channel has stopped accepting any since.
UPDATE notifications n SET due_at = c.open_until, attempts = n.attempts - 1
FROM notification_channels c
WHERE n.id = @id AND n.attempts = @attempts AND n.state = 'PENDING'
    AND c.project_id = n.project_id AND c.name = n.channel AND c.open_until > @now::timestamptz;

-- name: SettleNotification :execrows
-- Stores the result of an attempt, unless a later attempt has begun.
UPDATE notifications SET state = @state, reason = @reason, log = @log, due_at = @due_at, settled_at = @settled_at
WHERE id = @id AND attempts = @attempts AND state = 'PENDING';

-- name: NoteChannelWorks :exec
INSERT INTO notification_channels (project_id, name, failures, ok_at) VALUES (@project_id, @name, 0, @now)
ON CONFLICT (project_id, name) DO UPDATE SET failures = 0, open_until = NULL, ok_at = excluded.ok_at, error = '';

-- name: NoteChannelFails :exec
-- Opens the circuit of a channel after some failures in a row.
INSERT INTO notification_channels AS c (project_id, name, failures, failed_at, error) VALUES (@project_id, @name, 1, @now, @error)
ON CONFLICT (project_id, name) DO UPDATE SET failures = c.failures + 1, failed_at = excluded.failed_at, error = excluded.error,
    open_until = CASE WHEN c.failures + 1 >= @opens_after::integer THEN @open_until::timestamptz ELSE c.open_until END;

-- name: ReportChannel :execrows
-- Marks the failures of a channel as reported, after some failures in a row or a refused message.
UPDATE notification_channels SET reported = true
WHERE project_id = @project_id AND name = @name AND NOT reported AND failures > 0 AND (@refused::boolean OR failures >= @reports_after::integer);

-- name: RecoverChannel :execrows
-- Ends the reported failures of a channel.
UPDATE notification_channels SET reported = false WHERE project_id = @project_id AND name = @name AND reported;

-- name: ChannelState :one
-- Counts the channels of all projects that did not accept their last message, and the messages that wait.
SELECT (SELECT count(*) FROM notification_channels c JOIN connections k ON k.project_id = c.project_id AND k.name = c.name WHERE c.failures > 0)::bigint AS failing,
    count(*) AS waiting, coalesce(min(n.created_at), now())::timestamptz AS oldest
FROM notifications n WHERE n.state = 'PENDING' AND n.attempts > 0;

-- name: CountFailingChannels :one
SELECT count(*) FROM notification_channels c
JOIN connections k ON k.project_id = c.project_id AND k.name = c.name
WHERE c.project_id = @project_id AND c.failures > 0;

-- name: ListNotifications :many
SELECT sqlc.embed(n), c.open_until FROM notifications n LEFT JOIN notification_channels c ON c.project_id = n.project_id AND c.name = n.channel
WHERE n.project_id = @project_id
    AND (@state::text = '' OR n.state = @state)
    AND (sqlc.narg(before)::uuid IS NULL OR n.id < sqlc.narg(before))
ORDER BY n.id DESC LIMIT @row_limit;

-- name: CountNotifications :many
SELECT state, count(*) AS n FROM notifications WHERE project_id = @project_id AND state <> 'DELIVERED' GROUP BY state;

-- name: GetNotification :one
SELECT sqlc.embed(n), c.open_until FROM notifications n LEFT JOIN notification_channels c ON c.project_id = n.project_id AND c.name = n.channel
WHERE n.id = @id;

-- name: LockNotification :one
SELECT * FROM notifications WHERE id = @id FOR UPDATE;

-- name: RedeliverNotification :exec
UPDATE notifications SET state = 'PENDING', reason = 'Requested by ' || @actor::text || '.', attempts = 0, due_at = @now, settled_at = NULL WHERE id = @id;

-- name: CloseCircuit :execrows
-- Lets messages through to a channel that receives none after failures. The next failure opens the circuit again.
UPDATE notification_channels SET open_until = NULL WHERE project_id = @project_id AND name = @name AND open_until > @now::timestamptz;

-- name: FailedNotifications :many
SELECT id FROM notifications WHERE project_id = @project_id AND state = 'FAILED' ORDER BY id DESC LIMIT @row_limit;

-- name: DeleteOldNotifications :exec
DELETE FROM notifications WHERE settled_at < @before;

-- name: ExecutionForNotification :one
-- Returns an execution that causes messages, with the state of the one before it and the usual duration of its
-- workflow: the median of the last successful executions before it. Runs of sweeps and executions that list options
-- cause none, and the others are not compared with them.
SELECT e.id, e.tenant_id, e.project_id, e.workflow_id, e.workflow_name, e.version, e.name, e.status, e.submitted_by_name, e.error,
    e.created_at, e.started_at, e.finished_at,
    COALESCE((
        SELECT p.status FROM executions p
        WHERE p.workflow_id = e.workflow_id AND p.project_id = e.project_id AND p.id < e.id AND p.status IN ('SUCCEEDED', 'FAILED')
            AND p.purpose = 'WORK' AND NOT EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.execution_id = p.id)
        ORDER BY p.id DESC LIMIT 1
    ), '')::text AS status_before,
    u.history, u.usual_seconds,
    COALESCE((
        SELECT n.name FROM nodes n WHERE n.execution_id = e.id AND n.state = 'FAILED' AND e.status = 'FAILED' ORDER BY n.finished_at, n.node_index LIMIT 1
    ), '')::text AS node,
    COALESCE((SELECT t.name FROM tenancy_nodes t WHERE t.id = e.project_id), '')::text AS project,
    COALESCE((
        SELECT s.name FROM schedule_occurrences o JOIN schedules s ON s.id = o.schedule_id WHERE o.execution_id = e.id
    ), '')::text AS schedule,
    COALESCE((
        SELECT t.name FROM trigger_deliveries d JOIN triggers t ON t.id = d.trigger_id WHERE d.execution_id = e.id LIMIT 1
    ), '')::text AS trigger
FROM executions e
CROSS JOIN LATERAL (
    SELECT count(*) AS history, COALESCE(percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM w.finished_at - w.started_at)), 0)::double precision AS usual_seconds
    FROM (
        SELECT v.started_at, v.finished_at FROM executions v
        WHERE v.workflow_id = e.workflow_id AND v.project_id = e.project_id AND v.id < e.id AND v.status = 'SUCCEEDED' AND v.started_at IS NOT NULL
            AND v.purpose = 'WORK' AND NOT EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.execution_id = v.id)
        ORDER BY v.id DESC LIMIT 20
    ) w
) u
WHERE e.id = @id AND e.purpose = 'WORK' AND NOT EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.execution_id = e.id);

-- name: WaitingExecutions :many
-- Returns executions of a project that have waited since an interval and of which no node has started, by ID. An
-- execution waits since its launch, or since it was last continued after a pause. Runs of sweeps and executions that
-- list options are left out.
SELECT e.id, e.tenant_id, e.project_id, e.workflow_name, e.version, e.name, e.submitted_by_name, e.created_at, w.since
FROM executions e
CROSS JOIN LATERAL (
    SELECT greatest(e.created_at, (SELECT max(v.at) FROM events v WHERE v.execution_id = e.id AND v.kind = 'execution.unpaused'))::timestamptz AS since
) w
WHERE e.project_id = @project_id AND e.id > @after AND e.status IN ('PENDING', 'RUNNING') AND w.since <= @before::timestamptz AND w.since >= @since::timestamptz
    AND e.running + e.retrying + e.succeeded + e.failed + e.skipped + e.cancelled = 0 AND e.purpose = 'WORK'
    AND NOT EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.execution_id = e.id)
ORDER BY e.id LIMIT @row_limit;

-- name: OverdueExecutions :many
-- Returns executions of a project that have not ended and were due to start in an interval, by ID. An execution of a
-- schedule was due at its scheduled time, and others when they were launched. Runs of sweeps and executions that
-- list options are left out.
SELECT e.id, e.tenant_id, e.project_id, e.workflow_name, e.version, e.name, e.submitted_by_name, e.created_at, e.status,
    COALESCE(e.scheduled_at, e.created_at)::timestamptz AS start_at, e.total, (e.succeeded + e.failed + e.skipped + e.cancelled)::integer AS ended
FROM executions e
WHERE e.project_id = @project_id AND e.id > @after AND e.status IN ('PENDING', 'RUNNING', 'PAUSED')
    AND COALESCE(e.scheduled_at, e.created_at) <= @before::timestamptz AND COALESCE(e.scheduled_at, e.created_at) >= @since::timestamptz
    AND e.purpose = 'WORK'
    AND NOT EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.execution_id = e.id)
ORDER BY e.id LIMIT @row_limit;

-- name: PendingApprovals :many
-- Returns the nodes of a project that have waited for a user since a time, by execution and node.
SELECT e.id AS execution_id, e.workflow_name, e.name AS execution_name, e.submitted_by_name, n.node_index, n.name, COALESCE(n.reason ->> 'message', '')::text AS question, n.started_at
FROM executions e
JOIN nodes n ON n.execution_id = e.id
WHERE e.project_id = @project_id AND (e.id, n.node_index) > (@after_execution::uuid, @after_node::integer)
    AND e.status IN ('PENDING', 'RUNNING', 'PAUSED') AND e.running > 0 AND n.state = 'RUNNING' AND n.reason ->> 'code' = 'APPROVAL' AND n.started_at >= @since
ORDER BY e.id, n.node_index LIMIT @row_limit;

-- name: PausedSchedules :many
-- Returns schedules of a project that were paused by the server, not by a person or by the definition of their
-- workflow, by ID.
SELECT id, name, workflow_name, message, updated_at, resumed_at FROM schedules
WHERE project_id = @project_id AND id > @after AND paused AND reason NOT IN ('', 'person', 'workflow') AND updated_at >= @since
ORDER BY id LIMIT @row_limit;

-- name: FailureStreaks :many
-- Returns the first refused runs of schedules, or the first failed deliveries of triggers, of each streak in a
-- project, by ID. The first condition is that of the index.
SELECT id, object_id, object_name, coalesce(new_value ->> 'workflow', '')::text AS workflow, coalesce(new_value ->> 'run', '')::text AS run,
    coalesce(new_value ->> 'message', '')::text AS message, at
FROM audit_log
WHERE action IN ('schedule.refuse', 'trigger.fail') AND action = @action AND project_id = @project_id AND id > @after AND at >= @since
ORDER BY id LIMIT @row_limit;

-- name: ListChannels :many
-- Returns the connections of a project that receive messages, and what is known about them.
SELECT k.name, k.kind, k.description, c.failures, c.open_until, c.ok_at, c.failed_at, c.error
FROM connections k
LEFT JOIN notification_channels c ON c.project_id = k.project_id AND c.name = k.name
WHERE k.project_id = @project_id AND k.kind = ANY(@kinds::text[])
ORDER BY k.name;
