-- name: GetOptionRun :one
SELECT * FROM option_runs WHERE project_id = @project_id AND key = @key;

-- name: LockOptionRuns :exec
-- Serializes the claims of a project until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('option_runs' || @project_id::text, 0));

-- name: CountOptionRuns :one
-- Counts the executions of a project that list options and have not ended.
SELECT count(*) FROM option_runs r JOIN executions e ON e.id = r.execution_id
WHERE r.project_id = @project_id AND NOT r.ended AND e.finished_at IS NULL;

-- name: ClaimOptionRun :execrows
-- Records a new run of a key. Does nothing if another request has recorded one since the caller read
-- the row: known is the execution that the row named then.
INSERT INTO option_runs (project_id, key, execution_id, started_at, ended, failure, keep_until)
VALUES (@project_id, @key, @execution_id, @started_at, false, '', @keep_until)
ON CONFLICT (project_id, key) DO UPDATE
SET execution_id = excluded.execution_id, started_at = excluded.started_at, ended = false, failure = '', failed_at = NULL, keep_until = excluded.keep_until
WHERE option_runs.execution_id = @known;

-- name: AnswerOptionRun :exec
UPDATE option_runs SET ended = true, outputs = @outputs, answered_at = @answered_at
WHERE project_id = @project_id AND key = @key AND execution_id = @execution_id AND NOT ended;

-- name: FailOptionRun :exec
UPDATE option_runs SET ended = true, failure = @failure, failed_at = @failed_at
WHERE project_id = @project_id AND key = @key AND execution_id = @execution_id AND NOT ended;

-- name: PruneOptionRuns :exec
-- Removes rows that are too old to be used, and the oldest if a project has more than @kept.
DELETE FROM option_runs o WHERE o.project_id = @project_id AND (o.keep_until < @now OR o.key IN (
    SELECT r.key FROM option_runs r WHERE r.project_id = @project_id AND r.ended ORDER BY r.started_at DESC OFFSET @kept
));
