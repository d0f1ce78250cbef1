-- name: InsertTemplate :execrows
INSERT INTO operator_templates (id, tenant_id, project_id, name, version, major, minor, patch, prerelease, description, document, content_hash,
    created_by, created_by_name, created_at)
VALUES (@id, @tenant_id, sqlc.narg('project_id'), @name, @version, @major, @minor, @patch, @prerelease, @description, @document, @content_hash,
    @created_by, @created_by_name, @created_at)
ON CONFLICT ON CONSTRAINT operator_templates_version_key DO NOTHING;

-- name: TemplatesNamed :many
-- Returns the versions of a template that a project can use, its own before those of the
-- tenant.
SELECT * FROM operator_templates
WHERE tenant_id = @tenant_id AND (project_id IS NULL OR project_id = @project_id) AND name = @name
ORDER BY (project_id IS NULL), major DESC, minor DESC, patch DESC, (prerelease <> ''), prerelease DESC;

-- name: ListTemplates :many
-- Returns the templates that a project can use, without their documents, latest versions
-- first.
SELECT id, project_id, name, version, description, prerelease, created_by_name, created_at FROM operator_templates
WHERE tenant_id = @tenant_id AND (project_id IS NULL OR project_id = @project_id)
ORDER BY name, (project_id IS NULL), major DESC, minor DESC, patch DESC, (prerelease <> ''), prerelease DESC
LIMIT @max_rows;
