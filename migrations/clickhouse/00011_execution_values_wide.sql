-- The index of executions in a layout that searches read in half the time: large parts have a file
-- for each column, marks are 1,024 rows apart, and a month without changes for a day is one part.
-- Merges take one column at a time, and blocks are small, so that a table with hundreds of columns
-- needs little memory. The layout of a table cannot be changed, so the rows are copied. Other
-- servers may write meanwhile: the rows of the last hour are copied again after the new table has
-- the name.
CREATE TABLE IF NOT EXISTS execution_values_wide AS execution_values
ENGINE = ReplacingMergeTree(version, removed)
PARTITION BY toYYYYMM(created_at)
ORDER BY (project_id, created_at, execution_id)
SETTINGS fsync_after_insert = 1, index_granularity = 1024, min_bytes_for_wide_part = 16777216, min_rows_for_wide_part = 16384,
    vertical_merge_algorithm_min_rows_to_activate = 1, min_compress_block_size = 8192, max_compress_block_size = 65536,
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

INSERT INTO execution_values_wide SELECT * FROM execution_values
SETTINGS max_threads = 1, max_insert_threads = 1, max_block_size = 2048, min_insert_block_size_bytes = 33554432, max_partitions_per_insert_block = 0;

DROP TABLE IF EXISTS execution_values_compact;

RENAME TABLE execution_values TO execution_values_compact, execution_values_wide TO execution_values;

INSERT INTO execution_values SELECT * FROM execution_values_compact
WHERE version > toUnixTimestamp64Micro(now64(6)) - 3600000000
SETTINGS max_threads = 1, max_insert_threads = 1, max_block_size = 2048, min_insert_block_size_bytes = 33554432, max_partitions_per_insert_block = 0;

DROP TABLE IF EXISTS execution_values_compact;
