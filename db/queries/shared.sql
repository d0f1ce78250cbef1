-- name: ExecutionEnds :many
-- How executions stand of which a launcher keeps something; those that are no more are left out.
SELECT id, status, finished_at FROM executions WHERE id = ANY(@ids::uuid[]);
