-- name: KeepPlacedInputs :exec
-- How inputs came to attempts. Of one that is read while it is written the end of the
-- attempt alone knows; of the others a repetition says the same.
UPDATE attempts a SET inputs = p.inputs
FROM jsonb_to_recordset(@placed::jsonb) AS p(execution_id uuid, i int, attempt int, inputs jsonb, ended bool)
WHERE a.execution_id = p.execution_id AND a.node_index = p.i AND a.attempt = p.attempt AND (a.inputs IS NULL OR p.ended);

-- name: PlacedInputs :many
-- How inputs came to the last attempt of a node that told.
SELECT attempt, inputs FROM attempts
WHERE execution_id = @execution_id AND node_index = @node_index AND inputs IS NOT NULL
ORDER BY attempt DESC LIMIT 1;
