-- What tasks request that name no resources.
-- +goose Up
-- CPU in millicores and memory in MiB, for each pod of a task; the nearest level of the
-- tree that names a resource decides.
ALTER TABLE quotas ADD COLUMN defaults jsonb NOT NULL DEFAULT '{}',
    ADD CONSTRAINT quotas_defaults_check CHECK (is_amounts(defaults));

-- +goose Down
ALTER TABLE quotas DROP COLUMN defaults;
