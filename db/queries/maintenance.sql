-- name: EnsurePartitions :one
SELECT ensure_partitions(@moment::timestamptz, @months_ahead::integer)::integer AS created;

-- name: NotifyChanged :exec
-- Sends one notification per execution; the payload is its ID and the sender.
SELECT pg_notify('flowforge_changed', id::text || ' ' || @sender::text) FROM unnest(@ids::uuid[]) AS t(id);
