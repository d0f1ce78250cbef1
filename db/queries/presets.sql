-- name: ListPresets :many
-- Returns the presets of a workflow that a user may use: their own, those of the project, and
-- those that other projects of the team share for the workflow of the same name. few_inputs are the
-- inputs, or null for those with more bytes than @few, which are not even decompressed.
SELECT p.id, p.workflow_id, p.name, p.description, p.sharing, p.version, p.owner_id, p.owner_name,
    p.created_at, p.updated_at, p.updated_by, p.uses, p.used_at,
    coalesce(CASE WHEN pg_column_size(p.inputs) <= @few::int THEN CASE WHEN octet_length(p.inputs::text) <= @few::int THEN p.inputs END END, 'null'::jsonb)::jsonb AS few_inputs,
    w.project_id, n.name AS project_name, n.parent_id AS team_id, t.name AS team_name
FROM launch_presets p
JOIN workflows w ON w.id = p.workflow_id
JOIN tenancy_nodes n ON n.id = w.project_id
JOIN tenancy_nodes t ON t.id = n.parent_id
WHERE (w.id = @workflow_id AND (p.sharing <> 'private' OR p.owner_id = @user_id))
   OR (p.sharing = 'team' AND n.archived_at IS NULL AND w.name = @workflow_name
       AND n.parent_id = (SELECT own.parent_id FROM tenancy_nodes own WHERE own.id = @project_id))
ORDER BY lower(p.name), p.id;

-- name: LockPreset :one
SELECT * FROM launch_presets WHERE id = @id FOR UPDATE;

-- name: PresetInputs :one
SELECT inputs FROM launch_presets WHERE id = @id;

-- name: LockPresetsOfWorkflow :exec
-- Makes others who save presets of the workflow wait.
SELECT FROM workflows WHERE id = @workflow_id FOR NO KEY UPDATE;

-- name: CountPresets :one
SELECT count(*) FROM launch_presets WHERE workflow_id = @workflow_id AND owner_id = @owner_id;

-- name: InsertPreset :exec
INSERT INTO launch_presets (id, workflow_id, name, description, sharing, version, inputs, owner_id, owner_name, created_at, updated_at, updated_by)
VALUES (@id, @workflow_id, @name, @description, @sharing, @version, @inputs, @owner_id, @owner_name, @now, @now, @owner_name);

-- name: UpdatePreset :exec
-- updated_at is different after every change, because changes name the one that they are based on.
UPDATE launch_presets SET name = @name, description = @description, sharing = @sharing, version = @version, inputs = @inputs,
    updated_at = greatest(@now::timestamptz, updated_at + interval '1 microsecond'), updated_by = @actor
WHERE id = @id;

-- name: DeletePreset :exec
DELETE FROM launch_presets WHERE id = @id;

-- name: NotePresetUse :exec
UPDATE launch_presets SET uses = uses + 1, used_at = @now WHERE id = @id;

-- name: PresetDefaults :many
-- Returns the default of a user and that of the project, which has the zero UUID as its user.
SELECT user_id, preset_id FROM launch_preset_defaults
WHERE workflow_id = @workflow_id AND user_id IN (@user_id, '00000000-0000-0000-0000-000000000000');

-- name: SetPresetDefault :exec
INSERT INTO launch_preset_defaults (workflow_id, user_id, preset_id) VALUES (@workflow_id, @user_id, @preset_id)
ON CONFLICT ON CONSTRAINT launch_preset_defaults_pkey DO UPDATE SET preset_id = excluded.preset_id;

-- name: UnsetPresetDefault :execrows
DELETE FROM launch_preset_defaults WHERE workflow_id = @workflow_id AND user_id = @user_id AND preset_id = @preset_id;

-- name: UnsetUnseenPresetDefaults :exec
-- Removes a preset as the default of those who can no longer see it: other workflows unless the
-- team shares it, and other users if it is private.
DELETE FROM launch_preset_defaults
WHERE preset_id = @preset_id
  AND (@sharing::text <> 'team' AND workflow_id <> @workflow_id OR @sharing::text = 'private' AND user_id <> @owner_id);

-- name: TeamOfProject :one
SELECT t.id, t.name, n.tenant_id, n.name AS project_name FROM tenancy_nodes n JOIN tenancy_nodes t ON t.id = n.parent_id WHERE n.id = @project_id;
