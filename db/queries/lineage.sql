-- name: InsertEntryUses :exec
INSERT INTO entry_uses (entry_id, execution_id, input, requested)
SELECT u.entry_id, @execution_id, u.input, u.requested
FROM (SELECT unnest(@entry_ids::uuid[]) AS entry_id, unnest(@inputs::text[]) AS input, unnest(@requested::text[]) AS requested) u
ON CONFLICT ON CONSTRAINT entry_uses_pkey DO NOTHING;

-- name: LineageArtifacts :many
SELECT id, project_id, execution_id, node_index, node, workflow_name, name, type, kind, sha256, size, created_at
FROM artifacts WHERE id = ANY (@ids::uuid[]);

-- name: LineageEntries :many
SELECT c.id, c.project_id, c.kind, c.name, c.version, c.artifact_id, c.created_by, c.created_at, coalesce(s.stage, '')::text AS stage
FROM catalogue_entries c LEFT JOIN model_stages s ON s.entry_id = c.id
WHERE c.id = ANY (@ids::uuid[]);

-- name: LineageExecutions :many
-- inputs is null for executions whose inputs refer to no artifact and no file.
SELECT id, project_id, version_id, workflow_name, version, status, submitted_by_name, created_at,
    coalesce(CASE WHEN inputs::text LIKE '%"$artifact"%' OR inputs::text LIKE '%"$file"%' THEN inputs END, 'null'::jsonb)::jsonb AS inputs
FROM executions WHERE id = ANY (@ids::uuid[]);

-- name: LineageNodes :many
-- Returns the artifacts in the outputs of nodes, a row for each output, at most @fan artifacts of
-- one. output is '' for nodes without outputs.
SELECT n.execution_id, n.node_index, n.name, n.state, n.origin_execution, n.origin_index, coalesce(n.origin_use, '')::text AS origin_use,
    coalesce(o.output, '')::text AS output, coalesce(o.total, 0)::bigint AS total, coalesce(o.artifacts, '{}')::text[] AS artifacts
FROM (SELECT unnest(@execution_ids::uuid[]) AS execution_id, unnest(@indexes::int[]) AS node_index) s
JOIN nodes n ON n.execution_id = s.execution_id AND n.node_index = s.node_index
LEFT JOIN LATERAL (
    SELECT p.key AS output, count(f.found) AS total, (array_agg(f.found #>> '{}') FILTER (WHERE f.found IS NOT NULL))[1:@fan::int] AS artifacts
    FROM jsonb_each(CASE jsonb_typeof(n.outputs) WHEN 'object' THEN n.outputs ELSE '{}' END) AS p(key, value)
    LEFT JOIN LATERAL jsonb_path_query(p.value, 'strict $.**."$artifact"', '{}', true) AS f(found) ON true
    GROUP BY p.key) o ON true;

-- name: NodesWithArtifact :many
-- Returns the nodes of plans whose outputs refer to artifacts.
SELECT n.execution_id, n.node_index, s.artifact::text AS artifact
FROM (SELECT unnest(@execution_ids::uuid[]) AS execution_id, unnest(@artifacts::text[]) AS artifact, unnest(@sizes::int[]) AS size) s
JOIN nodes n ON n.execution_id = s.execution_id AND n.node_index < s.size
WHERE jsonb_path_exists(n.outputs, 'strict $.**."$artifact" ? (@ == $id)', jsonb_build_object('id', s.artifact), true);

-- name: EntryUsesOf :many
SELECT u.entry_id, u.execution_id, u.input, u.requested FROM entry_uses u
WHERE u.execution_id = ANY (@execution_ids::uuid[])
ORDER BY u.execution_id, u.input;

-- name: UsersOfEntries :many
-- Returns the newest executions that read entries, at most @fan of each, and how many there are,
-- counted to 1,001.
SELECT e.entry_id::uuid AS entry_id, u.execution_id, u.input, u.requested,
    (SELECT count(*) FROM (SELECT 1 FROM entry_uses c WHERE c.entry_id = e.entry_id LIMIT 1001) x)::bigint AS total
FROM unnest(@entry_ids::uuid[]) AS e(entry_id)
CROSS JOIN LATERAL (
    SELECT w.execution_id, w.input, w.requested FROM entry_uses w WHERE w.entry_id = e.entry_id
    ORDER BY w.execution_id DESC LIMIT @fan) u;

-- name: UsersOfArtifacts :many
-- Returns the newest executions that refer to artifacts like UsersOfEntries.
SELECT a.artifact_id::uuid AS artifact_id, u.execution_id,
    (SELECT count(*) FROM (SELECT 1 FROM artifact_uses c WHERE c.artifact_id = a.artifact_id LIMIT 1001) x)::bigint AS total
FROM unnest(@artifact_ids::uuid[]) AS a(artifact_id)
CROSS JOIN LATERAL (
    SELECT w.execution_id FROM artifact_uses w WHERE w.artifact_id = a.artifact_id
    ORDER BY w.execution_id DESC LIMIT @fan) u;

-- name: EntriesOfArtifacts :many
-- Returns the entries that were registered from artifacts, and those of the same project with the
-- same bytes that name no artifact.
SELECT a.id AS artifact_id, c.id AS entry_id, (c.artifact_id IS NOT NULL)::boolean AS registered
FROM artifacts a
CROSS JOIN LATERAL (
    SELECT k.id, k.artifact_id FROM catalogue_entries k WHERE k.artifact_id = a.id
    UNION ALL
    SELECT k.id, k.artifact_id FROM catalogue_entries k
    WHERE k.blob ->> 'sha256' = encode(a.sha256, 'hex') AND k.blob IS NOT NULL AND k.artifact_id IS NULL AND k.project_id = a.project_id
    ORDER BY id DESC LIMIT @fan) c
WHERE a.id = ANY (@artifact_ids::uuid[]);

-- name: ArtifactsOfEntries :many
-- Returns the artifacts with the bytes of entries that name no artifact, newest first.
SELECT c.id AS entry_id, a.id AS artifact_id
FROM catalogue_entries c
CROSS JOIN LATERAL (
    SELECT x.id FROM artifacts x
    WHERE x.sha256 = decode(c.blob ->> 'sha256', 'hex') AND x.project_id = c.project_id AND x.created_at <= c.created_at
    ORDER BY x.id DESC LIMIT @fan) a
WHERE c.id = ANY (@entry_ids::uuid[]) AND c.artifact_id IS NULL AND c.blob IS NOT NULL;

-- name: ArtifactsOfSteps :many
-- Returns the artifacts of nodes of plans with the nodes inside them; node '' is the whole execution.
-- An artifact is younger than its execution, so older partitions are not read.
SELECT s.execution_id::uuid AS execution_id, s.node::text AS node, a.id AS artifact_id, a.name, a.total::bigint AS total
FROM (SELECT unnest(@execution_ids::uuid[]) AS execution_id, unnest(@nodes::text[]) AS node) s
CROSS JOIN LATERAL (
    SELECT x.id, x.name, count(*) OVER () AS total FROM artifacts x
    WHERE x.execution_id = s.execution_id AND x.id > s.execution_id
        AND (s.node = '' OR split_part(split_part(x.node, '[', 1), '/', 1) = s.node)
    ORDER BY x.id LIMIT @fan) a;

-- name: ProductionModels :many
-- Returns the versions of models in production.
SELECT entry_id FROM model_stages WHERE project_id = @project_id AND stage = 'production' ORDER BY name LIMIT @row_limit;

-- name: NewestModels :many
-- Returns the newest versions of models.
SELECT id FROM catalogue_entries WHERE project_id = @project_id AND kind = 'Model' ORDER BY id DESC LIMIT @row_limit;
