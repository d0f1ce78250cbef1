-- The pod and the machine of a line, as the runner reports them. Lines of earlier versions have
-- neither. pod_name was derived from the ID of the attempt, which is wrong for attempts without
-- a pod and for those in warm pods.
ALTER TABLE logs ADD COLUMN IF NOT EXISTS pod LowCardinality(String) CODEC(ZSTD(1));

ALTER TABLE logs ADD COLUMN IF NOT EXISTS machine LowCardinality(String) CODEC(ZSTD(1));

ALTER TABLE logs MODIFY COLUMN pod_name String ALIAS pod;

ALTER TABLE logs ADD COLUMN IF NOT EXISTS node_name String ALIAS machine;
