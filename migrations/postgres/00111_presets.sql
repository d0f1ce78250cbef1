-- Presets: named inputs of a workflow that people save and share. The inputs refer to secrets by
-- name and never contain their values.
-- +goose Up
CREATE TABLE launch_presets (
    id          uuid PRIMARY KEY,
    workflow_id uuid NOT NULL REFERENCES workflows ON DELETE CASCADE,
    name        text NOT NULL,
    description text NOT NULL DEFAULT '',
    sharing     text NOT NULL,
    version     text NOT NULL, -- for which the inputs were saved
    inputs      jsonb NOT NULL,
    owner_id    uuid NOT NULL,
    owner_name  text NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    updated_by  text NOT NULL,
    uses        bigint NOT NULL DEFAULT 0,
    used_at     timestamptz,
    CONSTRAINT launch_presets_workflow_key UNIQUE (id, workflow_id),
    CONSTRAINT launch_presets_sharing_check CHECK (sharing IN ('private', 'project', 'team')),
    CONSTRAINT launch_presets_name_check CHECK (char_length(name) BETWEEN 1 AND 80)
);
CREATE UNIQUE INDEX launch_presets_shared_key ON launch_presets (workflow_id, lower(name)) WHERE sharing <> 'private';
CREATE UNIQUE INDEX launch_presets_private_key ON launch_presets (workflow_id, owner_id, lower(name)) WHERE sharing = 'private';

-- The preset that fills in an empty form. The default of the project has the zero UUID as its
-- user, and applies to people without their own.
CREATE TABLE launch_preset_defaults (
    workflow_id uuid NOT NULL REFERENCES workflows ON DELETE CASCADE,
    user_id     uuid NOT NULL,
    preset_id   uuid NOT NULL REFERENCES launch_presets ON DELETE CASCADE,
    CONSTRAINT launch_preset_defaults_pkey PRIMARY KEY (workflow_id, user_id)
);
CREATE INDEX launch_preset_defaults_preset_idx ON launch_preset_defaults (preset_id);

-- +goose Down
DROP TABLE launch_preset_defaults;
DROP TABLE launch_presets;
