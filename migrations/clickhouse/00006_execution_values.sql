-- One row for each execution with what people search and sort by. Columns n0, n1, … have the
-- numbers and t0, t1, … the texts of the names that search_fields in Postgres assigns to them, for
-- each project; the server adds columns when a project needs more. The row with the highest version
-- wins, and a removed one hides the execution.
CREATE TABLE IF NOT EXISTS execution_values (
    project_id       UUID,
    execution_id     UUID,
    created_at       DateTime64(6, 'UTC'),
    version          UInt64,
    removed          UInt8,
    status           LowCardinality(String),
    workflow         LowCardinality(String),
    workflow_version LowCardinality(String),
    name             String,
    submitted_by     LowCardinality(String),
    error            String,
    note             String,
    tags             Array(LowCardinality(String)),
    shas             Array(String),
    priority         Int32,
    started_at       Nullable(DateTime64(6, 'UTC')),
    finished_at      Nullable(DateTime64(6, 'UTC')),
    duration         Nullable(Float64),
    gpu_hours        Float64
)
ENGINE = ReplacingMergeTree(version, removed)
PARTITION BY toYYYYMM(created_at)
ORDER BY (project_id, created_at, execution_id)
SETTINGS fsync_after_insert = 1, min_bytes_for_wide_part = 1073741824, min_rows_for_wide_part = 0, index_granularity = 1024;
