-- name: FeedHasNews :one
-- Reports whether there are events that the feed does not contain.
SELECT feed_has_news()::boolean AS news;

-- name: RelayEvents :one
-- Copies new events to the feed, and returns how many.
SELECT relay_events(@moment::timestamptz)::bigint AS copied;

-- name: FeedState :one
SELECT position, removed FROM event_feed_state;

-- name: ReadFeed :many
-- Returns events in their order. projects are those whose events the reader may read, audited those
-- whose audit log they may read, and tenants those whose events above the projects they may read.
SELECT * FROM event_feed
WHERE position > @after AND position <= @until
    AND ((topic <> 'audit' AND project_id = ANY (@projects::uuid[])) OR (topic = 'audit' AND project_id = ANY (@audited::uuid[]))
        OR (project_id IS NULL AND (@everything::boolean OR tenant_id = ANY (@tenants::uuid[]))))
    AND (cardinality(@topics::text[]) = 0 OR topic = ANY (@topics::text[]))
    AND (cardinality(@types::text[]) = 0 OR type LIKE ANY (@types::text[]))
    AND (sqlc.narg('execution_id')::uuid IS NULL OR execution_id = sqlc.narg('execution_id')::uuid)
ORDER BY position
LIMIT @row_limit;

-- name: PruneFeed :one
-- Removes up to row_limit of the oldest events recorded before a time.
WITH old AS (
    SELECT f.position, f.recorded_at FROM event_feed f ORDER BY f.position LIMIT @row_limit
), gone AS (
    DELETE FROM event_feed f USING old WHERE f.position = old.position AND old.recorded_at < @before::timestamptz
    RETURNING f.position
), noted AS (
    UPDATE event_feed_state s SET removed = greatest(s.removed, (SELECT max(position) FROM gone)) WHERE EXISTS (SELECT 1 FROM gone)
)
SELECT count(*) AS removed FROM gone;

-- name: TriggerFeed :one
-- Returns up to where triggers have received the feed, and its newest position.
SELECT greatest(t.position, s.removed)::bigint AS position, s.position AS newest FROM trigger_feed t, event_feed_state s;

-- name: MoveTriggerFeed :exec
UPDATE trigger_feed SET position = greatest(position, @position);

-- name: TriggersOfEvents :many
-- Returns the positions of the events in a range of the feed with the enabled triggers of their project
-- that wait for such an event. Runs of sweeps, executions that list options, and changes in the audit log cause nothing.
SELECT e.position, t.id AS trigger_id
FROM event_feed e JOIN triggers t ON t.project_id = e.project_id
WHERE e.position > @after AND e.position <= @until AND t.enabled AND e.at >= t.enabled_at AND e.topic <> 'audit'
    AND CASE t.kind
        WHEN 'artifact' THEN e.type = 'artifact.created'
        WHEN 'dataset' THEN e.type = 'dataset.registered'
        WHEN 'model' THEN CASE WHEN cardinality(t.stages) = 0 THEN e.type = 'model.registered'
            ELSE e.type = 'model.stage_changed' AND e.data ->> 'stage' = ANY (t.stages) END
        WHEN 'event' THEN EXISTS (SELECT 1 FROM unnest(t.sources) p WHERE e.type LIKE replace(replace(p, '_', '\_'), '*', '%'))
        WHEN 'all' THEN EXISTS (SELECT 1 FROM jsonb_array_elements(t.settings -> 'all') c WHERE CASE c ->> 'kind'
            WHEN 'artifact' THEN e.type = 'artifact.created'
            WHEN 'dataset' THEN e.type = 'dataset.registered'
            WHEN 'model' THEN e.type IN ('model.registered', 'model.stage_changed')
            WHEN 'event' THEN EXISTS (SELECT 1 FROM jsonb_array_elements_text(c -> 'sources') p WHERE e.type LIKE replace(replace(p, '_', '\_'), '*', '%'))
            ELSE false END)
        ELSE false END
    AND NOT EXISTS (SELECT 1 FROM input_sweep_runs r WHERE r.execution_id = e.execution_id)
    AND NOT EXISTS (SELECT 1 FROM executions x WHERE x.id = e.execution_id AND x.purpose = 'OPTIONS')
ORDER BY e.position, t.id;

-- name: FeedEvent :one
SELECT * FROM event_feed WHERE position = @position;

-- name: FeedPeriod :one
-- Returns the last position before a time and the last one up to another. NULL is no limit.
SELECT coalesce((SELECT f.position FROM event_feed f WHERE f.recorded_at < sqlc.narg('since')::timestamptz ORDER BY f.recorded_at DESC, f.position DESC LIMIT 1), s.removed)::bigint AS after,
    CASE WHEN sqlc.narg('until')::timestamptz IS NULL THEN s.position
        ELSE coalesce((SELECT f.position FROM event_feed f WHERE f.recorded_at < sqlc.narg('until')::timestamptz ORDER BY f.recorded_at DESC, f.position DESC LIMIT 1), s.removed) END::bigint AS until
FROM event_feed_state s;

-- name: ReadFeedBack :many
-- Returns events from the newest to the oldest. The parameters are those of ReadFeed.
SELECT * FROM event_feed
WHERE position > @after AND position <= @until
    AND ((topic <> 'audit' AND project_id = ANY (@projects::uuid[])) OR (topic = 'audit' AND project_id = ANY (@audited::uuid[]))
        OR (project_id IS NULL AND (@everything::boolean OR tenant_id = ANY (@tenants::uuid[]))))
    AND (cardinality(@topics::text[]) = 0 OR topic = ANY (@topics::text[]))
    AND (cardinality(@types::text[]) = 0 OR type LIKE ANY (@types::text[]))
    AND (sqlc.narg('execution_id')::uuid IS NULL OR execution_id = sqlc.narg('execution_id')::uuid)
ORDER BY position DESC
LIMIT @row_limit;
