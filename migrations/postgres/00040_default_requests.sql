-- Default resource requests of tasks.
-- +goose Up
-- CPU in millicores and memory in MiB for each pod of a task. For each resource, the nearest
-- node of the tree with a default applies.
ALTER TABLE quotas ADD COLUMN defaults jsonb NOT NULL DEFAULT '{}',
    ADD CONSTRAINT quotas_defaults_check CHECK (is_amounts(defaults));

-- +goose Down
ALTER TABLE quotas DROP COLUMN defaults;
