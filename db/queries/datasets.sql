-- name: ListDatasets :many
-- Returns datasets or feature sets with their newest version.
SELECT m.name, m.versions, c.version AS newest, c.created_at AS newest_at, c.id AS newest_id,
    coalesce((p.profile ->> 'rows')::bigint, (c.facts ->> 'rows')::bigint, -1)::bigint AS rows,
    coalesce((p.profile ->> 'all_columns')::bigint, jsonb_array_length(coalesce(c.facts -> 'columns', c.facts -> 'features', '[]')))::bigint AS columns
FROM (
    SELECT e.name, count(*) AS versions, (array_agg(e.id ORDER BY e.id DESC))[1] AS id
    FROM catalogue_entries e
    WHERE e.project_id = @project_id AND e.kind = @kind AND e.name > @after AND (@query::text = '' OR e.name ILIKE '%' || @query || '%')
    GROUP BY e.name ORDER BY e.name LIMIT @row_limit) m
JOIN catalogue_entries c ON c.id = m.id
LEFT JOIN dataset_profiles p ON p.entry_id = c.id
ORDER BY m.name;

-- name: DatasetVersions :many
-- Returns the versions of a dataset, newest first.
SELECT sqlc.embed(c), coalesce(p.state, '')::text AS state, coalesce((p.profile ->> 'rows')::bigint, -1)::bigint AS rows
FROM catalogue_entries c LEFT JOIN dataset_profiles p ON p.entry_id = c.id
WHERE c.project_id = @project_id AND c.kind = @kind AND c.name = @name AND c.id < @before
ORDER BY c.id DESC LIMIT @row_limit;

-- name: FormerVersion :one
-- Returns the version that was registered before another one.
SELECT * FROM catalogue_entries WHERE project_id = @project_id AND kind = @kind AND name = @name AND id < @id ORDER BY id DESC LIMIT 1;

-- name: DatasetEntry :one
SELECT * FROM catalogue_entries WHERE id = @id;

-- name: GetProfile :one
SELECT * FROM dataset_profiles WHERE entry_id = @entry_id;

-- name: RequestProfile :exec
INSERT INTO dataset_profiles (entry_id) VALUES (@entry_id)
ON CONFLICT ON CONSTRAINT dataset_profiles_pkey DO UPDATE SET state = 'waiting', attempts = 0, started_at = NULL, computed_at = NULL, problem = '', profile = NULL;

-- name: StartProfile :one
-- Claims the statistics of an entry. A claim that is older than @stale belongs to a job that has died.
UPDATE dataset_profiles p SET attempts = p.attempts + 1, started_at = @now::timestamptz
FROM catalogue_entries c
WHERE p.entry_id = @entry_id AND c.id = p.entry_id AND p.state = 'waiting' AND (p.started_at IS NULL OR p.started_at < @stale::timestamptz)
RETURNING p.attempts, c.project_id, c.kind, c.name, c.version, c.blob;

-- name: EndProfile :exec
UPDATE dataset_profiles SET state = @state, problem = @problem, profile = @profile, computed_at = @now::timestamptz
WHERE entry_id = @entry_id AND state = 'waiting';

-- name: ReleaseProfile :exec
-- Ends a claim without a result, so that the job can try again.
UPDATE dataset_profiles SET started_at = NULL WHERE entry_id = @entry_id AND state = 'waiting';

-- name: WaitingProfiles :many
-- Returns entries whose statistics no job computes.
SELECT entry_id FROM dataset_profiles
WHERE state = 'waiting' AND (started_at IS NULL OR started_at < @stale::timestamptz) ORDER BY entry_id LIMIT @row_limit;

-- name: DatasetAliases :many
SELECT a.alias, a.entry_id, c.version, a.set_by, a.set_at FROM dataset_aliases a JOIN catalogue_entries c ON c.id = a.entry_id
WHERE a.project_id = @project_id AND a.kind = @kind AND a.name = @name ORDER BY a.alias;

-- name: ResolveDataset :one
SELECT c.* FROM dataset_aliases a JOIN catalogue_entries c ON c.id = a.entry_id
WHERE a.project_id = @project_id AND a.kind = @kind AND a.name = @name AND a.alias = @alias;

-- name: SetDatasetAlias :one
-- Returns the version that had the alias, or ''.
WITH old AS (
    SELECT c.version FROM dataset_aliases a JOIN catalogue_entries c ON c.id = a.entry_id
    WHERE a.project_id = @project_id AND a.kind = @kind AND a.name = @name AND a.alias = @alias),
set_alias AS (
    INSERT INTO dataset_aliases (project_id, kind, name, alias, entry_id, set_by, set_at)
    VALUES (@project_id, @kind, @name, @alias, @entry_id, @set_by, @set_at)
    ON CONFLICT ON CONSTRAINT dataset_aliases_pkey DO UPDATE SET entry_id = excluded.entry_id, set_by = excluded.set_by, set_at = excluded.set_at)
SELECT coalesce((SELECT old.version FROM old), '')::text AS version;

-- name: UnsetDatasetAlias :one
DELETE FROM dataset_aliases WHERE project_id = @project_id AND kind = @kind AND name = @name AND alias = @alias RETURNING entry_id;

-- name: DatasetUses :many
-- Returns the newest executions that read an entry.
SELECT u.input, u.requested, e.id, e.workflow_name, e.version, e.status, e.created_at, e.submitted_by_name
FROM entry_uses u JOIN executions e ON e.id = u.execution_id
WHERE u.entry_id = @entry_id ORDER BY u.execution_id DESC LIMIT @row_limit;

-- name: CountDatasetUses :one
-- Counts the executions that read an entry, up to a limit.
SELECT count(*) FROM (SELECT DISTINCT u.execution_id FROM entry_uses u WHERE u.entry_id = @entry_id LIMIT @row_limit) n;
