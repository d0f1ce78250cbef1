-- Metric points and their one-minute rollup. The rollup adds values, so a repeated insert must
-- not reach it: inserts have a deduplication token, and both tables remember the last thousand.
CREATE TABLE IF NOT EXISTS metrics (
    tenant_id    UUID CODEC(ZSTD(1)),
    project_id   UUID CODEC(ZSTD(1)),
    execution_id UUID CODEC(ZSTD(1)),
    node_index   UInt32 CODEC(Delta, ZSTD(1)),
    node         LowCardinality(String),
    attempt      UInt16,
    name         LowCardinality(String),
    type         LowCardinality(String),
    sequence     Int64 CODEC(Delta, ZSTD(1)),
    step         Nullable(Int64) CODEC(ZSTD(1)),
    value        Float64 CODEC(ZSTD(1)),
    timestamp    DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    tags         String CODEC(ZSTD(1)),
    tag_keys     Array(String) ALIAS JSONExtractKeys(tags),
    writer       UInt64 CODEC(ZSTD(1)),
    position     UInt64 CODEC(Delta, ZSTD(1)),
    received_at  DateTime('UTC') DEFAULT now() CODEC(Delta, ZSTD(1)),
    workflow_id  String ALIAS toString(execution_id),
    task_id      String ALIAS concat(toString(execution_id), '.', toString(node_index), '.', toString(attempt))
)
ENGINE = ReplacingMergeTree
PARTITION BY toMonday(UUIDv7ToDateTime(execution_id, 'UTC'))
ORDER BY (execution_id, name, node_index, attempt, sequence)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1;

CREATE TABLE IF NOT EXISTS metrics_1m (
    tenant_id    UUID,
    project_id   UUID,
    execution_id UUID,
    node_index   UInt32,
    attempt      UInt16,
    name         LowCardinality(String),
    tags         String,
    minute       DateTime('UTC') CODEC(Delta, ZSTD(1)),
    sample_count SimpleAggregateFunction(sum, UInt64),
    sum_value    SimpleAggregateFunction(sum, Float64),
    min_value    SimpleAggregateFunction(min, Float64),
    max_value    SimpleAggregateFunction(max, Float64),
    last_value   AggregateFunction(argMax, Float64, Tuple(DateTime64(6, 'UTC'), Int64)),
    received_at  SimpleAggregateFunction(max, DateTime('UTC'))
)
ENGINE = AggregatingMergeTree
PARTITION BY toMonday(UUIDv7ToDateTime(execution_id, 'UTC'))
ORDER BY (execution_id, name, node_index, attempt, tags, minute, tenant_id, project_id)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS metrics_1m_view TO metrics_1m AS
SELECT tenant_id, project_id, execution_id, node_index, attempt, name, tags,
    toStartOfMinute(timestamp) AS minute,
    count() AS sample_count,
    sum(value) AS sum_value,
    min(value) AS min_value,
    max(value) AS max_value,
    argMaxState(value, (timestamp, sequence)) AS last_value,
    max(received_at) AS received_at
FROM metrics
GROUP BY tenant_id, project_id, execution_id, node_index, attempt, name, tags, minute;
