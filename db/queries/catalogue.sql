-- name: InsertCatalogueEntry :exec
INSERT INTO catalogue_entries (id, project_id, kind, name, version, description, format, framework, tags, facts, blob, artifact_id, created_by, created_at)
VALUES (@id, @project_id, @kind, @name, @version, @description, @format, @framework, @tags, @facts, @blob, @artifact_id, @created_by, @created_at);

-- name: GetCatalogueEntry :one
SELECT * FROM catalogue_entries
WHERE project_id = @project_id AND kind = @kind AND name = @name AND (@version::text = '' OR version = @version)
ORDER BY id DESC
LIMIT 1;

-- name: SearchCatalogue :many
-- Returns the newest entries first, with a cursor for the next page. ranked puts names with
-- the prefix first and supports only the first page.
SELECT * FROM catalogue_entries
WHERE project_id = @project_id AND kind = @kind AND id < @before
    AND (@format::text = '' OR format = '' OR format = @format)
    AND (@framework::text = '' OR framework = '' OR framework = @framework)
    AND (@query::text = '' OR name || '@' || version ILIKE '%' || @query || '%' OR description ILIKE '%' || @query || '%' OR EXISTS (SELECT 1 FROM unnest(tags) AS tag WHERE tag ILIKE @query))
    AND (@condition::text = '' OR coalesce(jsonb_path_match(
        jsonb_build_object('name', name, 'version', version, 'format', format, 'framework', framework, 'user', created_by, 'tag', tags,
            'created', extract(epoch FROM created_at), 'metadata', coalesce(facts -> 'metadata', '{}') || coalesce(facts -> 'metrics', '{}')),
        nullif(@condition::text, '')::jsonpath, '{}', true), false))
ORDER BY (@ranked::boolean AND name ILIKE @query || '%') DESC, id DESC
LIMIT @row_limit;

-- name: ListCustomTypes :many
SELECT definition FROM custom_types WHERE tenant_id = @tenant_id ORDER BY name;

-- name: InsertCustomType :exec
INSERT INTO custom_types (tenant_id, name, definition, created_by, created_at)
VALUES (@tenant_id, @name, @definition, @created_by, @created_at);

-- name: InsertTypeRenderer :exec
INSERT INTO type_renderers (tenant_id, type_name, file, html) VALUES (@tenant_id, @type_name, @file, @html);

-- name: GetTypeRenderer :one
SELECT file, html FROM type_renderers WHERE tenant_id = @tenant_id AND type_name = @type_name;

-- name: LockCustomTypes :exec
SELECT pg_advisory_xact_lock(hashtextextended('custom_types ' || @tenant::text, 0));
