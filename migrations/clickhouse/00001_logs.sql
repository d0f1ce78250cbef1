-- Log lines. The sorting key is a line's identity, so that a line that was
-- inserted twice (a crash between an insert and its record in the spool, a task
-- that sends again) merges into one. Partitions follow the week in which the
-- execution was launched, which its UUIDv7 tells: a line and its repetition are
-- always in one partition, and a look-up reads one.
-- writer and position say from which spool a line came and where it stood in it;
-- positions of one writer become visible in order, which is what tails rely on.
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
