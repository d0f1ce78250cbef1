-- name: EnsurePartitions :one
SELECT ensure_partitions(@moment::timestamptz, @months_ahead::integer)::integer AS created;
