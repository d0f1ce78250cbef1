-- name: ListNotificationTemplates :many
SELECT * FROM notification_templates WHERE project_id = @project_id ORDER BY kind, event;

-- name: GetNotificationTemplate :one
SELECT * FROM notification_templates WHERE project_id = @project_id AND kind = @kind AND event = @event;

-- name: TemplateOfMessage :one
-- Returns the template of an event, or else that of any event.
SELECT * FROM notification_templates
WHERE project_id = @project_id AND kind = @kind AND event IN (@event::text, 'any')
ORDER BY event = 'any' LIMIT 1;

-- name: LockNotificationTemplate :one
SELECT * FROM notification_templates WHERE project_id = @project_id AND kind = @kind AND event = @event FOR UPDATE;

-- name: PutNotificationTemplate :exec
INSERT INTO notification_templates (tenant_id, project_id, kind, event, subject, body, updated_at, updated_by)
VALUES (@tenant_id, @project_id, @kind, @event, @subject, @body, @updated_at, @updated_by)
ON CONFLICT (project_id, kind, event) DO UPDATE SET subject = excluded.subject, body = excluded.body, updated_at = excluded.updated_at, updated_by = excluded.updated_by;

-- name: DeleteNotificationTemplate :exec
DELETE FROM notification_templates WHERE project_id = @project_id AND kind = @kind AND event = @event;

-- name: LatestNotification :one
-- Returns the latest message about an event, or about any for 'any'.
SELECT * FROM notifications
WHERE project_id = @project_id AND (@event::text = 'any' OR event = @event)
ORDER BY id DESC LIMIT 1;

-- name: PausedTriggers :many
-- Returns triggers of a project that were turned off by the server, not by a person, by ID.
SELECT id, name, workflow_name, paused, updated_at FROM triggers
WHERE project_id = @project_id AND id > @after AND NOT enabled AND paused <> '' AND updated_at >= @since
ORDER BY id LIMIT @row_limit;
