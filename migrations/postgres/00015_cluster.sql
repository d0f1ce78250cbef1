-- The latest state of the cluster, from the server that watches it, for all servers; and a mark
-- for preemption requests that were accepted, so that they are not searched again.
-- +goose Up
ALTER TABLE reservations ADD COLUMN preempt_taken_at timestamptz;

-- The capacity that the cluster reports, in one row. A change counts as a change of the root's
-- limit.
CREATE TABLE cluster_capacity (
    single   boolean NOT NULL DEFAULT true,
    capacity jsonb NOT NULL,
    CONSTRAINT cluster_capacity_pkey PRIMARY KEY (single),
    CONSTRAINT cluster_capacity_single_check CHECK (single)
);
CREATE TRIGGER cluster_capacity_revision AFTER INSERT OR UPDATE OR DELETE ON cluster_capacity
    FOR EACH STATEMENT EXECUTE FUNCTION bump_quota_revision();

-- The data of the cluster pages: machines, pods, namespaces. One row.
CREATE TABLE cluster_snapshots (
    single   boolean NOT NULL DEFAULT true,
    snapshot jsonb NOT NULL,
    seen_at  timestamptz NOT NULL,
    CONSTRAINT cluster_snapshots_pkey PRIMARY KEY (single),
    CONSTRAINT cluster_snapshots_single_check CHECK (single)
);
SELECT ensure_partitions(now(), 2);

-- +goose Down
DROP TABLE cluster_snapshots;
DROP TABLE cluster_capacity;
ALTER TABLE reservations DROP COLUMN preempt_taken_at;
