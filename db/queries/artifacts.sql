-- name: InsertArtifacts :exec
INSERT INTO artifacts (id, tenant_id, project_id, execution_id, node_index, node, attempt, workflow_name,
    name, type, kind, sha256, size, media_type, filename, metadata, gc, created_at)
SELECT unnest(@ids::uuid[]), @tenant_id, @project_id, unnest(@execution_ids::uuid[]), unnest(@node_indexes::integer[]),
    unnest(@nodes::text[]), unnest(@attempts::integer[]), unnest(@workflow_names::text[]), unnest(@names::text[]),
    unnest(@types::text[]), unnest(@kinds::text[]), unnest(@sha256s::bytea[]), unnest(@sizes::bigint[]),
    unnest(@media_types::text[]), unnest(@filenames::text[]), unnest(@metadata::jsonb[]), unnest(@gcs::text[]), @created_at::timestamptz;

-- name: UpsertBlobs :exec
INSERT INTO blobs (sha256, size, media_type, created_at)
SELECT DISTINCT ON (b.sha256) b.sha256, b.size, b.media_type, @created_at::timestamptz
FROM (SELECT unnest(@sha256s::bytea[]) AS sha256, unnest(@sizes::bigint[]) AS size, unnest(@media_types::text[]) AS media_type) b
ON CONFLICT (sha256) DO NOTHING;

-- name: GetArtifact :one
SELECT * FROM artifacts WHERE id = @id;

-- name: ArtifactsByHash :many
SELECT * FROM artifacts WHERE sha256 = @sha256 AND project_id = @project_id ORDER BY id DESC LIMIT 100;

-- name: ReferBlobs :one
-- Adds references from a project to blobs, records the use of those that it has, and returns
-- how many bytes are new to the project.
WITH referred AS (
    INSERT INTO project_blobs (project_id, sha256, size, created_at, used_at)
    SELECT DISTINCT ON (b.sha256) @project_id::uuid, b.sha256, b.size, @created_at::timestamptz, @created_at::timestamptz
    FROM (SELECT unnest(@sha256s::bytea[]) AS sha256, unnest(@sizes::bigint[]) AS size) b
    ORDER BY b.sha256
    ON CONFLICT ON CONSTRAINT project_blobs_pkey DO UPDATE SET used_at = greatest(project_blobs.used_at, excluded.used_at)
    RETURNING size, xmax = 0 AS inserted
)
SELECT coalesce(sum(size) FILTER (WHERE inserted), 0)::bigint AS bytes FROM referred;

-- name: ListArtifacts :many
SELECT * FROM artifacts
WHERE project_id = @project_id
    AND id < @before
    AND (sqlc.narg('execution_id')::uuid IS NULL OR execution_id = sqlc.narg('execution_id'))
    AND (@workflow::text = '' OR workflow_name = @workflow)
    AND (@kind::text = '' OR kind = @kind)
    AND (@query::text = '' OR name ILIKE '%' || @query || '%' OR node ILIKE '%' || @query || '%'
        OR workflow_name ILIKE '%' || @query || '%' OR filename ILIKE '%' || @query || '%')
    AND (@condition::text = '' OR coalesce(jsonb_path_match(
        jsonb_build_object('name', name, 'node', node, 'workflow', workflow_name, 'type', kind, 'file', filename, 'size', size,
            'created', extract(epoch FROM created_at), 'metadata', metadata),
        nullif(@condition::text, '')::jsonpath, '{}', true), false))
ORDER BY id DESC
LIMIT @row_limit;
