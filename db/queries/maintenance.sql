-- name: EnsurePartitions :one
SELECT ensure_partitions(@moment::timestamptz, @months_ahead::integer)::integer AS created;

-- name: NotifyChanged :exec
-- One notification for each execution; payloads are ids.
SELECT pg_notify('flowforge_changed', id::text) FROM unnest(@ids::uuid[]) AS t(id);
