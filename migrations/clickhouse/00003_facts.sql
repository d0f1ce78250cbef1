-- One row per ended execution, for reports over many executions. The row with the latest end
-- wins.
CREATE TABLE IF NOT EXISTS execution_facts (
    tenant_id           UUID,
    project_id          UUID,
    execution_id        UUID,
    workflow_id         UUID,
    workflow_name       LowCardinality(String),
    version             LowCardinality(String),
    status              LowCardinality(String),
    submitted_by        String,
    created_at          DateTime64(6, 'UTC'),
    started_at          Nullable(DateTime64(6, 'UTC')),
    finished_at         DateTime64(6, 'UTC'),
    duration_ms         Nullable(Int64),
    total_cpu_ms        Int64,
    total_memory_mb_sec Int64,
    total_tasks         UInt32,
    succeeded_tasks     UInt32,
    failed_tasks        UInt32,
    skipped_tasks       UInt32,
    cancelled_tasks     UInt32
)
ENGINE = ReplacingMergeTree(finished_at)
PARTITION BY toYYYYMM(UUIDv7ToDateTime(execution_id, 'UTC'))
ORDER BY (tenant_id, project_id, execution_id)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1;
