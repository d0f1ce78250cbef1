-- name: BreakersOf :many
-- Returns the breakers of operators of a workflow, without locking them.
SELECT * FROM circuit_breakers WHERE workflow_id = @workflow_id AND operator = ANY (@operators::text[]);

-- name: LockBreakers :many
-- Locks the breakers of operators of a workflow, always in the same order.
SELECT * FROM circuit_breakers WHERE workflow_id = @workflow_id AND operator = ANY (@operators::text[])
ORDER BY operator, fingerprint FOR UPDATE;

-- name: MakeBreaker :exec
-- Inserts a missing breaker, so that it can be locked.
INSERT INTO circuit_breakers (id, tenant_id, project_id, workflow_id, workflow_name, operator, fingerprint, version,
    rule_failures, rule_window, rule_open_for, state, changed_at)
VALUES (@id, @tenant_id, @project_id, @workflow_id, @workflow_name, @operator, @fingerprint, @version,
    @rule_failures, @rule_window, @rule_open_for, 'closed', @changed_at)
ON CONFLICT ON CONSTRAINT circuit_breakers_operator_key DO NOTHING;

-- name: SaveBreaker :exec
UPDATE circuit_breakers SET version = @version, rule_failures = @rule_failures, rule_window = @rule_window, rule_open_for = @rule_open_for,
    state = @state, failures = @failures, opened = @opened, opened_at = sqlc.narg('opened_at'), open_until = sqlc.narg('open_until'),
    trial_execution = sqlc.narg('trial_execution'), trial_node = sqlc.narg('trial_node'),
    last_error = @last_error, last_execution = sqlc.narg('last_execution'), last_node = @last_node, changed_at = @changed_at
WHERE id = @id;

-- name: TrialEnded :one
-- Reports whether a node will not report the result of its trial: it has ended, or neither the
-- node nor the breaker has changed since the stale time.
SELECT (NOT EXISTS (SELECT 1 FROM nodes n JOIN executions e ON e.id = n.execution_id
    WHERE n.execution_id = @execution_id AND n.node_index = @node_index AND e.finished_at IS NULL
        AND (n.state IN ('QUEUED', 'RUNNING', 'RETRYING')
            OR n.state IN ('PENDING', 'READY') AND EXISTS (SELECT 1 FROM circuit_breakers b WHERE b.id = @id AND b.changed_at > @stale::timestamptz))))::bool AS ended;

-- name: ListBreakers :many
-- Returns the breakers of a project, open ones first.
SELECT sqlc.embed(b), (SELECT count(*) FROM executions e JOIN nodes n ON n.execution_id = e.id
        WHERE e.workflow_id = b.workflow_id AND e.status IN ('PENDING', 'RUNNING', 'PAUSED') AND e.ready > 0
            AND n.state = 'READY' AND n.reason->>'code' = 'BREAKER_OPEN' AND n.reason->'level'->>'id' = b.id::text)::integer AS waiting
FROM circuit_breakers b
WHERE b.project_id = @project_id
ORDER BY (b.state = 'open') DESC, (b.state = 'half_open') DESC, b.changed_at DESC
LIMIT @max_rows;

-- name: GetBreaker :one
SELECT * FROM circuit_breakers WHERE id = @id;

-- name: LockBreaker :one
SELECT * FROM circuit_breakers WHERE id = @id FOR UPDATE;

-- name: ForgetBreakers :execrows
-- Deletes closed breakers without recent changes.
DELETE FROM circuit_breakers WHERE state = 'closed' AND changed_at < @before;

-- name: LiveOfWorkflow :many
-- Returns the executions of a workflow with nodes that may wait for a breaker.
SELECT id FROM executions WHERE workflow_id = @workflow_id AND status IN ('PENDING', 'RUNNING') AND ready > 0 ORDER BY id;

-- name: RetryingOfTenant :many
-- Returns the executions of a tenant with nodes that may wait for a retry budget.
SELECT id FROM executions WHERE tenant_id = @tenant_id AND status = 'RUNNING' AND retrying > 0 ORDER BY id;

-- name: GetBucket :one
SELECT * FROM retry_buckets WHERE tenant_id = @tenant_id;

-- name: LockBucket :one
SELECT * FROM retry_buckets WHERE tenant_id = @tenant_id FOR UPDATE;

-- name: SaveBucket :exec
UPDATE retry_buckets SET tokens = @tokens, refilled_at = sqlc.narg('refilled_at'), delayed = delayed + @delayed WHERE tenant_id = @tenant_id;

-- name: InsertBucket :execrows
-- Inserts a full bucket. Affects no row if one exists.
INSERT INTO retry_buckets (tenant_id, retries, period, burst, changed_at, changed_by)
VALUES (@tenant_id, @retries, @period, @burst, @changed_at, @changed_by)
ON CONFLICT ON CONSTRAINT retry_buckets_pkey DO NOTHING;

-- name: UpdateBucket :exec
UPDATE retry_buckets SET retries = @retries, period = @period, burst = @burst, tokens = @tokens, refilled_at = sqlc.narg('refilled_at'),
    changed_at = @changed_at, changed_by = @changed_by, version = version + 1
WHERE tenant_id = @tenant_id;

-- name: DeleteBucket :execrows
DELETE FROM retry_buckets WHERE tenant_id = @tenant_id AND version = @version;

-- name: MakeWindow :exec
INSERT INTO retry_windows (workflow_id, tenant_id, project_id, workflow_name, retries, span, changed_at)
VALUES (@workflow_id, @tenant_id, @project_id, @workflow_name, @retries, @span, @changed_at)
ON CONFLICT ON CONSTRAINT retry_windows_pkey DO NOTHING;

-- name: LockWindow :one
SELECT * FROM retry_windows WHERE workflow_id = @workflow_id FOR UPDATE;

-- name: SaveWindow :exec
UPDATE retry_windows SET retries = @retries, span = @span, made = @made, delayed = delayed + @delayed, changed_at = @changed_at
WHERE workflow_id = @workflow_id;

-- name: ListWindows :many
SELECT * FROM retry_windows WHERE project_id = @project_id ORDER BY workflow_name LIMIT @max_rows;

-- name: InsertDeadLetters :exec
INSERT INTO dead_letters (id, tenant_id, project_id, execution_id, node_index, node, attempt, workflow_name, version, class, failure, at)
SELECT l.id, @tenant_id, @project_id, @execution_id, l.i, l.node, l.attempt, @workflow_name, @version, l.class, l.failure, l.at
FROM jsonb_to_recordset(@letters::jsonb) AS l(id uuid, i int, node text, attempt int, class text, failure jsonb, at timestamptz)
ON CONFLICT ON CONSTRAINT dead_letters_attempt_key DO NOTHING;

-- name: ListDeadLetters :many
SELECT sqlc.embed(l), coalesce((SELECT e.status FROM executions e WHERE e.id = l.execution_id), '')::text AS status
FROM dead_letters l
WHERE l.project_id = @project_id AND l.outcome IS NULL
    AND (sqlc.narg('before')::uuid IS NULL OR l.id < sqlc.narg('before'))
    AND (sqlc.narg('execution_id')::uuid IS NULL OR l.execution_id = sqlc.narg('execution_id'))
    AND (@class::text = '' OR l.class = @class::text)
ORDER BY l.id DESC
LIMIT @max_rows;

-- name: CountDeadLetters :one
SELECT count(*)::integer AS open, (count(*) FILTER (WHERE @class::text = '' OR class = @class::text))::integer AS matching
FROM dead_letters WHERE project_id = @project_id AND outcome IS NULL;

-- name: GetDeadLetter :one
SELECT sqlc.embed(l), coalesce((SELECT e.status FROM executions e WHERE e.id = l.execution_id), '')::text AS status
FROM dead_letters l WHERE l.id = @id;

-- name: SettleDeadLetter :execrows
-- Settles a dead letter. The drive loop may have recorded the same outcome before the request
-- that caused it.
UPDATE dead_letters SET outcome = @outcome::text, settled_at = @settled_at::timestamptz, settled_by = @settled_by, requeued_as = sqlc.narg('requeued_as')
WHERE id = @id AND (outcome IS NULL OR outcome = @outcome::text AND settled_by = '');

-- name: DismissDeadLetters :many
-- Dismisses the open dead letters of a project that are not newer than one of them.
UPDATE dead_letters SET outcome = @dismissed::text, settled_at = @settled_at::timestamptz, settled_by = @settled_by
WHERE project_id = @project_id AND outcome IS NULL AND id <= @newest AND (@class::text = '' OR class = @class::text)
RETURNING id, tenant_id, workflow_name, node;

-- name: SettleLettersOf :exec
-- Settles the open dead letters of nodes that run again.
UPDATE dead_letters SET outcome = 'requeued', settled_at = @settled_at::timestamptz, settled_by = @settled_by
WHERE execution_id = @execution_id AND node_index = ANY (@nodes::int[]) AND outcome IS NULL;

-- name: ForgetDeadLetters :execrows
DELETE FROM dead_letters WHERE at < @before;
