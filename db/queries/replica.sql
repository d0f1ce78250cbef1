-- name: NoteWrite :exec
-- Records that a subject has written up to the current end of the log of changes.
INSERT INTO recent_writes (subject_id, position)
VALUES (@subject_id, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint)
ON CONFLICT (subject_id) DO UPDATE SET position = greatest(recent_writes.position, excluded.position);

-- name: LastWrite :one
-- Returns 0 for a subject that has not written.
SELECT coalesce((SELECT w.position FROM recent_writes w WHERE w.subject_id = @subject_id), 0)::bigint AS position;
