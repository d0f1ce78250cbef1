-- name: ExecutionEnds :many
-- Returns the status of executions for a launcher that keeps resources of theirs; deleted
-- executions are missing.
SELECT id, status, finished_at FROM executions WHERE id = ANY(@ids::uuid[]);
