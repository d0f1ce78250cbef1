-- name: KeepPlacedInputs :exec
-- Stores how the input files of attempts were transferred. The report at the end of an attempt
-- replaces earlier ones, because only then is the transfer of streamed inputs complete.
UPDATE attempts a SET inputs = p.inputs
FROM jsonb_to_recordset(@placed::jsonb) AS p(execution_id uuid, i int, attempt int, inputs jsonb, ended bool)
WHERE a.execution_id = p.execution_id AND a.node_index = p.i AND a.attempt = p.attempt AND (a.inputs IS NULL OR p.ended);

-- name: PlacedInputs :many
-- Returns the transfer report of the latest attempt that sent one.
SELECT attempt, inputs FROM attempts
WHERE execution_id = @execution_id AND node_index = @node_index AND inputs IS NOT NULL
ORDER BY attempt DESC LIMIT 1;
