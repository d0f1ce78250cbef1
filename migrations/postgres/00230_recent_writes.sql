-- +goose Up

-- recent_writes holds the position of the log of changes after the last write request of every
-- person and service account. A read of that subject uses a replica only after the replica has
-- replayed this position (docs/decisions/050-read-replica.md).
CREATE TABLE recent_writes (
    subject_id uuid PRIMARY KEY,
    position bigint NOT NULL
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE recent_writes;
