-- name: RestartPolls :exec
-- Makes a trigger or a condition poll something else from now on. What it knew about the former is
-- forgotten, and a server that polls the former loses its turn.
WITH gone AS (DELETE FROM trigger_objects o WHERE o.trigger_id = @trigger_id AND o.condition = @condition)
INSERT INTO trigger_polls (trigger_id, condition, epoch, baseline, cursor, due_at) VALUES (@trigger_id, @condition, @epoch, @baseline, '{}', @due_at)
ON CONFLICT ON CONSTRAINT trigger_polls_pkey DO UPDATE SET epoch = excluded.epoch, baseline = excluded.baseline, cursor = excluded.cursor, sequence = 0,
    turn = trigger_polls.turn + 1, leased_until = NULL, due_at = excluded.due_at, polled_at = NULL, status = '', failures = 0, error = '';

-- name: InterruptPolls :exec
-- Takes the turns from the servers that poll for a trigger, and makes its polls due.
UPDATE trigger_polls SET turn = turn + 1, leased_until = NULL, due_at = @due_at, failures = 0, error = '' WHERE trigger_id = @trigger_id;

-- name: RequestPolls :execrows
-- Makes the polls of a trigger due now.
UPDATE trigger_polls SET due_at = least(due_at, @now) WHERE trigger_id = @trigger_id;

-- name: KeepPolls :exec
-- Removes the polls of a trigger except those of some conditions.
DELETE FROM trigger_polls WHERE trigger_id = @trigger_id AND condition <> ALL (@conditions::text[]);

-- name: GetPolls :many
SELECT * FROM trigger_polls WHERE trigger_id = @trigger_id ORDER BY condition;

-- name: ListPolls :many
SELECT p.* FROM trigger_polls p JOIN triggers t ON t.id = p.trigger_id WHERE t.project_id = @project_id ORDER BY p.trigger_id, p.condition;

-- name: ClaimPoll :one
-- Gives the turn to the caller for the poll that has been due longest. Returns no row if none is due.
UPDATE trigger_polls p SET turn = p.turn + 1, leased_until = @leased_until
FROM (
    SELECT x.trigger_id, x.condition FROM trigger_polls x JOIN triggers t ON t.id = x.trigger_id
    WHERE t.enabled AND x.due_at <= @now AND (x.leased_until IS NULL OR x.leased_until <= @now)
    ORDER BY x.due_at LIMIT 1 FOR UPDATE OF x SKIP LOCKED
) due
WHERE p.trigger_id = due.trigger_id AND p.condition = due.condition
RETURNING p.*;

-- name: NextPoll :one
-- Returns when the next poll is due and no server has its turn.
SELECT greatest(x.due_at, x.leased_until)::timestamptz AS due_at FROM trigger_polls x JOIN triggers t ON t.id = x.trigger_id
WHERE t.enabled ORDER BY greatest(x.due_at, x.leased_until) LIMIT 1;

-- name: HoldPoll :execrows
-- Prolongs the turn, and locks it until the end of the transaction. Returns 0 if another server has it.
UPDATE trigger_polls SET leased_until = @leased_until WHERE trigger_id = @trigger_id AND condition = @condition AND turn = @turn;

-- name: MovePoll :execrows
-- Moves the cursor of a poll of an address.
UPDATE trigger_polls SET cursor = @cursor, sequence = @sequence, baseline = false, leased_until = @leased_until
WHERE trigger_id = @trigger_id AND condition = @condition AND turn = @turn;

-- name: SettlePoll :execrows
-- Ends the turn.
UPDATE trigger_polls SET baseline = @baseline, leased_until = NULL, due_at = @due_at, polled_at = @polled_at, status = @status, failures = @failures, error = @error
WHERE trigger_id = @trigger_id AND condition = @condition AND turn = @turn;

-- name: ReleasePoll :exec
-- Ends the turn of a server that stops before its poll has ended.
UPDATE trigger_polls SET leased_until = NULL WHERE trigger_id = @trigger_id AND condition = @condition AND turn = @turn;

-- name: PauseTrigger :exec
UPDATE triggers SET enabled = false, paused = @paused, updated_at = @now WHERE id = @id;

-- name: LockTriggerByID :one
SELECT * FROM triggers WHERE id = @id FOR UPDATE;

-- name: KnownObjects :many
SELECT key, etag FROM trigger_objects WHERE trigger_id = @trigger_id AND condition = @condition AND key = ANY (@keys::text[]);

-- name: NoteObjects :exec
INSERT INTO trigger_objects (trigger_id, condition, key, etag)
SELECT @trigger_id::uuid, @condition::text, unnest(@keys::text[]), unnest(@etags::text[])
ON CONFLICT ON CONSTRAINT trigger_objects_pkey DO UPDATE SET etag = excluded.etag;

-- name: CountObjects :one
SELECT count(*) FROM trigger_objects WHERE trigger_id = @trigger_id AND condition = @condition;

-- name: ObjectKeys :many
-- Returns the keys of known objects in their order.
SELECT key FROM trigger_objects WHERE trigger_id = @trigger_id AND condition = @condition AND key > @after ORDER BY key LIMIT @row_limit;

-- name: ForgetObjects :exec
DELETE FROM trigger_objects WHERE trigger_id = @trigger_id AND condition = @condition AND key = ANY (@keys::text[]);

-- name: NoteBucket :execrows
-- Stores which objects a trigger lists.
UPDATE trigger_polls SET cursor = @cursor WHERE trigger_id = @trigger_id AND condition = @condition AND turn = @turn;

-- name: ChangeBucket :one
-- Stores that a trigger lists other objects, because its connection leads to another bucket. What it knew about the
-- former ones is forgotten, and the first complete list causes no events.
WITH held AS (
    UPDATE trigger_polls p SET cursor = @cursor, epoch = @epoch, baseline = true WHERE p.trigger_id = @trigger_id AND p.condition = @condition AND p.turn = @turn
    RETURNING p.trigger_id, p.condition
), gone AS (
    DELETE FROM trigger_objects o USING held h WHERE o.trigger_id = h.trigger_id AND o.condition = h.condition
)
SELECT count(*) FROM held;
