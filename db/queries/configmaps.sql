-- name: SetInputs :execrows
-- Stores input values read from ConfigMaps. Only the owner of the execution may call it.
UPDATE executions SET inputs = @inputs::jsonb
WHERE id = @id AND owner_epoch = @epoch AND finished_at IS NULL;
