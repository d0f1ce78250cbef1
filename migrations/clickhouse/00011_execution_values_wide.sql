-- Searches read half as much: large parts have a file for each column, and a month without changes
-- for a day is one part. Merges take one column at a time, and blocks are small, so that a table with
-- hundreds of columns needs little memory. Existing parts change when they merge. The distance of
-- the marks (00006) cannot be changed, so tables from before 2026-12 keep 8,192 rows.
ALTER TABLE execution_values MODIFY SETTING min_bytes_for_wide_part = 16777216, min_rows_for_wide_part = 16384,
    vertical_merge_algorithm_min_rows_to_activate = 1, min_compress_block_size = 8192, max_compress_block_size = 65536,
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;
