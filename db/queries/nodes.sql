-- name: InsertNodes :copyfrom
INSERT INTO nodes (execution_id, node_index, name, level, state, pending_dependencies, ready_at)
VALUES (@execution_id, @node_index, @name, @level, @state, @pending_dependencies, @ready_at);

-- name: InsertChildren :copyfrom
INSERT INTO nodes (execution_id, node_index, name, level, state, pending_dependencies, attempt, retries, reason, error, outputs,
    ready_at, started_at, finished_at, retry_at, changed_seq,
    parent_index, expansion, graph, operator_index, item_index, item, inputs, first_child, child_count, polling)
VALUES (@execution_id, @node_index, @name, @level, @state, @pending_dependencies, @attempt, @retries, @reason, @error, @outputs,
    @ready_at, @started_at, @finished_at, @retry_at, @changed_seq,
    @parent_index, @expansion, @graph, @operator_index, @item_index, @item, @inputs, @first_child, @child_count, @polling);

-- name: LoadNodes :many
-- Returns the columns of nodes that a drive loop keeps in memory.
SELECT node_index, name, level, state, attempt, retries, reason, error, ready_at, started_at, finished_at, retry_at,
    parent_index, expansion, graph, operator_index, item_index, item, inputs, first_child, child_count, polling
FROM nodes WHERE execution_id = @execution_id ORDER BY node_index;

-- name: OpenNodes :many
-- Returns the nodes of an execution that have not ended, without the items of fan-outs.
SELECT * FROM nodes
WHERE execution_id = @execution_id AND item_index IS NULL AND state NOT IN ('SUCCEEDED', 'FAILED', 'SKIPPED', 'CANCELLED')
ORDER BY node_index;

-- name: NodeOutputs :many
SELECT node_index, outputs FROM nodes
WHERE execution_id = @execution_id AND node_index = ANY (@node_indexes::int[]);

-- name: ListNodes :many
SELECT * FROM nodes n
WHERE n.execution_id = @execution_id AND n.node_index > @after_index AND n.changed_seq > @changed_after
    AND (cardinality(@states::text[]) = 0 OR shown_state(n.state, n.reason) = ANY (@states::text[]))
    AND (cardinality(@indexes::int[]) = 0 OR n.node_index = ANY (@indexes::int[]))
    AND (sqlc.narg('query')::text IS NULL OR n.name ILIKE sqlc.narg('query')
        OR @everywhere::bool AND (n.item::text ILIKE sqlc.narg('query') OR n.error->>'message' ILIKE sqlc.narg('query')))
    AND (sqlc.narg('failure')::text IS NULL OR n.state = 'FAILED' AND md5(coalesce(n.error->>'exit_code', '') || regexp_replace(coalesce(n.error->>'message', ''), '[0-9]+', '#', 'g')) = sqlc.narg('failure'))
    AND (sqlc.narg('first')::int IS NULL OR n.node_index >= sqlc.narg('first'))
    AND (sqlc.narg('beyond')::int IS NULL OR n.node_index < sqlc.narg('beyond'))
    AND (sqlc.narg('from_level')::int IS NULL OR n.level >= sqlc.narg('from_level'))
    AND (sqlc.narg('to_level')::int IS NULL OR n.level <= sqlc.narg('to_level'))
ORDER BY n.node_index
LIMIT @max_rows;

-- name: LevelSpans :many
-- Returns the first start and the last end of the nodes of each level.
SELECT level,
    coalesce(min(coalesce(started_at, ready_at)), 'epoch')::timestamptz AS first,
    coalesce(max(finished_at), 'epoch')::timestamptz AS last,
    bool_or(started_at IS NOT NULL OR ready_at IS NOT NULL)::bool AS begun,
    bool_and(finished_at IS NOT NULL)::bool AS done
FROM nodes WHERE execution_id = @execution_id GROUP BY level ORDER BY level;

-- name: NodeStates :many
-- Returns the states of the nodes of the plan.
SELECT state FROM nodes WHERE execution_id = @execution_id AND node_index < @beyond ORDER BY node_index;

-- name: NodeNames :many
SELECT node_index, name FROM nodes WHERE execution_id = @execution_id AND node_index = ANY (@indexes::int[]);

-- name: AttemptsOfNodes :many
SELECT * FROM attempts
WHERE execution_id = @execution_id AND (cardinality(@indexes::int[]) = 0 OR node_index = ANY (@indexes::int[]))
ORDER BY node_index, attempt
LIMIT @max_rows;

-- name: ListActiveNodes :many
SELECT n.name FROM nodes n
WHERE n.execution_id = @execution_id AND n.state IN ('QUEUED', 'RUNNING')
ORDER BY n.node_index
LIMIT @max_rows;

-- name: GetNode :one
SELECT * FROM nodes WHERE execution_id = @execution_id AND node_index = @node_index;

-- name: ListAttempts :many
SELECT * FROM attempts
WHERE execution_id = @execution_id AND node_index = @node_index
ORDER BY attempt;

-- name: Tracebacks :many
-- Returns the exceptions that ended attempts of a node, newest first.
SELECT attempt, content FROM tracebacks
WHERE execution_id = @execution_id AND node_index = @node_index
ORDER BY attempt DESC
LIMIT @max_rows;

-- name: ListWaiting :many
-- Returns the nodes that wait for capacity, those of the executions with the highest priority
-- first.
SELECT e.id AS execution_id, e.workflow_name, e.name AS execution_name, e.priority,
    n.node_index, n.name AS node_name, n.state, n.reason, n.ready_at, n.retry_at, e.ready AS ready_in_execution
FROM executions e
CROSS JOIN LATERAL (
    SELECT x.* FROM nodes x
    WHERE x.execution_id = e.id AND x.state = 'READY'
    ORDER BY x.node_index LIMIT @per_execution
) n
WHERE e.status IN ('PENDING', 'RUNNING') AND e.project_id = @project_id AND e.ready > 0
ORDER BY e.priority DESC, n.ready_at
LIMIT @max_rows;

-- name: SetProgress :execrows
-- Increments the sequence number of the execution, so that watchers receive the change.
WITH known AS (
    SELECT n.execution_id FROM nodes n
    WHERE n.execution_id = @execution_id AND n.node_index = @node_index AND n.attempt = @attempt
        AND n.state IN ('QUEUED', 'RUNNING')
), counted AS (
    UPDATE executions e SET event_seq = e.event_seq + 1 FROM known
    WHERE e.id = known.execution_id
    RETURNING e.id, e.event_seq
)
UPDATE nodes n SET progress = coalesce(sqlc.narg('progress'), n.progress), progress_message = @message, progress_status = @status,
    changed_seq = c.event_seq
FROM counted c
WHERE n.execution_id = c.id AND n.node_index = @node_index AND n.attempt = @attempt;

-- name: SetAttemptOutput :execrows
UPDATE attempts SET outputs = coalesce(outputs, '{}'::jsonb) || jsonb_build_object(@name::text, @value::jsonb)
WHERE execution_id = @execution_id AND node_index = @node_index AND attempt = @attempt AND finished_at IS NULL;

-- name: AttemptOutputs :many
SELECT a.node_index, a.attempt, a.outputs
FROM attempts a
WHERE a.execution_id = @execution_id AND a.node_index = @node_index AND a.attempt = @attempt AND a.outputs IS NOT NULL;

-- name: SaveCheckpoint :execrows
INSERT INTO checkpoints (execution_id, node_index, attempt, data, saved_at)
SELECT r.execution_id, r.node_index, r.attempt, @data::jsonb, @saved_at::timestamptz
FROM reservations r
WHERE r.execution_id = @execution_id AND r.node_index = @node_index AND r.attempt = @attempt
ON CONFLICT ON CONSTRAINT checkpoints_pkey
DO UPDATE SET attempt = excluded.attempt, data = excluded.data, saved_at = excluded.saved_at
WHERE checkpoints.attempt <= excluded.attempt;

-- name: GetCheckpoint :one
SELECT data, saved_at FROM checkpoints WHERE execution_id = @execution_id AND node_index = @node_index;

-- name: AliveAttempts :many
-- Returns those attempts that may still start or run.
SELECT a.execution_id, a.node_index, a.attempt
FROM jsonb_to_recordset(@keys::jsonb) AS k(execution_id uuid, i int, attempt int)
JOIN attempts a ON a.execution_id = k.execution_id AND a.node_index = k.i AND a.attempt = k.attempt
WHERE a.finished_at IS NULL;

-- name: ReportingAttempts :many
-- Returns those attempts that may send telemetry: they have not ended, or their logs are
-- incomplete.
SELECT a.execution_id, a.node_index, a.attempt
FROM jsonb_to_recordset(@keys::jsonb) AS k(execution_id uuid, i int, attempt int)
JOIN attempts a ON a.execution_id = k.execution_id AND a.node_index = k.i AND a.attempt = k.attempt
WHERE a.finished_at IS NULL OR EXISTS (
    SELECT 1 FROM open_logs o WHERE o.execution_id = a.execution_id AND o.node_index = a.node_index AND o.attempt = a.attempt
);

-- name: OpenLogs :exec
-- Marks the logs of ending attempts as incomplete, and removes the marks of runners that never
-- returned.
WITH stale AS (
    DELETE FROM open_logs WHERE since < @stale::timestamptz
)
INSERT INTO open_logs (execution_id, node_index, attempt, since)
SELECT a.execution_id, a.node_index, a.attempt, @since::timestamptz
FROM jsonb_to_recordset(@keys::jsonb) AS k(execution_id uuid, i int, attempt int)
JOIN attempts a ON a.execution_id = k.execution_id AND a.node_index = k.i AND a.attempt = k.attempt
WHERE a.finished_at IS NULL
ON CONFLICT ON CONSTRAINT open_logs_pkey DO NOTHING;

-- name: CloseLogs :exec
DELETE FROM open_logs o
USING jsonb_to_recordset(@keys::jsonb) AS k(execution_id uuid, i int, attempt int)
WHERE o.execution_id = k.execution_id AND o.node_index = k.i AND o.attempt = k.attempt;

-- name: HasOpenLogs :one
-- Reports whether the log of an ended attempt of the execution is incomplete.
SELECT EXISTS (SELECT 1 FROM open_logs o WHERE o.execution_id = @execution_id AND o.since > @after::timestamptz)::bool AS open;

-- name: GridNodes :many
-- Returns the nodes of the plans of executions, which have the lowest indexes, as arrays: an array is
-- read several times faster than a row for each node. Times are microseconds, -1 for none. The bounds
-- of the IDs let Postgres leave out months.
SELECT execution_id, array_agg(node_index ORDER BY node_index)::int[] AS indexes, array_agg(name ORDER BY node_index)::text[] AS names,
    array_agg(state ORDER BY node_index)::text[] AS states,
    array_agg(coalesce((extract(epoch FROM started_at) * 1000000)::bigint, -1) ORDER BY node_index)::bigint[] AS started,
    array_agg(coalesce((extract(epoch FROM finished_at) * 1000000)::bigint, -1) ORDER BY node_index)::bigint[] AS finished
FROM nodes
WHERE execution_id = ANY (@executions::uuid[]) AND execution_id >= @least::uuid AND execution_id <= @most::uuid
    AND parent_index IS NULL AND node_index >= @first_index::int AND node_index < @beyond_index::int
GROUP BY execution_id
ORDER BY execution_id DESC;
