-- name: InsertEventConsumer :exec
INSERT INTO event_consumers (id, tenant_id, project_id, name, sink, topics, types, max_tries, position, missed, acknowledged, problem, created_by, created_at)
VALUES (@id, @tenant_id, @project_id, @name, @sink, @topics, @types, @max_tries, @position, 0, 0, '', @created_by, @created_at);

-- name: CountEventConsumers :one
SELECT count(*) FROM event_consumers WHERE project_id IS NOT DISTINCT FROM sqlc.narg('project_id')::uuid;

-- name: EventConsumer :one
SELECT * FROM event_consumers
WHERE project_id IS NOT DISTINCT FROM sqlc.narg('project_id')::uuid AND lower(name) = lower(@name);

-- name: LockEventConsumer :one
SELECT * FROM event_consumers
WHERE project_id IS NOT DISTINCT FROM sqlc.narg('project_id')::uuid AND lower(name) = lower(@name)
FOR UPDATE;

-- name: DeleteEventConsumer :exec
DELETE FROM event_consumers WHERE id = $1;

-- name: ConfigureEventSink :exec
UPDATE event_consumers SET topics = @topics WHERE id = @id;

-- name: SetEventSinkProblem :exec
UPDATE event_consumers SET problem = @problem::text, problem_at = CASE WHEN @problem::text = '' THEN NULL ELSE coalesce(problem_at, @now::timestamptz) END
WHERE id = @id AND problem <> @problem::text;

-- name: EventConsumers :many
-- Returns consumers with how far they are behind. unread counts matching events that a consumer has
-- not taken, among the next @scanned positions of the feed; more means that there are others after these.
SELECT sqlc.embed(c), s.position AS newest, s.position > greatest(c.position, s.removed) + @scanned::bigint AS more,
    live.taken::bigint AS taken, live.waiting::bigint AS waiting, live.first::bigint AS first, live.dead::bigint AS dead,
    coalesce(unread.n, 0)::bigint AS unread, coalesce(least(live.oldest, unread.oldest), 'epoch')::timestamptz AS oldest
FROM event_consumers c CROSS JOIN event_feed_state s
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE d.dead_at IS NULL) AS taken,
        count(*) FILTER (WHERE d.dead_at IS NULL AND d.lease IS NULL AND d.tries > 0) AS waiting,
        coalesce(min(d.position) FILTER (WHERE d.dead_at IS NULL), 0) AS first,
        count(*) FILTER (WHERE d.dead_at IS NOT NULL) AS dead,
        min(d.recorded_at) FILTER (WHERE d.dead_at IS NULL) AS oldest
    FROM event_deliveries d WHERE d.consumer_id = c.id
) live
CROSS JOIN LATERAL (
    SELECT count(*) AS n, min(f.recorded_at) AS oldest FROM event_feed f
    WHERE f.position > greatest(c.position, s.removed) AND f.position <= greatest(c.position, s.removed) + @scanned::bigint
        AND (c.project_id IS NULL OR f.project_id = c.project_id)
        AND CASE WHEN cardinality(c.topics) = 0 THEN f.topic <> 'audit' ELSE f.topic = ANY (c.topics) END
        AND (cardinality(c.types) = 0 OR EXISTS (SELECT 1 FROM unnest(c.types) p WHERE f.type LIKE replace(replace(p, '_', '\_'), '*', '%')))
) unread
WHERE (sqlc.narg('id')::uuid IS NULL OR c.id = sqlc.narg('id')::uuid)
    AND (sqlc.narg('id')::uuid IS NOT NULL OR c.project_id = sqlc.narg('project_id')::uuid OR (c.project_id IS NULL AND @everything::boolean))
ORDER BY c.project_id NULLS LAST, lower(c.name);

-- name: TakeEvents :one
-- Takes up to row_limit of the next events from the feed for a consumer, whose row is locked, and moves
-- its position. One statement sees one state of the feed, so events that retention removes meanwhile are
-- counted as missed.
WITH place AS (
    SELECT greatest(c.position, s.removed) AS after, least(s.position, greatest(c.position, s.removed) + @scanned::bigint) AS until,
        greatest(s.removed - c.position, 0) AS missed, s.position AS newest
    FROM event_consumers c, event_feed_state s WHERE c.id = @id
), fresh AS (
    SELECT f.* FROM event_consumers c, place, event_feed f
    WHERE c.id = @id AND f.position > place.after AND f.position <= place.until
        AND (c.project_id IS NULL OR f.project_id = c.project_id)
        AND CASE WHEN cardinality(c.topics) = 0 THEN f.topic <> 'audit' ELSE f.topic = ANY (c.topics) END
        AND (cardinality(c.types) = 0 OR EXISTS (SELECT 1 FROM unnest(c.types) p WHERE f.type LIKE replace(replace(p, '_', '\_'), '*', '%')))
    ORDER BY f.position
    LIMIT @row_limit
), taken AS (
    INSERT INTO event_deliveries (consumer_id, position, id, topic, type, at, recorded_at, tenant_id, project_id, execution_id, subject, data, due_at, tries, error)
    SELECT @id, f.position, f.id, f.topic, f.type, f.at, f.recorded_at, f.tenant_id, f.project_id, f.execution_id, f.subject, f.data, @now::timestamptz, 0, ''
    FROM fresh f
    RETURNING position
), counted AS (
    SELECT count(*) AS n, max(position) AS last FROM taken
), moved AS (
    UPDATE event_consumers c
    SET position = CASE WHEN counted.n = @row_limit THEN counted.last ELSE place.until END, missed = c.missed + place.missed
    FROM counted, place WHERE c.id = @id AND place.until > c.position
    RETURNING c.position
)
SELECT counted.n::bigint AS taken, (coalesce((SELECT position FROM moved), place.newest) >= place.newest)::boolean AS complete FROM counted, place;

-- name: LapseEventLeases :exec
-- Ends the leases of a consumer that were not answered in time. Readers process the events of a lease in
-- their order, so only the first one that is not acknowledged counts as failed.
UPDATE event_deliveries d
SET lease = NULL, tries = d.tries + l.first::integer, due_at = CASE WHEN l.first THEN sqlc.arg('now')::timestamptz + event_backoff(d.tries) ELSE @now::timestamptz END,
    error = CASE WHEN l.first THEN 'The lease ended without an answer.' ELSE d.error END, failed_at = CASE WHEN l.first THEN @now::timestamptz ELSE d.failed_at END,
    dead_at = CASE WHEN l.first AND d.tries + 1 >= c.max_tries THEN @now::timestamptz END
FROM event_consumers c, (
    SELECT e.position, e.position = min(e.position) OVER (PARTITION BY e.lease) AS first
    FROM event_deliveries e WHERE e.consumer_id = @id AND e.lease IS NOT NULL AND e.due_at <= @now::timestamptz
) l
WHERE c.id = @id AND d.consumer_id = @id AND d.position = l.position;

-- name: LeaseEvents :many
-- Leases up to row_limit events that are due. An event waits while an earlier one of its execution is
-- leased to another reader or waits for its next try.
UPDATE event_deliveries d SET lease = @lease::uuid, due_at = @until::timestamptz
WHERE d.consumer_id = @id AND d.position IN (
    SELECT e.position FROM event_deliveries e
    WHERE e.consumer_id = @id AND e.dead_at IS NULL AND e.lease IS NULL AND e.due_at <= @now::timestamptz
        AND NOT EXISTS (
            SELECT 1 FROM event_deliveries b
            WHERE b.consumer_id = e.consumer_id AND b.execution_id = e.execution_id AND b.position < e.position AND b.dead_at IS NULL
                AND b.lease IS DISTINCT FROM @lease::uuid AND b.due_at > @now::timestamptz)
    ORDER BY e.position
    LIMIT @row_limit
)
RETURNING *;

-- name: EventDeliveryCounts :one
-- next_due leaves out events that an earlier one of their execution holds back: that one counts.
SELECT count(*) FILTER (WHERE d.dead_at IS NULL) AS taken, count(*) FILTER (WHERE d.dead_at IS NOT NULL) AS dead,
    coalesce(min(d.due_at) FILTER (WHERE d.dead_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM event_deliveries b
        WHERE b.consumer_id = d.consumer_id AND b.execution_id = d.execution_id AND b.position < d.position AND b.dead_at IS NULL AND b.due_at > d.due_at
    )), 'epoch')::timestamptz AS next_due
FROM event_deliveries d WHERE d.consumer_id = $1;

-- name: TouchEventConsumer :exec
UPDATE event_consumers SET read_at = @now WHERE id = @id;

-- name: AcknowledgeEvents :many
-- Removes events of a lease: those with the given IDs, or all.
WITH gone AS (
    DELETE FROM event_deliveries d
    WHERE d.consumer_id = @id AND d.lease = @lease::uuid AND (@whole::boolean OR d.id = ANY (@ids::text[]))
    RETURNING d.id
), counted AS (
    UPDATE event_consumers c SET acknowledged = c.acknowledged + (SELECT count(*) FROM gone), acknowledged_at = @now::timestamptz
    WHERE c.id = @id AND EXISTS (SELECT 1 FROM gone)
)
SELECT id FROM gone;

-- name: FailEvents :many
-- Records the failure of events of a lease. Each is due again later, or becomes a dead letter.
UPDATE event_deliveries d
SET lease = NULL, tries = d.tries + 1, due_at = sqlc.arg('now')::timestamptz + event_backoff(d.tries), error = @error, failed_at = @now::timestamptz,
    dead_at = CASE WHEN @final::boolean OR d.tries + 1 >= c.max_tries THEN @now::timestamptz END
FROM event_consumers c
WHERE c.id = @id AND d.consumer_id = @id AND d.lease = @lease::uuid AND d.id = ANY (@ids::text[])
RETURNING d.id, d.position, d.execution_id, (d.dead_at IS NOT NULL)::boolean AS dead;

-- name: ReturnLaterEvents :exec
-- Ends the lease of events that follow one of their execution that failed.
UPDATE event_deliveries d SET lease = NULL, due_at = @now::timestamptz
WHERE d.consumer_id = @id AND d.lease = @lease::uuid AND d.execution_id = @execution_id::uuid AND d.position > @position;

-- name: ReleaseEvents :execrows
UPDATE event_deliveries SET lease = NULL, due_at = @now::timestamptz WHERE consumer_id = @id AND lease = @lease::uuid;

-- name: DeadEvents :many
SELECT * FROM event_deliveries
WHERE consumer_id = @id AND dead_at IS NOT NULL AND position > @after
ORDER BY position
LIMIT @row_limit;

-- name: RedeliverDeadEvents :many
UPDATE event_deliveries SET dead_at = NULL, tries = 0, due_at = @now::timestamptz
WHERE consumer_id = @consumer_id AND dead_at IS NOT NULL AND (@whole::boolean OR id = ANY (@ids::text[]))
RETURNING id;

-- name: DiscardDeadEvents :many
DELETE FROM event_deliveries
WHERE consumer_id = @consumer_id AND dead_at IS NOT NULL AND (@whole::boolean OR id = ANY (@ids::text[]))
RETURNING id;
