-- name: SetInputs :execrows
-- Values that the launch left to ConfigMaps; only for whoever drives the execution.
UPDATE executions SET inputs = @inputs::jsonb
WHERE id = @id AND owner_epoch = @epoch AND finished_at IS NULL;
