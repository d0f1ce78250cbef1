-- name: SetExpiry :exec
UPDATE executions SET expires_at = @expires_at::timestamptz WHERE id = @id;

-- name: KeepExecution :one
-- Pins an execution; no row when its removal has begun.
UPDATE executions SET kept_at = @kept_at::timestamptz, kept_by = @kept_by WHERE id = @id AND removal_began_at IS NULL
RETURNING id;

-- name: ReleaseExecution :exec
UPDATE executions SET kept_at = NULL, kept_by = '' WHERE id = @id;

-- name: RetainedExecution :one
SELECT id, tenant_id, project_id, submitted_by, workflow_name, version, name, status, finished_at, expires_at, kept_at, kept_by, removal_began_at
FROM executions WHERE id = @id;

-- name: LockRetained :one
SELECT kept_at, kept_by FROM executions WHERE id = @id FOR UPDATE;

-- name: UseArtifacts :many
-- Notes which artifacts of other executions of the project one names, keeps them until
-- the transaction ends, and answers all that are there.
WITH held AS (
    SELECT a.id, a.execution_id FROM artifacts a WHERE a.id = ANY (@ids::uuid[]) AND a.project_id = @project_id FOR KEY SHARE
), used AS (
    INSERT INTO artifact_uses (artifact_id, execution_id)
    SELECT h.id, @execution_id::uuid FROM held h WHERE h.execution_id <> @execution_id::uuid
    ON CONFLICT ON CONSTRAINT artifact_uses_pkey DO NOTHING
)
SELECT id FROM held;

-- name: BeginRemoval :many
-- Executions that have expired, of the oldest first, are marked: from now on nobody
-- keeps them. Those whose removal was interrupted come again.
UPDATE executions SET removal_began_at = coalesce(removal_began_at, @moment::timestamptz)
WHERE id IN (
    SELECT e.id FROM executions e
    WHERE (e.removal_began_at IS NOT NULL
            OR (e.expires_at <= @moment::timestamptz OR e.expires_at IS NULL AND e.id < uuid_floor(@newest::timestamptz))
            AND expired(e, @moment::timestamptz, sqlc.narg('after_success')::double precision, sqlc.narg('after_failure')::double precision))
        AND NOT EXISTS (SELECT 1 FROM reservations r WHERE r.execution_id = e.id)
        AND NOT EXISTS (SELECT 1 FROM executions y WHERE y.resume_of = e.id AND y.status IN ('PENDING', 'RUNNING', 'PAUSED'))
        AND NOT untold(e.id)
    ORDER BY e.id LIMIT @row_limit
    FOR UPDATE SKIP LOCKED
)
RETURNING id, tenant_id, project_id, workflow_name, version, name, status, finished_at, total;

-- name: CountExpired :one
SELECT count(*) FROM executions e
WHERE (e.expires_at <= @moment::timestamptz OR e.expires_at IS NULL AND e.id < uuid_floor(@newest::timestamptz))
    AND expired(e, @moment::timestamptz, sqlc.narg('after_success')::double precision, sqlc.narg('after_failure')::double precision);

-- name: LockRemoved :many
SELECT id FROM executions WHERE id = ANY (@ids::uuid[]) AND removal_began_at IS NOT NULL ORDER BY id FOR UPDATE;

-- name: ReleaseUses :many
-- What executions used they use no more.
DELETE FROM artifact_uses WHERE execution_id = ANY (@ids::uuid[]) RETURNING artifact_id;

-- name: LockArtifacts :many
-- Waits for everybody who is about to name one of the artifacts of executions, or of @ids.
SELECT id FROM artifacts WHERE execution_id = ANY (@executions::uuid[]) OR id = ANY (@ids::uuid[]) ORDER BY id FOR UPDATE;

-- name: DeleteArtifacts :many
-- Of artifacts those go that no execution uses, that no definition names, and whose
-- own execution goes (gone) or went before, or has ended where that is enough.
DELETE FROM artifacts a
WHERE a.id = ANY (@ids::uuid[]) AND a.id <> ALL (@named::uuid[]) AND a.gc <> 'never'
    AND NOT EXISTS (SELECT 1 FROM artifact_uses u WHERE u.artifact_id = a.id)
    AND (a.execution_id = ANY (@gone::uuid[]) OR NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = a.execution_id)
        OR a.gc = 'completion' AND EXISTS (SELECT 1 FROM executions e WHERE e.id = a.execution_id AND e.finished_at IS NOT NULL))
RETURNING a.id;

-- name: OrphanArtifacts :many
-- Artifacts whose execution is gone and that nobody uses.
SELECT a.id FROM artifacts a
WHERE a.id > @after AND a.created_at < @before::timestamptz AND a.gc <> 'never'
    AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = a.execution_id)
    AND NOT EXISTS (SELECT 1 FROM artifact_uses u WHERE u.artifact_id = a.id)
ORDER BY a.id LIMIT @row_limit;

-- name: CompletedArtifacts :many
-- Artifacts that are wanted no longer than until the end of their execution.
SELECT a.id FROM artifacts a JOIN executions e ON e.id = a.execution_id
WHERE a.gc = 'completion' AND a.id > @after AND e.finished_at IS NOT NULL AND e.kept_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM artifact_uses u WHERE u.artifact_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM executions y WHERE y.resume_of = e.id AND y.status IN ('PENDING', 'RUNNING', 'PAUSED'))
ORDER BY a.id LIMIT @row_limit;

-- name: NamedArtifacts :many
-- The artifacts that definitions and other standing documents name.
SELECT DISTINCT (m.found[1])::uuid AS id
FROM workflow_versions v, regexp_matches(v.definition::text, '"\$artifact": ?"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"', 'g') AS m(found);

-- name: DeleteExecutions :execrows
DELETE FROM executions WHERE id = ANY (@ids::uuid[]);

-- name: ProjectsWithBlobs :many
SELECT DISTINCT project_id FROM project_blobs ORDER BY project_id;

-- name: OldestReservation :one
-- Since when attempts of a project live: what came since then may be on its way into
-- their results.
SELECT least(min(created_at), @otherwise::timestamptz)::timestamptz AS since FROM reservations WHERE project_id = @project_id;

-- name: MarkBlobs :exec
SELECT mark_blobs(@project::uuid, sqlc.narg('ahead')::timestamptz, sqlc.narg('after_success')::double precision, sqlc.narg('after_failure')::double precision);

-- name: MarkFolderFiles :exec
SELECT mark_folder_files();

-- name: UnreadFolders :many
SELECT hash::bytea AS sha256 FROM unread_folders(@project::uuid, @row_limit::integer);

-- name: NoteFolder :exec
UPDATE blobs SET folder = @folder::boolean WHERE sha256 = @sha256;

-- name: InsertFolderFiles :exec
INSERT INTO folder_files (manifest, file) SELECT DISTINCT @manifest::bytea, unnest(@files::bytea[])
ON CONFLICT ON CONSTRAINT folder_files_pkey DO NOTHING;

-- name: UnmarkedBlobs :many
SELECT hash::bytea AS sha256, bytes::bigint AS size FROM unmarked_blobs(@project::uuid, @before::timestamptz, @after::bytea, @row_limit::integer);

-- name: ForgetProjectBlobs :many
-- Takes blobs away from a project, but not those that somebody asked for meanwhile.
WITH old AS (
    SELECT p.project_id, p.sha256 FROM project_blobs p
    WHERE p.project_id = @project_id AND p.sha256 = ANY (@sha256s::bytea[]) AND p.used_at < @before::timestamptz
    ORDER BY p.sha256 FOR UPDATE
)
DELETE FROM project_blobs p USING old WHERE p.project_id = old.project_id AND p.sha256 = old.sha256
RETURNING p.size;

-- name: ProjectBlobs :many
-- Which of the hashes the project has, and when somebody asked for them last.
SELECT sha256, size, used_at FROM project_blobs WHERE project_id = @project_id AND sha256 = ANY (@sha256s::bytea[]);

-- name: TouchProjectBlobs :many
-- Notes that somebody asks for blobs, and answers those that are there still.
WITH asked AS (
    SELECT p.project_id, p.sha256 FROM project_blobs p
    WHERE p.project_id = @project_id AND p.sha256 = ANY (@sha256s::bytea[]) ORDER BY p.sha256 FOR UPDATE
)
UPDATE project_blobs p SET used_at = greatest(p.used_at, @used_at::timestamptz) FROM asked
WHERE p.project_id = asked.project_id AND p.sha256 = asked.sha256
RETURNING p.sha256;

-- name: ClaimBlob :exec
-- Whoever claims a blob waits for a sweep that deletes it just now, and keeps the next
-- one from it.
INSERT INTO blobs (sha256, size, media_type, created_at, claimed_at) VALUES (@sha256, @size, '', @claimed_at, @claimed_at)
ON CONFLICT ON CONSTRAINT blobs_pkey DO UPDATE SET claimed_at = greatest(blobs.claimed_at, excluded.claimed_at);

-- name: ClaimBlobs :exec
-- ClaimBlob for many blobs, in the order of their hashes, so that two callers cannot
-- deadlock.
INSERT INTO blobs (sha256, size, media_type, created_at, claimed_at)
SELECT DISTINCT ON (b.sha256) b.sha256, b.size, '', @claimed_at::timestamptz, @claimed_at::timestamptz
FROM (SELECT unnest(@sha256s::bytea[]) AS sha256, unnest(@sizes::bigint[]) AS size) b
ORDER BY b.sha256
ON CONFLICT ON CONSTRAINT blobs_pkey DO UPDATE SET claimed_at = greatest(blobs.claimed_at, excluded.claimed_at);

-- name: LockUnclaimed :many
-- Blobs that no project has and nobody claimed since before; others wait for their rows.
SELECT b.sha256, b.size FROM blobs b
WHERE b.sha256 > @after AND b.claimed_at < @before::timestamptz
    AND NOT EXISTS (SELECT 1 FROM project_blobs p WHERE p.sha256 = b.sha256)
ORDER BY b.sha256 LIMIT @row_limit
FOR UPDATE SKIP LOCKED;

-- name: ClaimedAmong :many
SELECT DISTINCT sha256 FROM project_blobs WHERE sha256 = ANY (@sha256s::bytea[]);

-- name: DeleteBlobs :exec
WITH files AS (DELETE FROM folder_files WHERE manifest = ANY (@sha256s::bytea[]))
DELETE FROM blobs WHERE sha256 = ANY (@sha256s::bytea[]);

-- name: CountUnclaimed :one
SELECT count(*)::bigint AS blobs, coalesce(sum(b.size), 0)::bigint AS bytes FROM blobs b
WHERE b.claimed_at < @before::timestamptz AND NOT EXISTS (SELECT 1 FROM project_blobs p WHERE p.sha256 = b.sha256);

-- name: NoteStrays :execrows
-- Blobs of the store that have no row get one; the sweep after the grace takes them.
INSERT INTO blobs (sha256, size, media_type, created_at, claimed_at)
SELECT s.sha256, s.size, '', @now::timestamptz, @now::timestamptz
FROM (SELECT unnest(@sha256s::bytea[]) AS sha256, unnest(@sizes::bigint[]) AS size) s
ON CONFLICT ON CONSTRAINT blobs_pkey DO NOTHING;

-- name: DropEmptyPartitions :one
SELECT drop_empty_partitions(@moment::timestamptz)::integer AS dropped;

-- name: SaveSweep :exec
INSERT INTO sweeps (id, began_at, ended_at, dry_run, executions, artifacts, project_blobs, project_bytes, blobs, bytes, partitions, strays_seen_at, error)
VALUES (@id, @began_at, sqlc.narg('ended_at'), @dry_run, @executions, @artifacts, @project_blobs, @project_bytes, @blobs, @bytes, @partitions, sqlc.narg('strays_seen_at'), @error)
ON CONFLICT ON CONSTRAINT sweeps_pkey DO UPDATE SET ended_at = excluded.ended_at, executions = excluded.executions, artifacts = excluded.artifacts,
    project_blobs = excluded.project_blobs, project_bytes = excluded.project_bytes, blobs = excluded.blobs, bytes = excluded.bytes,
    partitions = excluded.partitions, strays_seen_at = excluded.strays_seen_at, error = excluded.error;

-- name: ForgetSweeps :exec
DELETE FROM sweeps WHERE id NOT IN (SELECT s.id FROM sweeps s ORDER BY s.id DESC LIMIT 200) AND strays_seen_at IS NULL;

-- name: ListSweeps :many
SELECT * FROM sweeps ORDER BY id DESC LIMIT @row_limit;

-- name: StraysSeenAt :one
SELECT coalesce(max(strays_seen_at), to_timestamp(0))::timestamptz AS at FROM sweeps;

-- name: HoldOrigin :one
-- Keeps an ended execution from being removed until the transaction ends; no row when
-- its removal has begun.
SELECT id FROM executions WHERE id = @id AND removal_began_at IS NULL FOR SHARE;

-- name: SpareResumed :many
-- Executions that a live one goes on from are not removed yet: it reads their nodes.
UPDATE executions e SET removal_began_at = NULL
WHERE e.id = ANY (@ids::uuid[]) AND EXISTS (
    SELECT 1 FROM executions y WHERE y.resume_of = e.id AND y.status IN ('PENDING', 'RUNNING', 'PAUSED'))
RETURNING e.id;

-- name: ArtifactsOfNodes :many
-- The artifacts that the results of an execution's nodes name.
SELECT DISTINCT (m.found[1])::uuid AS id
FROM nodes n, regexp_matches(n.outputs::text, '"\$artifact": ?"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"', 'g') AS m(found)
WHERE n.execution_id = @execution_id;

-- name: SoleBytes :one
-- The bytes of blobs that no other project has.
SELECT count(*)::bigint AS blobs, coalesce(sum(b.size), 0)::bigint AS bytes FROM blobs b
WHERE b.sha256 = ANY (@sha256s::bytea[])
    AND NOT EXISTS (SELECT 1 FROM project_blobs p WHERE p.sha256 = b.sha256 AND p.project_id <> @project_id);

-- name: LatestSweep :one
-- When the latest sweep began that came to its end.
SELECT coalesce(max(began_at), to_timestamp(0))::timestamptz AS began_at FROM sweeps WHERE NOT dry_run AND ended_at IS NOT NULL;
