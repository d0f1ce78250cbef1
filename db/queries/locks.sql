-- name: HoldLockName :exec
-- Serializes transactions that check the locks of a name.
SELECT pg_advisory_xact_lock(hashtextextended(@key::text, 7166661002));

-- name: LockState :one
-- Returns what a waiting node needs to know about a lock: the number of holders, the number of
-- waiters ahead of the node, and the limit set by an administrator (0: none). Waiters without
-- a check in the last minute do not count.
SELECT
    (SELECT count(*) FROM locks l WHERE l.project_id = @project_id AND l.name = @name)::int AS held,
    (SELECT count(*) FROM lock_waits w WHERE w.project_id = @project_id AND w.name = @name AND w.seen_at > @fresh::timestamptz
        AND (w.execution_id, w.node_index) <> (@execution_id::uuid, @node_index::int)
        AND (w.priority > @priority OR (w.priority = @priority AND (w.since, w.execution_id, w.node_index) < (@since::timestamptz, @execution_id::uuid, @node_index::int))))::int AS ahead,
    coalesce((SELECT s.permits FROM semaphores s WHERE s.project_id = @project_id AND s.name = @name), 0)::int AS permits;

-- name: LockHolder :one
SELECT l.execution_id, l.node_index, e.workflow_name, e.name AS execution_name, coalesce(n.name, '')::text AS node_name
FROM locks l JOIN executions e ON e.id = l.execution_id
LEFT JOIN nodes n ON n.execution_id = l.execution_id AND n.node_index = l.node_index
WHERE l.project_id = @project_id AND l.name = @name
ORDER BY l.held_since LIMIT 1;

-- name: TakeLock :exec
INSERT INTO locks (project_id, name, execution_id, node_index, held_since)
VALUES (@project_id, @name, @execution_id, @node_index, @held_since) ON CONFLICT DO NOTHING;

-- name: WaitForLock :exec
INSERT INTO lock_waits (project_id, name, execution_id, node_index, priority, since, seen_at)
VALUES (@project_id, @name, @execution_id, @node_index, @priority, @since, @seen_at)
ON CONFLICT ON CONSTRAINT lock_waits_pkey DO UPDATE SET seen_at = excluded.seen_at, priority = excluded.priority;

-- name: WaitNoMore :exec
DELETE FROM lock_waits WHERE execution_id = @execution_id AND node_index = ANY (@nodes::int[]);

-- name: LocksOf :many
SELECT DISTINCT node_index FROM locks WHERE execution_id = @execution_id;

-- name: ReleaseLocks :many
-- Releases locks and returns the executions that wait for them.
WITH freed AS (
    DELETE FROM locks l WHERE l.execution_id = @execution_id AND (@everything::bool OR l.node_index = ANY (@nodes::int[]))
    RETURNING l.project_id, l.name
), gone AS (
    DELETE FROM lock_waits w WHERE w.execution_id = @execution_id AND (@everything::bool OR w.node_index = ANY (@nodes::int[]))
)
SELECT DISTINCT w.execution_id FROM lock_waits w JOIN freed f ON f.project_id = w.project_id AND f.name = w.name;

-- name: ListSemaphores :many
-- Returns the locks of a project that are in use, have waiters, or have a limit set by an
-- administrator.
SELECT n.name::text AS name, coalesce(s.permits, 0)::int AS permits, s.updated_at, coalesce(s.updated_by, '')::text AS updated_by,
    (SELECT count(*) FROM locks l WHERE l.project_id = @project_id AND l.name = n.name)::int AS held,
    (SELECT count(*) FROM lock_waits w WHERE w.project_id = @project_id AND w.name = n.name AND w.seen_at > @fresh::timestamptz)::int AS waiting
FROM (
    SELECT name FROM semaphores WHERE project_id = @project_id
    UNION SELECT name FROM locks WHERE project_id = @project_id
    UNION SELECT name FROM lock_waits WHERE project_id = @project_id AND seen_at > @fresh::timestamptz
) n LEFT JOIN semaphores s ON s.project_id = @project_id AND s.name = n.name
WHERE n.name > @after::text AND (@single::text = '' OR n.name = @single::text)
ORDER BY n.name LIMIT @max_rows;

-- name: LockUsers :many
-- Returns the holders and waiters of locks, each in queue order.
SELECT u.name, u.waits, u.execution_id, u.node_index, u.since, u.place::int AS place, e.version_id, e.workflow_name, e.name AS execution_name,
    coalesce(n.name, '')::text AS node_name
FROM (
    SELECT l.name, false AS waits, l.execution_id, l.node_index, l.held_since AS since,
        row_number() OVER (PARTITION BY l.name ORDER BY l.held_since, l.execution_id, l.node_index) AS place
    FROM locks l WHERE l.project_id = @project_id AND l.name = ANY (@names::text[])
    UNION ALL
    SELECT w.name, true, w.execution_id, w.node_index, w.since,
        row_number() OVER (PARTITION BY w.name ORDER BY w.priority DESC, w.since, w.execution_id, w.node_index)
    FROM lock_waits w WHERE w.project_id = @project_id AND w.name = ANY (@names::text[]) AND w.seen_at > @fresh::timestamptz
) u
JOIN executions e ON e.id = u.execution_id
LEFT JOIN nodes n ON n.execution_id = u.execution_id AND n.node_index = u.node_index
WHERE u.place <= @most::int
ORDER BY u.name, u.waits, u.place;

-- name: LockSemaphore :one
-- Returns the permits that were set before; 0 for none.
SELECT coalesce((SELECT s.permits FROM semaphores s WHERE s.project_id = @project_id AND s.name = @name FOR UPDATE), 0)::int AS permits;

-- name: SetSemaphore :exec
INSERT INTO semaphores (project_id, name, permits, updated_at, updated_by) VALUES (@project_id, @name, @permits, @updated_at, @updated_by)
ON CONFLICT ON CONSTRAINT semaphores_pkey DO UPDATE SET permits = excluded.permits, updated_at = excluded.updated_at, updated_by = excluded.updated_by;

-- name: UnsetSemaphore :exec
DELETE FROM semaphores WHERE project_id = @project_id AND name = @name;

-- name: LockWaiters :many
SELECT DISTINCT execution_id FROM lock_waits WHERE project_id = @project_id AND name = @name;
