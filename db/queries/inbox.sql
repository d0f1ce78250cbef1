-- name: InboxHasNews :one
-- Reports whether the feed has events that have not become items.
SELECT (greatest(i.position, s.removed) < s.position)::boolean AS news FROM inbox_feed i, event_feed_state s;

-- name: LockInboxFeed :one
-- Returns up to where the feed has become items, and its newest position. Locks the first of them.
SELECT greatest(i.position, s.removed)::bigint AS position, s.position AS newest FROM inbox_feed i, event_feed_state s FOR UPDATE OF i;

-- name: MoveInboxFeed :exec
UPDATE inbox_feed SET position = greatest(position, @position);

-- name: InboxEvents :many
-- Returns the events of a range of the feed that users may want to know about. Of the starts of nodes, these are
-- those of executions in which nothing started before late. An execution waits since its launch, or since it was
-- last continued after a pause.
SELECT f.id, f.type, f.at, f.tenant_id, f.project_id, f.execution_id, f.subject, f.data,
    EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.execution_id = f.execution_id) AS of_sweep,
    coalesce(w.since, f.at)::timestamptz AS waits_since
FROM event_feed f
LEFT JOIN LATERAL (
    SELECT greatest(e.created_at, (SELECT max(v.at) FROM events v WHERE v.execution_id = e.id AND v.kind = 'execution.unpaused' AND v.at <= f.at)) AS since
    FROM executions e WHERE f.type = 'node.started' AND e.id = f.execution_id
) w ON true
WHERE f.position > @after AND f.position <= @until AND f.project_id IS NOT NULL AND f.tenant_id IS NOT NULL
    AND CASE f.type
        WHEN 'node.waiting' THEN f.data #>> '{details,code}' = 'APPROVAL'
        WHEN 'node.started' THEN f.at > w.since + @late::interval
            AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.execution_id = f.execution_id AND n.started_at <= w.since + @late::interval)
            AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.execution_id = f.execution_id AND a.started_at <= w.since + @late::interval)
        ELSE f.type = ANY (@types::text[]) END
ORDER BY f.position;

-- name: InboxExecution :one
-- Returns who launched an execution, and the schedule that did it for them. A user who runs a schedule
-- launches the execution.
SELECT e.name, e.workflow_name, e.version, e.status, e.created_at, e.submitted_by, e.submitted_by_name,
    o.schedule_id, coalesce(s.name, '')::text AS schedule, s.owner_id,
    (EXISTS (SELECT 1 FROM backfill_slots b WHERE b.execution_id = e.id) OR EXISTS (SELECT 1 FROM trigger_deliveries d WHERE d.execution_id = e.id))::boolean AS automatic,
    EXISTS (SELECT 1 FROM option_runs r WHERE r.execution_id = e.id) AS of_options
FROM executions e
LEFT JOIN schedule_occurrences o ON o.execution_id = e.id AND o.reason <> 'manual'
LEFT JOIN schedules s ON s.id = o.schedule_id
WHERE e.id = @id;

-- name: InboxSchedule :one
SELECT id, name, workflow_name, message, reason, owner_id FROM schedules WHERE id = @id;

-- name: InboxSweep :one
-- Returns a sweep with the results of its runs.
SELECT s.name, s.workflow_name, s.version, s.reason, s.message, s.created_by, s.created AS runs,
    (SELECT count(*) FROM input_sweep_runs r WHERE r.sweep_id = s.id AND r.state = 'SUCCEEDED')::int AS succeeded,
    coalesce(nullif(s.objective ->> 'Metric', ''), s.objective ->> 'Output', '')::text AS objective,
    coalesce((SELECT round((CASE WHEN s.objective ->> 'Goal' = 'min' THEN min(r.objective) ELSE max(r.objective) END)::numeric, 6)::float8
        FROM input_sweep_runs r WHERE r.sweep_id = s.id AND r.state IN ('SUCCEEDED', 'STOPPED_EARLY'))::text, '')::text AS best -- '': no run has a result
FROM input_sweeps s WHERE s.id = @id;

-- name: InboxTrigger :one
SELECT id, name, workflow_name, paused, owner_id FROM triggers WHERE id = @id;

-- name: InboxRegistrant :one
-- Returns who registered a model: the user that launched the execution with its artifact, else the user in
-- the audit log.
SELECT coalesce(
    (SELECT e.submitted_by FROM artifacts a JOIN executions e ON e.id = a.execution_id WHERE a.id = c.artifact_id),
    (SELECT l.actor_id FROM audit_log l WHERE l.object_id = c.id::text AND l.action = 'catalogue.register' ORDER BY l.id LIMIT 1),
    '00000000-0000-0000-0000-000000000000')::uuid AS user_id
FROM catalogue_entries c WHERE c.id = @id;

-- name: InboxPoolWaits :many
-- Returns who launched the executions of a project whose attempts wait for a worker of a pool.
SELECT DISTINCT e.submitted_by::uuid AS user_id FROM pool_work w JOIN executions e ON e.id = w.execution_id
WHERE w.pool = @pool AND w.project_id = @project_id AND w.worker IS NULL AND e.submitted_by IS NOT NULL ORDER BY user_id;

-- name: InboxChannelEditor :one
-- Returns who last changed the connection of a channel.
SELECT l.actor_id::uuid AS user_id FROM audit_log l
WHERE l.object_kind = 'connection' AND l.object_id = @name AND l.project_id = @project_id::uuid AND l.actor_id IS NOT NULL
    AND l.action IN ('connection.create', 'connection.change')
ORDER BY l.id DESC LIMIT 1;

-- name: InboxMembers :many
-- Returns the users with one of the roles on a project, its team or a department.
SELECT DISTINCT m.user_id FROM tenancy_nodes p
JOIN memberships m ON m.node_id = ANY (p.path)
JOIN tenancy_nodes n ON n.id = m.node_id
JOIN users u ON u.id = m.user_id
WHERE p.id = @project_id AND n.kind IN ('project', 'team', 'department') AND m.role = ANY (@roles::text[])
    AND u.kind = 'person' AND u.disabled_at IS NULL
ORDER BY m.user_id;

-- name: InboxPeople :many
-- Returns those of the users that have an inbox, with their settings.
SELECT u.id, u.name, u.email, (u.issuer IS NOT NULL)::boolean AS provided, s.user_id AS settings_of,
    coalesce(s.modes, '{}')::jsonb AS modes, coalesce(s.address, '')::text AS address, coalesce(s.digest, '')::text AS digest, coalesce(s.digest_at, '')::text AS digest_at,
    coalesce(s.quiet_from, '')::text AS quiet_from, coalesce(s.quiet_to, '')::text AS quiet_to, coalesce(s.timezone, '')::text AS timezone,
    coalesce(s.muted, '{}')::text[] AS muted
FROM users u LEFT JOIN inbox_settings s ON s.user_id = u.id
WHERE u.id = ANY (@ids::uuid[]) AND u.kind = 'person' AND u.disabled_at IS NULL
ORDER BY u.id;

-- name: PutInboxSettings :exec
INSERT INTO inbox_settings (user_id, modes, address, digest, digest_at, quiet_from, quiet_to, timezone, muted, updated_at)
VALUES (@user_id, @modes, @address, @digest, @digest_at, @quiet_from, @quiet_to, @timezone, @muted, @updated_at)
ON CONFLICT ON CONSTRAINT inbox_settings_pkey DO UPDATE SET modes = excluded.modes, address = excluded.address, digest = excluded.digest, digest_at = excluded.digest_at,
    quiet_from = excluded.quiet_from, quiet_to = excluded.quiet_to, timezone = excluded.timezone, muted = excluded.muted, updated_at = excluded.updated_at;

-- name: InsertInboxItem :exec
INSERT INTO inbox_items (id, user_id, tenant_id, project_id, event, occurrence, subject, execution_id, node, message, at, created_at, shown, mail_state, mail_due_at)
VALUES (@id, @user_id, @tenant_id, @project_id, @event, @occurrence, @subject, sqlc.narg(execution_id), @node, @message, @at, @created_at, @shown, @mail_state, sqlc.narg(mail_due_at))
ON CONFLICT ON CONSTRAINT inbox_items_once_key DO NOTHING;

-- name: SettleInboxQuestion :exec
-- Marks what waited for an answer, or for a repair, as read for all its recipients.
UPDATE inbox_items SET read_at = coalesce(read_at, @now::timestamptz), resolution = @resolution,
    mail_state = CASE WHEN mail_state = 'PENDING' THEN 'SKIPPED' ELSE mail_state END, mail_due_at = NULL
WHERE resolution = '' AND at <= @at
    AND (event = 'approval.waiting' AND execution_id = sqlc.narg(execution_id) AND node = @node
        OR event IN ('model.requested', 'channel.failing', 'pool.stalled') AND @prefix::text <> '' AND starts_with(occurrence, @prefix));

-- name: SettleInboxApprovals :exec
-- Does the same for the nodes that ended without an answer in a range of the feed, and for those of
-- executions that ended.
UPDATE inbox_items i SET read_at = coalesce(i.read_at, @now::timestamptz), resolution = @resolution,
    mail_state = CASE WHEN i.mail_state = 'PENDING' THEN 'SKIPPED' ELSE i.mail_state END, mail_due_at = NULL
FROM event_feed f
WHERE f.position > @after AND f.position <= @until AND i.event = 'approval.waiting' AND i.resolution = '' AND i.execution_id = f.execution_id AND i.at <= f.at
    AND (f.type IN ('node.succeeded', 'node.failed', 'node.skipped', 'node.cancelled') AND i.node = f.data ->> 'node'
        OR f.type IN ('execution.succeeded', 'execution.failed', 'execution.cancelled'));

-- name: CountUnreadInbox :many
SELECT project_id, count(*) AS n, max(id::text)::text AS newest FROM inbox_items WHERE user_id = @user_id AND shown AND read_at IS NULL GROUP BY project_id;

-- name: InboxProjects :many
SELECT DISTINCT project_id FROM inbox_items WHERE user_id = @user_id;

-- name: ListInbox :many
-- Returns items of a person in projects, newest first; unread_first puts unread ones before. The page begins
-- after the item before, which was read or not.
SELECT i.*, p.name AS project_name FROM inbox_items i JOIN tenancy_nodes p ON p.id = i.project_id
WHERE i.user_id = @user_id AND i.shown AND i.project_id = ANY (@projects::uuid[])
    AND (NOT @unread::boolean OR i.read_at IS NULL)
    AND (cardinality(@events::text[]) = 0 OR i.event = ANY (@events::text[]))
    AND (sqlc.narg(before)::uuid IS NULL
        OR NOT @unread_first::boolean AND i.id < sqlc.narg(before)
        OR @unread_first::boolean AND (i.read_at IS NOT NULL) = @before_read::boolean AND i.id < sqlc.narg(before)
        OR @unread_first::boolean AND i.read_at IS NOT NULL AND NOT @before_read::boolean)
ORDER BY (@unread_first::boolean AND i.read_at IS NOT NULL), i.id DESC
LIMIT @row_limit;

-- name: GetInboxItem :one
SELECT i.*, p.name AS project_name FROM inbox_items i JOIN tenancy_nodes p ON p.id = i.project_id
WHERE i.id = @id AND i.user_id = @user_id AND i.shown;

-- name: MarkInboxItem :exec
-- A person who has read an item needs no e-mail about it.
UPDATE inbox_items SET read_at = CASE WHEN @read::boolean THEN coalesce(read_at, @now::timestamptz) END,
    mail_state = CASE WHEN @read::boolean AND mail_state = 'PENDING' THEN 'SKIPPED' ELSE mail_state END,
    mail_due_at = CASE WHEN @read::boolean THEN NULL ELSE mail_due_at END
WHERE id = @id;

-- name: MarkInboxRead :execrows
-- Marks the unread items up to the one with an id as read.
UPDATE inbox_items SET read_at = @now::timestamptz, mail_state = CASE WHEN mail_state = 'PENDING' THEN 'SKIPPED' ELSE mail_state END, mail_due_at = NULL
WHERE user_id = @user_id AND shown AND read_at IS NULL AND project_id = ANY (@projects::uuid[]) AND id <= @up_to;

-- name: NextInboxMail :one
-- Returns when the next item is due for an e-mail.
SELECT x.mail_due_at::timestamptz AS due_at FROM inbox_items x WHERE x.mail_state = 'PENDING' ORDER BY x.mail_due_at LIMIT 1;

-- name: ClaimInboxMail :many
-- Moves due items ahead and counts an attempt. Two processes never claim the same one.
UPDATE inbox_items i SET mail_due_at = @until::timestamptz, mail_attempts = i.mail_attempts + 1
FROM (
    SELECT x.id FROM inbox_items x WHERE x.mail_state = 'PENDING' AND x.mail_due_at <= @now::timestamptz
    ORDER BY x.user_id, x.id LIMIT @row_limit FOR UPDATE OF x SKIP LOCKED
) due
WHERE i.id = due.id
RETURNING i.*;

-- name: SettleInboxMail :exec
-- Stores the result of an attempt for those items of which no later attempt has begun.
UPDATE inbox_items SET mail_state = @state, mail_due_at = sqlc.narg(due_at), mail_error = @error
WHERE id = ANY (@ids::uuid[]) AND mail_state = 'PENDING' AND mail_due_at = @claimed_until::timestamptz;

-- name: LastFailedInboxMail :one
-- Returns the newest item of a person whose e-mail failed, unless a later one was sent.
SELECT i.mail_error, i.created_at FROM inbox_items i
WHERE i.user_id = @user_id AND i.mail_state = 'FAILED'
    AND NOT EXISTS (SELECT 1 FROM inbox_items n WHERE n.user_id = @user_id AND n.mail_state = 'SENT' AND n.id > i.id)
ORDER BY i.id DESC LIMIT 1;

-- name: DeleteOldInboxItems :exec
DELETE FROM inbox_items WHERE created_at < @before;

-- name: ModelStageChanges :many
-- Returns the changes of stages of the models of a project, by ID.
SELECT id, name, version, coalesce(stage, '')::text AS stage, detail, reason, by_name, at FROM model_history
WHERE project_id = @project_id AND id > @after AND stage IS NOT NULL AND at >= @since
ORDER BY id LIMIT @row_limit;
