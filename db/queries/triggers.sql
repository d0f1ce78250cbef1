-- name: ListTriggers :many
SELECT * FROM triggers WHERE project_id = @project_id ORDER BY lower(name) LIMIT @row_limit;

-- name: CountTriggers :one
SELECT count(*) FROM triggers WHERE project_id = @project_id;

-- name: GetTrigger :one
SELECT * FROM triggers WHERE id = @id;

-- name: FindTrigger :one
SELECT * FROM triggers WHERE project_id = @project_id AND lower(name) = lower(@name);

-- name: LockTrigger :one
SELECT * FROM triggers WHERE project_id = @project_id AND lower(name) = lower(@name) FOR UPDATE;

-- name: InsertTrigger :exec
INSERT INTO triggers (id, tenant_id, project_id, name, kind, sources, states, signature, secret, filter, workflow_id, workflow_name, version, inputs, priority, enabled, enabled_at, owner_id, owner_name, created_at, updated_at, stages, settings, paused)
VALUES (@id, @tenant_id, @project_id, @name, @kind, @sources, @states, @signature, @secret, @filter, @workflow_id, @workflow_name, @version, @inputs, @priority, @enabled, @enabled_at, @owner_id, @owner_name, @created_at, @updated_at, @stages, @settings, @paused);

-- name: UpdateTrigger :exec
UPDATE triggers SET name = @name, kind = @kind, sources = @sources, states = @states, stages = @stages, signature = @signature, secret = @secret, filter = @filter,
    workflow_id = @workflow_id, workflow_name = @workflow_name, version = @version, inputs = @inputs, priority = @priority, enabled = @enabled, enabled_at = @enabled_at,
    owner_id = @owner_id, owner_name = @owner_name, updated_at = @updated_at, settings = @settings, paused = @paused
WHERE id = @id;

-- name: DeleteTrigger :exec
DELETE FROM triggers WHERE id = @id;

-- name: TriggersOfExecutions :many
-- Returns the enabled triggers of a project that wait for the end of executions, alone or with other events.
SELECT * FROM triggers WHERE project_id = @project_id AND kind IN ('execution', 'all') AND enabled ORDER BY id;

-- name: InsertDelivery :execrows
-- Does nothing for an event that the trigger has already received.
INSERT INTO trigger_deliveries (id, trigger_id, condition, key, subject, outcome, reason, message, payload, source_id, execution_id, depth, at)
VALUES (@id, @trigger_id, @condition, @key, @subject, @outcome, @reason, @message, @payload, @source_id, @execution_id, @depth, @at)
ON CONFLICT ON CONSTRAINT trigger_deliveries_once_key DO NOTHING;

-- name: OutcomeBeforeDelivery :one
-- Returns the outcome of the newest earlier delivery of a trigger that launched or failed, '' for none.
SELECT coalesce((
    SELECT d.outcome FROM trigger_deliveries d
    WHERE d.trigger_id = @trigger_id AND d.id < @before AND d.outcome IN ('LAUNCHED', 'FAILED')
    ORDER BY d.id DESC LIMIT 1
), '')::text AS outcome;

-- name: DeliveryOfKey :one
SELECT * FROM trigger_deliveries WHERE trigger_id = @trigger_id AND key = @key;

-- name: GetDelivery :one
SELECT * FROM trigger_deliveries WHERE trigger_id = @trigger_id AND id = @id;

-- name: ListDeliveries :many
SELECT * FROM trigger_deliveries
WHERE trigger_id = @trigger_id AND (sqlc.narg(before)::uuid IS NULL OR id < sqlc.narg(before))
ORDER BY id DESC LIMIT @row_limit;

-- name: LastDeliveries :many
-- Returns the newest deliveries of each trigger of a project, newest first.
SELECT d.id, d.trigger_id, d.outcome, d.subject, d.at
FROM triggers t
CROSS JOIN LATERAL (SELECT x.* FROM trigger_deliveries x WHERE x.trigger_id = t.id ORDER BY x.id DESC LIMIT @per_trigger::integer) d
WHERE t.project_id = @project_id
ORDER BY d.id DESC;

-- name: LastIgnored :many
-- Returns the newest delivery of each condition: the events that it received and that no join contains.
SELECT l.* FROM unnest(@conditions::text[]) AS c(name)
CROSS JOIN LATERAL (
    SELECT x.* FROM trigger_deliveries x
    WHERE x.trigger_id = @trigger_id AND x.condition = c.name AND x.condition <> '' ORDER BY x.id DESC LIMIT 1
) l;

-- name: LaunchedByTriggers :many
-- Counts the launches of each trigger of a project since a time.
SELECT d.trigger_id, count(*) AS launches
FROM triggers t JOIN trigger_deliveries d ON d.trigger_id = t.id
WHERE t.project_id = @project_id AND d.outcome = 'LAUNCHED' AND d.at >= @since
GROUP BY d.trigger_id;

-- name: TriggerOfExecution :one
-- Returns the delivery that launched an execution.
SELECT d.depth, d.trigger_id, t.name, d.source_id FROM trigger_deliveries d JOIN triggers t ON t.id = d.trigger_id WHERE d.execution_id = @execution_id::uuid LIMIT 1;

-- name: PruneDeliveries :exec
-- Removes the deliveries of a trigger before a time and, of the newest ones, all but some rejected ones and all
-- but some payloads. It runs after each delivery, so it reads only the newest rows and those that it removes.
WITH old AS (
    DELETE FROM trigger_deliveries d WHERE d.trigger_id = @trigger_id AND d.id < uuid_floor(@before::timestamptz)
), recent AS (
    SELECT n.id, n.outcome, n.payload IS NOT NULL AS loaded FROM trigger_deliveries n
    WHERE n.trigger_id = @trigger_id ORDER BY n.id DESC LIMIT @newest
), rejected AS (
    DELETE FROM trigger_deliveries d
    WHERE d.id IN (SELECT r.id FROM recent r WHERE r.outcome = 'REJECTED' ORDER BY r.id DESC OFFSET @keep)
)
UPDATE trigger_deliveries d SET payload = NULL
WHERE d.id IN (SELECT r.id FROM recent r WHERE r.loaded ORDER BY r.id DESC OFFSET @keep);

-- name: IsRunOfSweep :one
SELECT EXISTS (SELECT 1 FROM input_sweep_runs WHERE execution_id = @execution_id::uuid);
