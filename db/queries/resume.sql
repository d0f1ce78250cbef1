-- name: MarkResumed :exec
-- The counts are those of the nodes that were taken over.
UPDATE executions SET resume_of = @origin::uuid, resume = @request::jsonb, pending = @pending, ready = 0,
    succeeded = @succeeded, failed = @failed, skipped = @skipped, levels_done = @levels_done
WHERE id = @id;

-- name: MarkCache :exec
UPDATE executions SET cache = @cache WHERE id = @id;

-- name: TakeNodes :execrows
-- Gives nodes, which are new, what became of those of an earlier execution.
UPDATE nodes n SET state = o.state, pending_dependencies = 0, reason = o.reason, error = o.error, outputs = o.outputs, ready_at = NULL, finished_at = @at::timestamptz,
    origin_execution = CASE WHEN o.origin_use IN ('TAKEN', 'CACHED') THEN o.origin_execution ELSE o.execution_id END,
    origin_index = CASE WHEN o.origin_use IN ('TAKEN', 'CACHED') THEN o.origin_index ELSE o.node_index END,
    origin_use = 'TAKEN'
FROM (SELECT unnest(@indexes::int[]) AS i, unnest(@origins::int[]) AS origin) t
JOIN nodes o ON o.execution_id = @from_execution::uuid AND o.node_index = t.origin
WHERE n.execution_id = @execution_id AND n.node_index = t.i AND n.state = 'PENDING';

-- name: OpenDependencies :exec
-- Of new nodes, the number of dependencies that are still open, and the node that each
-- goes on from; -1 for none.
UPDATE nodes n SET pending_dependencies = t.open,
    origin_execution = CASE WHEN t.origin >= 0 THEN @from_execution::uuid END,
    origin_index = CASE WHEN t.origin >= 0 THEN t.origin END,
    origin_use = CASE WHEN t.origin >= 0 THEN 'BEFORE' END
FROM (SELECT unnest(@indexes::int[]) AS i, unnest(@open::int[]) AS open, unnest(@origins::int[]) AS origin) t
WHERE n.execution_id = @execution_id AND n.node_index = t.i;

-- name: TakeCheckpoints :exec
-- Nodes that run again have what the nodes that they go on from saved.
INSERT INTO checkpoints (execution_id, node_index, attempt, data, saved_at)
SELECT @execution_id::uuid, t.i, 0, c.data, c.saved_at
FROM (SELECT unnest(@indexes::int[]) AS i, unnest(@executions::uuid[]) AS execution, unnest(@origins::int[]) AS origin) t
JOIN checkpoints c ON c.execution_id = t.execution AND c.node_index = t.origin
ON CONFLICT ON CONSTRAINT checkpoints_pkey DO NOTHING;

-- name: TakeCheckpointFolders :exec
INSERT INTO checkpoint_folders (execution_id, node_index, attempt, sha256, size, saved_at)
SELECT @execution_id::uuid, t.i, 0, c.sha256, c.size, c.saved_at
FROM (SELECT unnest(@indexes::int[]) AS i, unnest(@executions::uuid[]) AS execution, unnest(@origins::int[]) AS origin) t
JOIN checkpoint_folders c ON c.execution_id = t.execution AND c.node_index = t.origin
ON CONFLICT DO NOTHING;

-- name: OriginsOf :many
-- Which nodes of an execution go on from others.
SELECT node_index, origin_execution, origin_index, origin_use FROM nodes
WHERE execution_id = @execution_id AND origin_use IS NOT NULL;

-- name: PastNodes :many
-- What became of the nodes of an ended execution; with a parent, of those alone that it
-- became last.
SELECT n.execution_id, n.node_index, n.name, n.state, n.reason, n.error, n.outputs, n.graph, n.operator_index, n.parent_index, n.expansion,
    n.item_index, n.item, n.inputs, n.first_child, n.child_count, n.attempt, n.origin_execution, n.origin_index, n.origin_use
FROM nodes n
WHERE n.execution_id = @execution_id AND n.node_index >= @first::int AND n.node_index < @beyond::int
ORDER BY n.node_index;

-- name: FlushOrigins :exec
-- Part of a flush: where results of this batch came from, and what was found of them.
UPDATE nodes n SET origin_execution = coalesce(u.execution, n.origin_execution), origin_index = coalesce(u.origin, n.origin_index),
    origin_use = coalesce(u.use, n.origin_use), cache = coalesce(u.cache, n.cache)
FROM jsonb_to_recordset(@origins::jsonb) AS u(i int, execution uuid, origin int, use text, cache jsonb)
WHERE n.execution_id = @execution_id AND n.node_index = ANY (@indexes::int[]) AND n.node_index = u.i;

-- name: ResumesOf :many
-- The executions that go on from one, newest first.
SELECT id, status, created_at FROM executions
WHERE resume_of = @id::uuid AND project_id = @project_id AND id > @id::uuid
ORDER BY id DESC
LIMIT @max_rows;

-- name: OriginChain :many
-- A node, and those of earlier executions that it ran again for, the nearest first.
WITH RECURSIVE chain AS (
    SELECT 0 AS depth, @execution_id::uuid AS execution_id, @node_index::int AS node_index
    UNION ALL
    SELECT c.depth + 1, n.origin_execution, n.origin_index
    FROM chain c JOIN nodes n ON n.execution_id = c.execution_id AND n.node_index = c.node_index
    WHERE n.origin_use = 'BEFORE'
)
SELECT execution_id::uuid AS execution_id, node_index::int AS node_index FROM chain ORDER BY depth;

-- name: MarkTTL :exec
UPDATE executions SET ttl = @ttl WHERE id = @id;

-- name: SettleResumedLetters :execrows
-- Settles what is open about nodes of an ended execution, which run again in another
-- one: roots are the nodes of the plan that do, or that hold them.
UPDATE dead_letters SET outcome = 'requeued', settled_at = @settled_at::timestamptz, settled_by = @settled_by, requeued_as = @requeued_as::uuid
WHERE execution_id = @execution_id AND outcome IS NULL AND id <> @but::uuid AND (regexp_match(node, '^[^/\[]+'))[1] = ANY (@roots::text[]);
