-- name: MarkResumed :exec
-- Records that an execution resumes another. The counts are those of the reused nodes.
UPDATE executions SET resume_of = @origin::uuid, resume = @request::jsonb, pending = @pending, ready = 0,
    succeeded = @succeeded, failed = @failed, skipped = @skipped, levels_done = @levels_done
WHERE id = @id;

-- name: MarkCache :exec
UPDATE executions SET cache = @cache WHERE id = @id;

-- name: TakeNodes :execrows
-- Copies the results of nodes of an earlier execution to new nodes.
UPDATE nodes n SET state = o.state, pending_dependencies = 0, reason = o.reason, error = o.error, outputs = o.outputs, ready_at = NULL, finished_at = @at::timestamptz,
    origin_execution = CASE WHEN o.origin_use IN ('TAKEN', 'CACHED') THEN o.origin_execution ELSE o.execution_id END,
    origin_index = CASE WHEN o.origin_use IN ('TAKEN', 'CACHED') THEN o.origin_index ELSE o.node_index END,
    origin_use = 'TAKEN'
FROM (SELECT unnest(@indexes::int[]) AS i, unnest(@origins::int[]) AS origin) t
JOIN nodes o ON o.execution_id = @from_execution::uuid AND o.node_index = t.origin
WHERE n.execution_id = @execution_id AND n.node_index = t.i AND n.state = 'PENDING';

-- name: OpenDependencies :exec
-- Stores the number of open dependencies of new nodes, and the earlier node that each
-- continues (-1: none).
UPDATE nodes n SET pending_dependencies = t.open,
    origin_execution = CASE WHEN t.origin >= 0 THEN @from_execution::uuid END,
    origin_index = CASE WHEN t.origin >= 0 THEN t.origin END,
    origin_use = CASE WHEN t.origin >= 0 THEN 'BEFORE' END
FROM (SELECT unnest(@indexes::int[]) AS i, unnest(@open::int[]) AS open, unnest(@origins::int[]) AS origin) t
WHERE n.execution_id = @execution_id AND n.node_index = t.i;

-- name: TakeCheckpoints :exec
-- Copies checkpoints to nodes that run again, from the earlier nodes that they continue.
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
-- Returns the nodes of an execution that have a source node in an earlier execution.
SELECT node_index, origin_execution, origin_index, origin_use FROM nodes
WHERE execution_id = @execution_id AND origin_use IS NOT NULL;

-- name: PastNodes :many
-- Returns the nodes of an ended execution in a range of indexes.
SELECT n.execution_id, n.node_index, n.name, n.state, n.reason, n.error, n.outputs, n.graph, n.operator_index, n.parent_index, n.expansion,
    n.item_index, n.item, n.inputs, n.first_child, n.child_count, n.attempt, n.origin_execution, n.origin_index, n.origin_use
FROM nodes n
WHERE n.execution_id = @execution_id AND n.node_index >= @first::int AND n.node_index < @beyond::int
ORDER BY n.node_index;

-- name: FlushOrigins :exec
-- Stores the sources of reused results and the results of cache lookups. It is part of a
-- flush.
UPDATE nodes n SET origin_execution = coalesce(u.execution, n.origin_execution), origin_index = coalesce(u.origin, n.origin_index),
    origin_use = coalesce(u.use, n.origin_use), cache = coalesce(u.cache, n.cache)
FROM jsonb_to_recordset(@origins::jsonb) AS u(i int, execution uuid, origin int, use text, cache jsonb)
WHERE n.execution_id = @execution_id AND n.node_index = ANY (@indexes::int[]) AND n.node_index = u.i;

-- name: ResumesOf :many
-- Returns the executions that resume the given one, newest first.
SELECT id, status, created_at FROM executions
WHERE resume_of = @id::uuid AND project_id = @project_id AND id > @id::uuid
ORDER BY id DESC
LIMIT @max_rows;

-- name: OriginChain :many
-- Returns a node and its predecessors in earlier executions, nearest first.
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

-- name: MarkLabels :exec
UPDATE executions SET labels = @labels WHERE id = @id;

-- name: SettleResumedLetters :execrows
-- Settles the open dead letters of an ended execution whose nodes run again in another one;
-- roots are the plan nodes that run again or contain such nodes.
UPDATE dead_letters SET outcome = 'requeued', settled_at = @settled_at::timestamptz, settled_by = @settled_by, requeued_as = @requeued_as::uuid
WHERE execution_id = @execution_id AND outcome IS NULL AND id <> @but::uuid AND (regexp_match(node, '^[^/\[]+'))[1] = ANY (@roots::text[]);

-- name: ReusedTasks :many
-- Returns the tasks of Metaflow's runs whose results an execution reuses, as run/step/task. The nodes
-- within a fan-out or graph that is reused as a whole are those of the execution that ran it.
WITH RECURSIVE reused AS (
    SELECT n.origin_execution AS execution_id, n.origin_index AS node_index FROM nodes n
    WHERE n.execution_id = @execution_id AND n.origin_use IN ('TAKEN', 'CACHED')
    UNION
    SELECT CASE WHEN c.origin_use IN ('TAKEN', 'CACHED') THEN c.origin_execution ELSE c.execution_id END,
        CASE WHEN c.origin_use IN ('TAKEN', 'CACHED') THEN c.origin_index ELSE c.node_index END
    FROM reused r JOIN nodes c ON c.execution_id = r.execution_id AND c.parent_index = r.node_index
)
SELECT DISTINCT (n.outputs->>'task')::text AS task
FROM reused r JOIN nodes n ON n.execution_id = r.execution_id AND n.node_index = r.node_index
WHERE n.state = 'SUCCEEDED' AND jsonb_typeof(n.outputs->'task') = 'string'
ORDER BY task;

-- name: FlowOfExecution :one
-- Returns the flow of Metaflow that the workflow of an execution was deployed from; "" for others.
SELECT coalesce(v.definition->'metadata'->'metaflow'->>'flow', '')::text AS flow
FROM executions e JOIN workflow_versions v ON v.id = e.version_id
WHERE e.id = @execution_id;
