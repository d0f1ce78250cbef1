-- name: SetExpiry :exec
UPDATE executions SET expires_at = @expires_at::timestamptz WHERE id = @id;

-- name: KeepExecution :one
-- Pins an execution. Returns no row if its removal has started.
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
-- Records that an execution uses artifacts of other executions of the project, locks them
-- until the transaction ends, and returns those that exist.
WITH held AS (
    SELECT a.id, a.execution_id FROM artifacts a WHERE a.id = ANY (@ids::uuid[]) AND a.project_id = @project_id FOR KEY SHARE
), used AS (
    INSERT INTO artifact_uses (artifact_id, execution_id)
    SELECT h.id, @execution_id::uuid FROM held h WHERE h.execution_id <> @execution_id::uuid
    ON CONFLICT ON CONSTRAINT artifact_uses_pkey DO NOTHING
)
SELECT id FROM held;

-- name: BeginRemoval :many
-- Marks expired executions for removal, oldest first; marked executions cannot be pinned. It
-- also returns those whose removal was interrupted.
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

-- name: RemovalRefusal :one
-- Returns why an ended execution cannot be removed now: a live execution reads its nodes.
SELECT EXISTS (SELECT 1 FROM executions y WHERE y.resume_of = @id::uuid AND y.status IN ('PENDING', 'RUNNING', 'PAUSED'))::bool AS resumed;

-- name: MarkDeleted :one
-- Marks an ended execution for removal at the request of a user. Returns no row if it is kept, live
-- or marked.
UPDATE executions e SET removal_began_at = @moment::timestamptz
WHERE e.id = @id AND e.finished_at IS NOT NULL AND e.kept_at IS NULL AND e.removal_began_at IS NULL
RETURNING e.id;

-- name: MarkedRemoved :many
SELECT id FROM executions WHERE id = ANY (@ids::uuid[]) AND removal_began_at IS NOT NULL;

-- name: CountMarked :one
SELECT count(*) FROM executions WHERE removal_began_at IS NOT NULL;

-- name: CountExpired :one
SELECT count(*) FROM executions e
WHERE (e.expires_at <= @moment::timestamptz OR e.expires_at IS NULL AND e.id < uuid_floor(@newest::timestamptz))
    AND expired(e, @moment::timestamptz, sqlc.narg('after_success')::double precision, sqlc.narg('after_failure')::double precision);

-- name: ExpiredInputSweeps :many
-- Locks expired sweeps without executions, oldest first. A change to a sweep waits for the lock, or
-- is first and continues the sweep, which then has not ended.
SELECT s.* FROM input_sweeps s
WHERE expired_sweep(s, @moment::timestamptz, sqlc.narg('after_success')::double precision, sqlc.narg('after_failure')::double precision)
    AND NOT EXISTS (SELECT 1 FROM input_sweep_runs r JOIN executions e ON e.id = r.execution_id WHERE r.sweep_id = s.id)
ORDER BY s.id LIMIT @row_limit
FOR UPDATE SKIP LOCKED;

-- name: PredictInputSweeps :many
-- The names of the sweeps that expire once their expired executions are gone.
SELECT s.name, s.id FROM input_sweeps s
WHERE expired_sweep(s, @moment::timestamptz, sqlc.narg('after_success')::double precision, sqlc.narg('after_failure')::double precision)
    AND NOT EXISTS (
        SELECT 1 FROM input_sweep_runs r JOIN executions e ON e.id = r.execution_id
        WHERE r.sweep_id = s.id AND NOT expired(e, @moment::timestamptz, sqlc.narg('after_success')::double precision, sqlc.narg('after_failure')::double precision))
ORDER BY s.id;

-- name: DeleteInputSweeps :exec
DELETE FROM input_sweeps WHERE id = ANY (@ids::uuid[]);

-- name: LockRemoved :many
SELECT id FROM executions WHERE id = ANY (@ids::uuid[]) AND removal_began_at IS NOT NULL ORDER BY id FOR UPDATE;

-- name: ReleaseUses :many
-- Deletes the records of the artifacts and entries that executions used.
WITH entries AS (DELETE FROM entry_uses WHERE execution_id = ANY (@ids::uuid[]))
DELETE FROM artifact_uses WHERE execution_id = ANY (@ids::uuid[]) RETURNING artifact_id;

-- name: LockArtifacts :many
-- Locks the given artifacts and those of executions. It waits for transactions that are about
-- to use them.
SELECT id FROM artifacts WHERE execution_id = ANY (@executions::uuid[]) OR id = ANY (@ids::uuid[]) ORDER BY id FOR UPDATE;

-- name: DeleteArtifacts :many
-- Deletes artifacts that no execution uses, no definition names and no version was registered from. Their own execution must
-- be removed (earlier, or now: gone), or must have ended if gc is completion.
DELETE FROM artifacts a
WHERE a.id = ANY (@ids::uuid[]) AND a.id <> ALL (@named::uuid[]) AND a.gc <> 'never'
    AND NOT EXISTS (SELECT 1 FROM artifact_uses u WHERE u.artifact_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM catalogue_entries c WHERE c.artifact_id = a.id)
    AND (a.execution_id = ANY (@gone::uuid[]) OR NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = a.execution_id)
        OR a.gc = 'completion' AND EXISTS (SELECT 1 FROM executions e WHERE e.id = a.execution_id AND e.finished_at IS NOT NULL))
RETURNING a.id;

-- name: OrphanArtifacts :many
-- Returns unused artifacts whose execution no longer exists.
SELECT a.id FROM artifacts a
WHERE a.id > @after AND a.created_at < @before::timestamptz AND a.gc <> 'never'
    AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = a.execution_id)
    AND NOT EXISTS (SELECT 1 FROM artifact_uses u WHERE u.artifact_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM catalogue_entries c WHERE c.artifact_id = a.id)
ORDER BY a.id LIMIT @row_limit;

-- name: CompletedArtifacts :many
-- Returns artifacts that are kept only until their execution ends.
SELECT a.id FROM artifacts a JOIN executions e ON e.id = a.execution_id
WHERE a.gc = 'completion' AND a.id > @after AND e.finished_at IS NOT NULL AND e.kept_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM artifact_uses u WHERE u.artifact_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM catalogue_entries c WHERE c.artifact_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM executions y WHERE y.resume_of = e.id AND y.status IN ('PENDING', 'RUNNING', 'PAUSED'))
ORDER BY a.id LIMIT @row_limit;

-- name: NamedArtifacts :many
-- Returns the artifacts that definitions and other permanent documents name.
SELECT DISTINCT (m.found[1])::uuid AS id
FROM workflow_versions v, regexp_matches(v.definition::text, '"\$artifact": ?"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"', 'g') AS m(found);

-- name: DeleteLabels :exec
-- Deletes the tags and notes of executions.
WITH tags AS (DELETE FROM execution_tags WHERE execution_id = ANY (@ids::uuid[]))
DELETE FROM execution_notes WHERE execution_id = ANY (@ids::uuid[]);

-- name: KeepOutcomes :exec
-- The schedules and backfills that launched executions keep how they ended.
WITH gone AS (SELECT id, status FROM executions WHERE id = ANY (@ids::uuid[])),
fires AS (UPDATE schedule_occurrences o SET outcome = gone.status FROM gone WHERE o.execution_id = gone.id)
UPDATE backfill_slots s SET outcome = gone.status FROM gone WHERE s.execution_id = gone.id AND s.state = 'LAUNCHED';

-- name: DeleteExecutions :execrows
DELETE FROM executions WHERE id = ANY (@ids::uuid[]);

-- name: ProjectsWithBlobs :many
SELECT DISTINCT project_id FROM project_blobs ORDER BY project_id;

-- name: OldestReservation :one
-- Returns the creation time of the oldest reservation of a project. Blobs uploaded since then
-- may belong to results that are not stored yet.
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
-- Removes blobs from a project, except those that were requested again in the meantime.
WITH old AS (
    SELECT p.project_id, p.sha256 FROM project_blobs p
    WHERE p.project_id = @project_id AND p.sha256 = ANY (@sha256s::bytea[]) AND p.used_at < @before::timestamptz
    ORDER BY p.sha256 FOR UPDATE
)
DELETE FROM project_blobs p USING old WHERE p.project_id = old.project_id AND p.sha256 = old.sha256
RETURNING p.size;

-- name: ProjectBlobs :many
-- Returns which of the hashes the project has, and the latest upload or lookup of each.
SELECT sha256, size, used_at FROM project_blobs WHERE project_id = @project_id AND sha256 = ANY (@sha256s::bytea[]);

-- name: TouchProjectBlobs :many
-- Records a lookup of blobs and returns those that still exist.
WITH requested AS (
    SELECT p.project_id, p.sha256 FROM project_blobs p
    WHERE p.project_id = @project_id AND p.sha256 = ANY (@sha256s::bytea[]) ORDER BY p.sha256 FOR UPDATE
)
UPDATE project_blobs p SET used_at = greatest(p.used_at, @used_at::timestamptz) FROM requested
WHERE p.project_id = requested.project_id AND p.sha256 = requested.sha256
RETURNING p.sha256;

-- name: ClaimBlob :exec
-- Claims a blob. It waits for a sweep that is deleting the blob, and prevents the next sweep
-- from doing so.
INSERT INTO blobs (sha256, size, media_type, created_at, claimed_at) VALUES (@sha256, @size, '', @claimed_at, @claimed_at)
ON CONFLICT ON CONSTRAINT blobs_pkey DO UPDATE SET claimed_at = greatest(blobs.claimed_at, excluded.claimed_at);

-- name: ClaimBlobs :exec
-- Claims many blobs, in the order of their hashes to avoid deadlocks; see ClaimBlob.
INSERT INTO blobs (sha256, size, media_type, created_at, claimed_at)
SELECT DISTINCT ON (b.sha256) b.sha256, b.size, '', @claimed_at::timestamptz, @claimed_at::timestamptz
FROM (SELECT unnest(@sha256s::bytea[]) AS sha256, unnest(@sizes::bigint[]) AS size) b
ORDER BY b.sha256
ON CONFLICT ON CONSTRAINT blobs_pkey DO UPDATE SET claimed_at = greatest(blobs.claimed_at, excluded.claimed_at);

-- name: LockUnclaimed :many
-- Locks the blobs that no project has and that have no claim since before; other transactions
-- wait for these rows.
SELECT b.sha256, b.size FROM blobs b
WHERE b.sha256 > @after AND b.claimed_at < @before::timestamptz
    AND NOT EXISTS (SELECT 1 FROM project_blobs p WHERE p.sha256 = b.sha256)
ORDER BY b.sha256 LIMIT @row_limit
FOR UPDATE SKIP LOCKED;

-- name: ReferencedBlobs :many
SELECT DISTINCT sha256 FROM project_blobs WHERE sha256 = ANY (@sha256s::bytea[]);

-- name: DeleteBlobs :exec
WITH files AS (DELETE FROM folder_files WHERE manifest = ANY (@sha256s::bytea[]))
DELETE FROM blobs WHERE sha256 = ANY (@sha256s::bytea[]);

-- name: CountUnclaimed :one
SELECT count(*)::bigint AS blobs, coalesce(sum(b.size), 0)::bigint AS bytes FROM blobs b
WHERE b.claimed_at < @before::timestamptz AND NOT EXISTS (SELECT 1 FROM project_blobs p WHERE p.sha256 = b.sha256);

-- name: InsertStrayBlobs :execrows
-- Inserts rows for blobs in the store that have none. A sweep deletes them after the grace
-- period.
INSERT INTO blobs (sha256, size, media_type, created_at, claimed_at)
SELECT s.sha256, s.size, '', @now::timestamptz, @now::timestamptz
FROM (SELECT unnest(@sha256s::bytea[]) AS sha256, unnest(@sizes::bigint[]) AS size) s
ON CONFLICT ON CONSTRAINT blobs_pkey DO NOTHING;

-- name: DropEmptyPartitions :one
SELECT drop_empty_partitions(@moment::timestamptz)::integer AS dropped;

-- name: SaveSweep :exec
INSERT INTO sweeps (id, began_at, ended_at, dry_run, executions, artifacts, project_blobs, project_bytes, blobs, bytes, partitions, versions, strays_seen_at, error,
    input_sweeps, input_sweep_names)
VALUES (@id, @began_at, sqlc.narg('ended_at'), @dry_run, @executions, @artifacts, @project_blobs, @project_bytes, @blobs, @bytes, @partitions, @versions, sqlc.narg('strays_seen_at'), @error,
    @input_sweeps, @input_sweep_names)
ON CONFLICT ON CONSTRAINT sweeps_pkey DO UPDATE SET ended_at = excluded.ended_at, executions = excluded.executions, artifacts = excluded.artifacts,
    project_blobs = excluded.project_blobs, project_bytes = excluded.project_bytes, blobs = excluded.blobs, bytes = excluded.bytes,
    partitions = excluded.partitions, versions = excluded.versions, strays_seen_at = excluded.strays_seen_at, error = excluded.error, input_sweeps = excluded.input_sweeps, input_sweep_names = excluded.input_sweep_names;

-- name: ForgetSweeps :exec
DELETE FROM sweeps WHERE id NOT IN (SELECT s.id FROM sweeps s ORDER BY s.id DESC LIMIT 200) AND strays_seen_at IS NULL;

-- name: ListSweeps :many
SELECT * FROM sweeps ORDER BY id DESC LIMIT @row_limit;

-- name: StraysSeenAt :one
SELECT coalesce(max(strays_seen_at), to_timestamp(0))::timestamptz AS at FROM sweeps;

-- name: HoldOrigin :one
-- Prevents the removal of an ended execution until the transaction ends. Returns no row if its
-- removal has started.
SELECT id FROM executions WHERE id = @id AND removal_began_at IS NULL FOR SHARE;

-- name: SpareResumed :many
-- Cancels the removal of executions that a live one resumes, because it reads their nodes.
UPDATE executions e SET removal_began_at = NULL
WHERE e.id = ANY (@ids::uuid[]) AND EXISTS (
    SELECT 1 FROM executions y WHERE y.resume_of = e.id AND y.status IN ('PENDING', 'RUNNING', 'PAUSED'))
RETURNING e.id;

-- name: ArtifactsOfNodes :many
-- Returns the artifacts that the results of an execution's nodes name.
SELECT DISTINCT (m.found[1])::uuid AS id
FROM nodes n, regexp_matches(n.outputs::text, '"\$artifact": ?"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"', 'g') AS m(found)
WHERE n.execution_id = @execution_id;

-- name: SoleBytes :one
-- Returns the number and the size of blobs that no other project has.
SELECT count(*)::bigint AS blobs, coalesce(sum(b.size), 0)::bigint AS bytes FROM blobs b
WHERE b.sha256 = ANY (@sha256s::bytea[])
    AND NOT EXISTS (SELECT 1 FROM project_blobs p WHERE p.sha256 = b.sha256 AND p.project_id <> @project_id);

-- name: LatestSweep :one
-- Returns the start of the latest completed sweep.
SELECT coalesce(max(began_at), to_timestamp(0))::timestamptz AS began_at FROM sweeps WHERE NOT dry_run AND ended_at IS NOT NULL;
