-- Log lines. The sorting key is the identity of a line, so duplicate inserts (a crash between
-- an insert and its record in the spool, a task that sends again) merge into one row. The
-- partition is the week of the launch, taken from the execution's UUIDv7: a line and its
-- duplicate are always in the same partition, and a lookup reads one partition.
-- writer and position identify the spool of a line and its position there. Positions of one
-- writer become visible in order, and tails depend on this.
CREATE TABLE IF NOT EXISTS logs (
    tenant_id    UUID CODEC(ZSTD(1)),
    project_id   UUID CODEC(ZSTD(1)),
    execution_id UUID CODEC(ZSTD(1)),
    node_index   UInt32 CODEC(Delta, ZSTD(1)),
    node         LowCardinality(String),
    attempt      UInt16,
    stream       LowCardinality(String),
    sequence     Int64 CODEC(Delta, ZSTD(1)),
    timestamp    DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    level        LowCardinality(String),
    message      String CODEC(ZSTD(1)),
    extra        String CODEC(ZSTD(1)),
    writer       UInt64 CODEC(ZSTD(1)),
    position     UInt64 CODEC(Delta, ZSTD(1)),
    received_at  DateTime('UTC') DEFAULT now() CODEC(Delta, ZSTD(1)),
    workflow_id  String ALIAS toString(execution_id),
    task_id      String ALIAS concat(toString(execution_id), '.', toString(node_index), '.', toString(attempt)),
    INDEX message_text lowerUTF8(concat(message, ' ', extra)) TYPE text(tokenizer = ngrams(3))
)
ENGINE = ReplacingMergeTree
PARTITION BY toMonday(UUIDv7ToDateTime(execution_id, 'UTC'))
ORDER BY (execution_id, node_index, attempt, stream, sequence)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1;
