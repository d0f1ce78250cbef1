-- name: EnsurePartitions :one
SELECT ensure_partitions(@moment::timestamptz, @months_ahead::integer)::integer AS created;

-- name: NotifyChanged :exec
-- One notification for each execution; a payload is the id and who sends it.
SELECT pg_notify('flowforge_changed', id::text || ' ' || @sender::text) FROM unnest(@ids::uuid[]) AS t(id);
