-- name: TakeChanges :many
-- Takes the oldest changes that no other server is processing, with the other changes of their
-- executions. They come back if the transaction fails.
WITH chosen AS MATERIALIZED (
    SELECT c.execution_id FROM execution_changes c WHERE c.problem = '' ORDER BY c.id LIMIT @max_rows FOR UPDATE SKIP LOCKED)
DELETE FROM execution_changes WHERE id IN (
    SELECT c.id FROM execution_changes c WHERE c.execution_id IN (SELECT s.execution_id FROM chosen s) FOR UPDATE SKIP LOCKED)
RETURNING execution_id, project_id, created_at;

-- name: HasChanges :one
-- Reports whether TakeChanges would find a change.
SELECT EXISTS (SELECT FROM execution_changes c WHERE c.problem = '');

-- name: HasChangesIn :one
-- Reports whether TakeChangesIn would find a change, or other servers are moving one.
SELECT EXISTS (SELECT FROM execution_changes c WHERE c.project_id = @project_id AND c.problem = '');

-- name: TakeChangesIn :many
-- Takes the newest changes of a project like TakeChanges.
WITH chosen AS MATERIALIZED (
    SELECT c.execution_id FROM execution_changes c WHERE c.project_id = @project_id AND c.problem = ''
    ORDER BY c.id DESC LIMIT @max_rows FOR UPDATE SKIP LOCKED)
DELETE FROM execution_changes WHERE id IN (
    SELECT c.id FROM execution_changes c WHERE c.execution_id IN (SELECT s.execution_id FROM chosen s) FOR UPDATE SKIP LOCKED)
RETURNING execution_id, project_id, created_at;

-- name: TakeChangesOf :many
-- Takes the changes of executions like TakeChanges.
DELETE FROM execution_changes WHERE id IN (
    SELECT c.id FROM execution_changes c WHERE c.execution_id = ANY (@ids::uuid[]) FOR UPDATE SKIP LOCKED)
RETURNING execution_id, project_id, created_at;

-- name: SetChangesAside :exec
-- Marks an execution that cannot be indexed.
UPDATE execution_changes SET problem = @problem WHERE execution_id = @execution_id;

-- name: RetryChanges :exec
-- Makes the index try the executions again that were set aside.
UPDATE execution_changes SET problem = '' WHERE problem <> '';

-- name: CountChanges :one
-- Returns how many executions of a project the index must read again, and those that the job of
-- NoteOlder has not noted.
SELECT ((SELECT count(DISTINCT c.execution_id) FROM execution_changes c WHERE c.project_id = @project_id)
    + (SELECT count(*) FROM executions e WHERE e.project_id = @project_id AND e.id <= (SELECT i.next_id FROM search_index i)))::bigint AS behind;

-- name: SearchIndex :one
SELECT marker, next_id FROM search_index;

-- name: HoldSearchIndex :exec
-- Serializes the servers that find a new table in ClickHouse.
SELECT pg_advisory_xact_lock(7166661010);

-- name: AdoptSearchIndex :exec
INSERT INTO search_index (marker, next_id) VALUES (@marker, (SELECT e.id FROM executions e ORDER BY e.id DESC LIMIT 1))
ON CONFLICT ON CONSTRAINT search_index_pkey DO UPDATE SET marker = excluded.marker, next_id = excluded.next_id;

-- name: SearchColumns :many
-- Returns how many columns of each type the names of all projects use.
SELECT type, (max(slot) + 1)::int AS columns FROM search_fields GROUP BY type;

-- name: NextToNote :one
-- Returns the execution where the job continues, unless another server runs it.
SELECT next_id FROM search_index WHERE next_id IS NOT NULL FOR UPDATE SKIP LOCKED;

-- name: NoteOlder :many
-- Notes the executions from next_id on, newest first.
WITH batch AS (SELECT e.id, e.project_id, e.created_at FROM executions e WHERE e.id <= @next_id ORDER BY e.id DESC LIMIT @max_rows)
INSERT INTO execution_changes (execution_id, project_id, created_at)
SELECT b.id, b.project_id, b.created_at FROM batch b ORDER BY b.id
RETURNING execution_id;

-- name: ContinueNoting :exec
UPDATE search_index SET next_id = (SELECT e.id FROM executions e WHERE e.id < @last ORDER BY e.id DESC LIMIT 1);

-- name: NoteChanges :exec
-- Notes that the index must read executions again. A change that is noted already may have been
-- read by a server that has not committed yet, so it does not suffice.
INSERT INTO execution_changes (execution_id, project_id, created_at)
SELECT e.id, e.project_id, e.created_at FROM executions e
WHERE e.id = ANY (@ids::uuid[]);

-- name: ChangeClock :one
-- The version of entries that are read from now on.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS version;

-- name: IndexedExecutions :many
-- Returns what the index has of executions.
SELECT e.id, e.project_id, e.created_at, (CASE WHEN e.only_awaits THEN 'APPROVAL' ELSE e.status END)::text AS status, e.workflow_name, e.version, e.name, e.submitted_by_name, e.submitted_by, e.purpose, e.priority,
    e.started_at, e.finished_at, e.inputs, e.outputs, coalesce(e.error ->> 'message', '')::text AS error,
    coalesce((SELECT n.note FROM execution_notes n WHERE n.execution_id = e.id), '')::text AS note,
    coalesce((SELECT array_agg(t.tag ORDER BY t.tag) FROM execution_tags t WHERE t.execution_id = e.id), '{}')::text[] AS tags,
    (coalesce((SELECT array_agg(DISTINCT encode(a.sha256, 'hex')) FROM artifacts a WHERE a.execution_id = e.id), '{}')
        || coalesce((SELECT array_agg(encode(v.content_hash, 'hex')) FROM workflow_versions v WHERE v.id = e.version_id), '{}'))::text[] AS shas,
    coalesce((SELECT r.sweep_id::text FROM input_sweep_runs r WHERE r.execution_id = e.id), '')::text AS sweep,
    coalesce((SELECT sum(h.gpus * h.seconds) / 3600 FROM resource_hours h WHERE h.execution_id = e.id), 0)::float8 AS gpu_hours,
    coalesce((SELECT jsonb_object_agg(m.name, m.metadata) FROM (
        SELECT DISTINCT ON (a.name) a.name, a.metadata FROM artifacts a
        WHERE a.execution_id = e.id AND a.metadata <> '{}' ORDER BY a.name, a.id DESC) m), '{}')::jsonb AS metadata
FROM executions e
WHERE e.id = ANY (@ids::uuid[]);

-- name: SearchFields :many
SELECT part, name, stat, type, slot FROM search_fields WHERE project_id = @project_id ORDER BY part, name, stat, type;

-- name: DeclaredFields :many
-- Returns the inputs and outputs that the latest versions of a project's workflows declare.
SELECT DISTINCT d.part::text AS part, (f.field ->> 'name')::text AS name, (f.field ->> 'type')::text AS type
FROM workflows w JOIN workflow_versions v ON v.id = w.latest_version_id,
    unnest(ARRAY['inputs', 'outputs']) AS d(part), jsonb_array_elements(v.definition -> d.part) AS f(field)
WHERE w.project_id = @project_id AND jsonb_typeof(v.definition -> d.part) = 'array';

-- name: HoldSearchFields :exec
-- Serializes transactions that add names to a project.
SELECT pg_advisory_xact_lock(hashtextextended(@project_id::text, 7166661009));

-- name: InsertSearchFields :exec
INSERT INTO search_fields (project_id, part, name, stat, type, slot)
SELECT @project_id, n.part, n.name, n.stat, n.type, n.slot
FROM jsonb_to_recordset(@fields::jsonb) AS n(part text, name text, stat text, type text, slot int);

-- name: AddTags :exec
INSERT INTO execution_tags (execution_id, tag, added_by, added_at)
SELECT @execution_id, t, @added_by, @added_at FROM unnest(@tags::text[]) AS t
ON CONFLICT ON CONSTRAINT execution_tags_pkey DO NOTHING;

-- name: RemoveTags :exec
DELETE FROM execution_tags WHERE execution_id = @execution_id AND tag = ANY (@tags::text[]);

-- name: TagsOf :many
SELECT execution_id, tag FROM execution_tags WHERE execution_id = ANY (@ids::uuid[]) ORDER BY execution_id, tag;

-- name: NotesOf :many
SELECT execution_id, note FROM execution_notes WHERE execution_id = ANY (@ids::uuid[]);

-- name: WriteNote :exec
INSERT INTO execution_notes (execution_id, note, edited_by, edited_at)
VALUES (@execution_id, @note, @edited_by, @edited_at)
ON CONFLICT ON CONSTRAINT execution_notes_pkey DO UPDATE SET note = excluded.note, edited_by = excluded.edited_by, edited_at = excluded.edited_at;

-- name: RemoveNote :exec
DELETE FROM execution_notes WHERE execution_id = @execution_id;

-- name: ExecutionsOf :many
-- Returns executions of a project.
SELECT * FROM executions WHERE id = ANY (@ids::uuid[]) AND project_id = @project_id;

-- name: LockLabelled :one
-- Locks an execution before its labels change, and reports whether its removal has begun.
SELECT (removal_began_at IS NOT NULL)::bool AS removed FROM executions WHERE id = @id FOR UPDATE;

-- name: PeopleLike :many
-- The people who launched executions of a project, which every reader of the project sees. Exact
-- names and addresses come first. The limit is above what a message lists.
SELECT u.id, u.name, u.email FROM users u
WHERE (strpos(lower(u.name), lower(@text::text)) > 0 OR strpos(lower(u.email), lower(@text)) > 0)
    AND EXISTS (SELECT 1 FROM executions e WHERE e.project_id = @project_id AND e.submitted_by = u.id)
ORDER BY lower(u.name) = lower(@text) OR lower(u.email) = lower(@text) DESC, u.name, u.id LIMIT 20;
