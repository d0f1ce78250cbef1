-- Limits, usage and history of every node of the tenancy tree. Amounts are JSON
-- objects of whole numbers by resource: cpu (millicores), memory (MiB), gpu
-- (count of all types), gpu:<type> (count), pods, executions, storage (MiB).
-- A node without a limit shares its parent's. An absent borrow is 0, an absent lend is
-- everything. version detects concurrent edits.
-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION is_amounts(a jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT jsonb_typeof(a) = 'object' AND NOT jsonb_path_exists(a, '$.* ? (@.type() != "number" || @ < 0)')
$$;
-- +goose StatementEnd

CREATE TABLE quotas (
    node_id    uuid PRIMARY KEY REFERENCES tenancy_nodes,
    limits     jsonb NOT NULL DEFAULT '{}',
    borrow     jsonb NOT NULL DEFAULT '{}',
    lend       jsonb NOT NULL DEFAULT '{}',
    weight     double precision NOT NULL DEFAULT 1,
    version    bigint NOT NULL DEFAULT 1,
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by uuid,
    CONSTRAINT quotas_amounts_check CHECK (is_amounts(limits) AND is_amounts(borrow) AND is_amounts(lend)),
    CONSTRAINT quotas_weight_check CHECK (weight > 0 AND weight <= 1000)
);
CREATE TRIGGER quotas_version AFTER INSERT OR UPDATE OR DELETE ON quotas FOR EACH STATEMENT EXECUTE FUNCTION bump_tenancy_version();

-- Usage of live reservations at or below the node, updated by the transactions that reserve
-- and release: they lock these rows from the root down. history is the
-- decayed average of used (see package quota/fair), as of history_at. The bytes
-- of artifacts have a separate column, because they outlive every reservation. Every reservation
-- locks the installation's row first. Its revision increases with each change of a limit or of
-- the tree: a transaction that finds the known number under the lock used the current limits.
CREATE TABLE quota_usage (
    node_id       uuid PRIMARY KEY REFERENCES tenancy_nodes,
    depth         integer NOT NULL,
    used          jsonb NOT NULL DEFAULT '{}',
    storage_bytes bigint NOT NULL DEFAULT 0,
    history       jsonb NOT NULL DEFAULT '{}',
    history_at    timestamptz NOT NULL DEFAULT now(),
    revision      bigint NOT NULL DEFAULT 0,
    CONSTRAINT quota_usage_used_check CHECK (is_amounts(used) AND storage_bytes >= 0)
) WITH (fillfactor = 50);
INSERT INTO quota_usage (node_id, depth) SELECT id, cardinality(path) FROM tenancy_nodes;
-- +goose StatementBegin
CREATE FUNCTION bump_quota_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE quota_usage SET revision = revision + 1 WHERE node_id = '01900000-0000-7000-8000-000000000000';
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER quotas_revision AFTER INSERT OR UPDATE OR DELETE ON quotas FOR EACH STATEMENT EXECUTE FUNCTION bump_quota_revision();
CREATE TRIGGER tenancy_nodes_revision AFTER INSERT OR DELETE OR UPDATE OF parent_id, path, archived_at ON tenancy_nodes
    FOR EACH STATEMENT EXECUTE FUNCTION bump_quota_revision();
-- +goose StatementBegin
CREATE FUNCTION begin_quota_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO quota_usage (node_id, depth) VALUES (NEW.id, cardinality(NEW.path));
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tenancy_nodes_usage AFTER INSERT ON tenancy_nodes FOR EACH ROW EXECUTE FUNCTION begin_quota_usage();

-- node_index -1 with attempt 0 is the execution itself, which holds one of
-- "executions". pods is more than one for a gang, which is reserved as a whole.
-- devices are the indexes of GPUs on machine, if the launcher assigns them. preempted_for is
-- the reason that the node gets after the preemption: the work that needed the capacity.
ALTER TABLE reservations
    ADD COLUMN gpus integer NOT NULL DEFAULT 0,
    ADD COLUMN gpu_type text NOT NULL DEFAULT '',
    ADD COLUMN pods integer NOT NULL DEFAULT 1,
    ADD COLUMN executions integer NOT NULL DEFAULT 0,
    ADD COLUMN machine text NOT NULL DEFAULT '',
    ADD COLUMN devices integer[] NOT NULL DEFAULT '{}',
    ADD COLUMN preemptible boolean NOT NULL DEFAULT true,
    ADD COLUMN preempted_at timestamptz,
    ADD COLUMN preempted_for jsonb,
    ADD CONSTRAINT reservations_more_check CHECK (gpus >= 0 AND pods >= 0 AND executions >= 0
        AND (gpu_type = '' OR gpus > 0) AND (node_index >= 0 OR (node_index = -1 AND attempt = 0)));
CREATE INDEX reservations_project_idx ON reservations (project_id);
-- +goose StatementBegin
DO $$
DECLARE part regclass;
BEGIN
    FOR part IN SELECT relid FROM pg_partition_tree('attempts') ORDER BY level LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS attempts_outcome_check', part);
    END LOOP;
END
$$;
-- +goose StatementEnd
ALTER TABLE attempts ADD CONSTRAINT attempts_outcome_check
    CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'START_FAILED', 'INTERRUPTED', 'OUTPUT_FAILED', 'LOST', 'PREEMPTED'));

-- Why an execution is still PENDING (a limit of concurrent executions).
ALTER TABLE executions ADD COLUMN reason jsonb;

-- The blobs that a project refers to. Shared blobs count once in its storage.
CREATE TABLE project_blobs (
    project_id uuid NOT NULL REFERENCES tenancy_nodes,
    sha256     bytea NOT NULL,
    size       bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT project_blobs_pkey PRIMARY KEY (project_id, sha256)
);
INSERT INTO project_blobs (project_id, sha256, size, created_at)
SELECT project_id, sha256, max(size), min(created_at) FROM artifacts GROUP BY project_id, sha256;
UPDATE quota_usage u SET storage_bytes = s.bytes
FROM (SELECT a.id, sum(b.size)::bigint AS bytes
    FROM project_blobs b JOIN tenancy_nodes n ON n.id = b.project_id JOIN tenancy_nodes a ON a.id = ANY (n.path)
    GROUP BY a.id) s
WHERE u.node_id = s.id;

-- Durations of the latest 50 attempts of an operator in ms, for estimates.
CREATE TABLE operator_durations (
    workflow_id uuid NOT NULL,
    operator    text NOT NULL,
    durations   bigint[] NOT NULL,
    updated_at  timestamptz NOT NULL,
    CONSTRAINT operator_durations_pkey PRIMARY KEY (workflow_id, operator)
);

-- Usage by node of the tree and time, for the chart of the quota page.
CREATE TABLE quota_samples (
    node_id uuid NOT NULL,
    at      timestamptz NOT NULL,
    used    jsonb NOT NULL,
    waiting jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT quota_samples_pkey PRIMARY KEY (node_id, at)
);

-- Usage of attempts, for GPU-hours by person and workflow: one row per ended attempt that used
-- resources for at least one second.
CREATE TABLE resource_hours (
    execution_id  uuid NOT NULL,
    node_index    integer NOT NULL,
    attempt       integer NOT NULL,
    project_id    uuid NOT NULL,
    user_id       uuid NOT NULL,
    workflow_name text NOT NULL,
    ended_at      timestamptz NOT NULL,
    seconds       double precision NOT NULL,
    cpu_millis    integer NOT NULL,
    memory_mib    integer NOT NULL,
    gpus          integer NOT NULL,
    gpu_type      text NOT NULL,
    CONSTRAINT resource_hours_pkey PRIMARY KEY (execution_id, node_index, attempt)
);
CREATE INDEX resource_hours_project_idx ON resource_hours (project_id, ended_at);

-- +goose Down
DROP TABLE resource_hours, quota_samples, operator_durations, project_blobs;
ALTER TABLE executions DROP COLUMN reason;
DELETE FROM reservations WHERE node_index < 0;
DROP INDEX reservations_project_idx;
ALTER TABLE reservations DROP CONSTRAINT reservations_more_check, DROP COLUMN gpus, DROP COLUMN gpu_type, DROP COLUMN pods, DROP COLUMN executions,
    DROP COLUMN machine, DROP COLUMN devices, DROP COLUMN preemptible, DROP COLUMN preempted_at,
    DROP COLUMN preempted_for;
UPDATE attempts SET outcome = 'INTERRUPTED' WHERE outcome = 'PREEMPTED';
ALTER TABLE attempts DROP CONSTRAINT attempts_outcome_check, ADD CONSTRAINT attempts_outcome_check
    CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'START_FAILED', 'INTERRUPTED', 'OUTPUT_FAILED', 'LOST'));
DROP TRIGGER tenancy_nodes_usage ON tenancy_nodes;
DROP TRIGGER tenancy_nodes_revision ON tenancy_nodes;
DROP FUNCTION bump_quota_revision() CASCADE;
DROP FUNCTION begin_quota_usage();
DROP TABLE quota_usage, quotas;
DROP FUNCTION is_amounts(jsonb);
