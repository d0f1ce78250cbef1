-- Numbers of lines by level and hour, for overviews that must not read the lines. A line that is
-- inserted again in another block counts twice here; the log shows it once.
CREATE TABLE IF NOT EXISTS logs_by_level (
    tenant_id    UUID,
    project_id   UUID,
    execution_id UUID,
    level        LowCardinality(String),
    hour         DateTime('UTC') CODEC(Delta, ZSTD(1)),
    count        SimpleAggregateFunction(sum, UInt64),
    received_at  SimpleAggregateFunction(max, DateTime('UTC')),
    workflow_id  String ALIAS toString(execution_id)
)
ENGINE = AggregatingMergeTree
PARTITION BY toMonday(UUIDv7ToDateTime(execution_id, 'UTC'))
ORDER BY (execution_id, level, hour, tenant_id, project_id)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS logs_by_level_mv TO logs_by_level AS
SELECT tenant_id, project_id, execution_id, level,
    toStartOfHour(timestamp) AS hour,
    count() AS count,
    max(received_at) AS received_at
FROM logs
GROUP BY tenant_id, project_id, execution_id, level, hour;

-- The name of an attempt's pod is derived from its ID.
ALTER TABLE logs ADD COLUMN IF NOT EXISTS
    pod_name String ALIAS concat('ff-', toString(execution_id), '-', toString(node_index), '-', toString(attempt));
