-- name: JoinOfEvent :one
-- Returns the join to which an event was added.
SELECT j.* FROM trigger_join_events e JOIN trigger_joins j ON j.id = e.join_id
WHERE e.trigger_id = @trigger_id AND e.condition = @condition AND e.key = @key;

-- name: LastJoinEvents :many
-- Returns the newest event of each condition, also of joins that are closed.
SELECT l.* FROM unnest(@conditions::text[]) AS c(name)
CROSS JOIN LATERAL (
    SELECT x.condition, x.subject, x.source_id, x.at FROM trigger_join_events x
    WHERE x.trigger_id = @trigger_id AND x.condition = c.name ORDER BY x.at DESC LIMIT 1
) l;

-- name: OpenJoin :one
SELECT * FROM trigger_joins WHERE trigger_id = @trigger_id AND key = @key AND state = 'OPEN';

-- name: CompleteJoin :one
SELECT * FROM trigger_joins WHERE trigger_id = @trigger_id AND key = @key AND state = 'COMPLETE' LIMIT 1;

-- name: InsertJoin :exec
INSERT INTO trigger_joins (id, trigger_id, key, state, opened_at, expires_at) VALUES (@id, @trigger_id, @key, 'OPEN', @opened_at, @expires_at);

-- name: InsertJoinEvent :exec
INSERT INTO trigger_join_events (trigger_id, condition, key, join_id, subject, payload, source_id, depth, at)
VALUES (@trigger_id, @condition, @key, @join_id, @subject, @payload, @source_id, @depth, @at);

-- name: CurrentJoinEvents :many
-- Returns the event of each condition that counts.
SELECT DISTINCT ON (condition) * FROM trigger_join_events WHERE join_id = @join_id AND NOT expired ORDER BY condition, at DESC, key DESC;

-- name: ExpireJoinEvents :exec
UPDATE trigger_join_events SET expired = true, payload = NULL WHERE join_id = @join_id AND at < @before AND NOT expired;

-- name: PruneJoinEvents :exec
-- Removes events that left the window of a join that may still be open.
DELETE FROM trigger_join_events WHERE expired AND at < @before;

-- name: MoveJoin :exec
UPDATE trigger_joins SET expires_at = @expires_at WHERE id = @id;

-- name: CloseJoin :exec
WITH emptied AS (UPDATE trigger_join_events e SET payload = NULL WHERE e.join_id = @id)
UPDATE trigger_joins j SET state = @state, closed_at = @now WHERE j.id = @id;

-- name: NextJoinExpiry :one
-- Returns when the next open join expires.
SELECT expires_at FROM trigger_joins WHERE state = 'OPEN' ORDER BY expires_at LIMIT 1;

-- name: ExpiredJoins :many
SELECT id FROM trigger_joins WHERE state = 'OPEN' AND expires_at < @now ORDER BY expires_at LIMIT @row_limit;

-- name: ClaimExpiredJoin :one
-- Returns no row for a join that another server changes now, or that no longer is expired.
SELECT * FROM trigger_joins WHERE id = @id AND state = 'OPEN' AND expires_at < @now FOR UPDATE SKIP LOCKED;

-- name: OpenJoins :many
SELECT * FROM trigger_joins WHERE trigger_id = @trigger_id AND state = 'OPEN' ORDER BY expires_at, id LIMIT @row_limit;

-- name: CountOpenJoins :one
SELECT count(*) FROM trigger_joins WHERE trigger_id = @trigger_id AND state = 'OPEN';

-- name: EventsOfJoins :many
-- Returns the events that count of joins, without their payload.
SELECT DISTINCT ON (join_id, condition) join_id, condition, subject, source_id, at FROM trigger_join_events
WHERE join_id = ANY (@joins::uuid[]) AND NOT expired ORDER BY join_id, condition, at DESC, key DESC;

-- name: DropOpenJoins :exec
DELETE FROM trigger_joins WHERE trigger_id = @trigger_id AND state = 'OPEN';

-- name: DropJoins :exec
DELETE FROM trigger_joins WHERE trigger_id = @trigger_id;

-- name: PruneJoins :exec
-- Removes closed joins; those whose key must not launch again are kept longer.
DELETE FROM trigger_joins WHERE state <> 'OPEN' AND closed_at < @before AND (state = 'EXPIRED' OR key = '' OR closed_at < @keys_before);

-- name: JoinTrigger :one
SELECT trigger_id FROM trigger_joins WHERE id = @id;
