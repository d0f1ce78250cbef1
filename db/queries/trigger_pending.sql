-- name: InsertPending :exec
-- Does nothing for an event that already waits.
INSERT INTO trigger_pending (id, trigger_id, key, subject, payload, source_id, depth, failures, error, due_at, created_at)
VALUES (@id, @trigger_id, @key, @subject, @payload, @source_id, @depth, @failures, @error, @due_at, @created_at)
ON CONFLICT ON CONSTRAINT trigger_pending_once_key DO NOTHING;

-- name: HasPending :one
SELECT EXISTS (SELECT 1 FROM trigger_pending WHERE trigger_id = @trigger_id);

-- name: FirstPending :one
SELECT * FROM trigger_pending WHERE trigger_id = @trigger_id ORDER BY id LIMIT 1;

-- name: ListPending :many
SELECT * FROM trigger_pending WHERE trigger_id = @trigger_id ORDER BY id LIMIT @row_limit;

-- name: CountPending :one
SELECT count(*) FROM trigger_pending WHERE trigger_id = @trigger_id;

-- name: NextPending :one
-- Returns when the next trigger has its first event due.
SELECT p.due_at FROM trigger_pending p
WHERE NOT EXISTS (SELECT 1 FROM trigger_pending e WHERE e.trigger_id = p.trigger_id AND e.id < p.id)
ORDER BY p.due_at LIMIT 1;

-- name: DuePending :many
-- Returns the triggers whose first event is due.
SELECT p.trigger_id FROM trigger_pending p
WHERE p.due_at <= @now AND NOT EXISTS (SELECT 1 FROM trigger_pending e WHERE e.trigger_id = p.trigger_id AND e.id < p.id)
ORDER BY p.due_at LIMIT @row_limit;

-- name: RetryPendingLater :exec
UPDATE trigger_pending SET failures = @failures, error = @error, due_at = @due_at WHERE id = @id;

-- name: DeletePending :exec
DELETE FROM trigger_pending WHERE id = @id;
