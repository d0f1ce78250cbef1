-- name: InsertPool :exec
INSERT INTO pools (name, description, created_at, created_by) VALUES (@name, @description, @created_at, @created_by);

-- name: LockPool :one
SELECT * FROM pools WHERE name = @name FOR UPDATE;

-- name: PoolAllows :one
-- Reports whether a project may use a pool.
SELECT (NOT p.restricted OR EXISTS (
    SELECT 1 FROM pool_access a JOIN tenancy_nodes n ON a.node_id = ANY (n.path) WHERE a.pool = p.name AND n.id = @project_id
))::boolean AS allowed
FROM pools p WHERE p.name = @name;

-- name: PoolRestricted :one
SELECT restricted FROM pools WHERE name = @name;

-- name: PoolAccess :many
-- Returns the nodes to which a pool is restricted, by path.
SELECT n.id, n.kind, (n.archived_at IS NOT NULL)::boolean AS archived,
    ARRAY(SELECT u.name FROM tenancy_nodes u WHERE u.id = ANY (n.path) AND u.kind <> 'installation' ORDER BY cardinality(u.path))::text[] AS names
FROM pool_access a JOIN tenancy_nodes n ON n.id = a.node_id
WHERE a.pool = @pool ORDER BY names, n.id;

-- name: SetPoolRestricted :exec
UPDATE pools SET restricted = @restricted WHERE name = @name;

-- name: DeletePoolAccess :exec
DELETE FROM pool_access WHERE pool = @pool;

-- name: InsertPoolAccess :execrows
INSERT INTO pool_access (pool, node_id) SELECT @pool, n.id FROM tenancy_nodes n WHERE n.id = ANY (@nodes::uuid[]);

-- name: SetPoolDraining :exec
UPDATE pools SET draining = @draining WHERE name = @name;

-- name: DeletePool :exec
DELETE FROM pools WHERE name = @name;

-- name: ListPools :many
-- Returns pools with the numbers of their workers and attempts. live_after is the latest heartbeat
-- at which a worker counts as connected.
SELECT p.name, p.description, p.draining, p.restricted, p.created_at, p.created_by,
    coalesce(k.workers, 0)::int AS workers, coalesce(k.connected, 0)::int AS connected,
    coalesce(k.slots, 0)::bigint AS slots, coalesce(k.cpu_millis, 0)::bigint AS cpu_millis, coalesce(k.memory_mib, 0)::bigint AS memory_mib,
    coalesce(k.gpus, 0)::bigint AS gpus,
    coalesce(w.queued, 0)::int AS queued, coalesce(w.running, 0)::int AS running,
    coalesce(greatest(extract(epoch FROM now() - w.oldest), 0), 0)::float8 AS wait_seconds,
    coalesce(w.cpu_used, 0)::bigint AS cpu_used, coalesce(w.memory_used, 0)::bigint AS memory_used, coalesce(w.gpus_used, 0)::bigint AS gpus_used
FROM pools p
LEFT JOIN LATERAL (
    SELECT count(*) AS workers, count(*) FILTER (WHERE x.live) AS connected,
        sum(x.slots) FILTER (WHERE x.live) AS slots, sum(x.cpu_millis) FILTER (WHERE x.live) AS cpu_millis,
        sum(x.memory_mib) FILTER (WHERE x.live) AS memory_mib, sum(x.gpus) FILTER (WHERE x.live) AS gpus
    FROM (SELECT v.*, v.seen_at >= now() - make_interval(secs => @lost_seconds::float8) AS live FROM pool_workers v WHERE v.pool = p.name) x
) k ON true
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE y.worker IS NULL) AS queued, count(*) FILTER (WHERE y.worker IS NOT NULL) AS running,
        min(y.queued_at) FILTER (WHERE y.worker IS NULL) AS oldest,
        sum(y.cpu_millis) FILTER (WHERE y.worker IS NOT NULL) AS cpu_used, sum(y.memory_mib) FILTER (WHERE y.worker IS NOT NULL) AS memory_used,
        sum(y.gpus) FILTER (WHERE y.worker IS NOT NULL) AS gpus_used
    FROM pool_work y WHERE y.pool = p.name
) w ON true
WHERE @name::text = '' OR p.name = @name
ORDER BY p.name;

-- name: InsertPoolToken :exec
INSERT INTO pool_tokens (id, pool, sha256, created_at, created_by) VALUES (@id, @pool, @sha256, @created_at, @created_by);

-- name: ListPoolTokens :many
SELECT id, pool, created_at, created_by, last_used_at FROM pool_tokens WHERE pool = @pool ORDER BY created_at, id;

-- name: FindPoolToken :one
SELECT id, pool, sha256, last_used_at FROM pool_tokens WHERE id = @id;

-- name: TouchPoolToken :exec
UPDATE pool_tokens SET last_used_at = @at::timestamptz WHERE id = @id;

-- name: DeletePoolToken :execrows
DELETE FROM pool_tokens WHERE id = @id AND pool = @pool;

-- name: ListPoolWorkers :many
SELECT k.*, k.seen_at >= now() - make_interval(secs => @lost_seconds::float8) AS connected
FROM pool_workers k WHERE @pool::text = '' OR k.pool = @pool
ORDER BY k.pool, k.name, k.id;

-- name: JoinPool :one
-- Registers a worker, or registers it again with a new session. A worker keeps its id only within
-- its pool. An administrator's drain remains.
INSERT INTO pool_workers (id, pool, name, session, labels, slots, cpu_millis, memory_mib, gpus, gpu_type, version, joined_at, seen_at)
VALUES (@id, @pool, @name, @session, @labels, @slots, @cpu_millis, @memory_mib, @gpus, @gpu_type, @version, now(), now())
ON CONFLICT ON CONSTRAINT pool_workers_pkey
DO UPDATE SET name = excluded.name, session = excluded.session, labels = excluded.labels, slots = excluded.slots,
    cpu_millis = excluded.cpu_millis, memory_mib = excluded.memory_mib, gpus = excluded.gpus, gpu_type = excluded.gpu_type,
    version = excluded.version, leaving = false, joined_at = excluded.joined_at, seen_at = excluded.seen_at
WHERE pool_workers.pool = excluded.pool
RETURNING *;

-- name: LockPoolWorker :one
-- Locks a worker and records its heartbeat.
UPDATE pool_workers k SET seen_at = now(), leaving = @leaving
FROM pools p
WHERE k.id = @id AND k.pool = @pool AND p.name = k.pool
RETURNING sqlc.embed(k), p.draining AS pool_draining;

-- name: SetPoolWorkerDraining :one
UPDATE pool_workers SET draining = @draining WHERE id = @id AND pool = @pool RETURNING name;

-- name: DeletePoolWorker :execrows
-- Deletes a worker that holds no attempts. One that an administrator drains stays, so that it is still
-- drained after a restart.
DELETE FROM pool_workers k WHERE k.id = @id AND k.pool = @pool AND k.session = @session AND NOT k.draining
    AND NOT EXISTS (SELECT 1 FROM pool_work w WHERE w.worker = k.id);

-- name: ForgetPoolWorkers :execrows
-- Deletes workers that were last seen long ago and hold no attempts.
DELETE FROM pool_workers k WHERE k.seen_at < now() - make_interval(secs => @age_seconds::float8)
    AND NOT EXISTS (SELECT 1 FROM pool_work w WHERE w.worker = k.id);

-- name: QueuePoolWork :exec
INSERT INTO pool_work (task_id, pool, execution_id, node_index, attempt, tenant_id, project_id, labels, cpu_millis, memory_mib, gpus, gpu_type,
    priority, spec, queued_at)
VALUES (@task_id, @pool, @execution_id, @node_index, @attempt, @tenant_id, @project_id, @labels, @cpu_millis, @memory_mib, @gpus, @gpu_type,
    @priority, @spec, @queued_at)
ON CONFLICT ON CONSTRAINT pool_work_pkey DO NOTHING;

-- name: PoolWorkOfWorker :many
SELECT * FROM pool_work WHERE worker = @worker ORDER BY taken_at, task_id;

-- name: EndPoolWork :execrows
-- Deletes attempts that a worker has delivered or lost, and adds their time to the use of their projects.
WITH ended AS (
    DELETE FROM pool_work d WHERE d.worker = @worker AND d.task_id = ANY (@task_ids::text[])
    RETURNING d.pool, d.project_id, d.gpus, greatest(extract(epoch FROM now() - d.taken_at), 0)::float8 AS seconds
)
INSERT INTO pool_use AS u (pool, project_id, day, tasks, task_seconds, gpu_seconds)
SELECT e.pool, e.project_id, (date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::timestamptz, count(*), sum(e.seconds), sum(e.seconds * e.gpus)
FROM ended e GROUP BY e.pool, e.project_id ORDER BY e.pool, e.project_id
ON CONFLICT ON CONSTRAINT pool_use_pkey DO UPDATE SET tasks = u.tasks + excluded.tasks, task_seconds = u.task_seconds + excluded.task_seconds,
    gpu_seconds = u.gpu_seconds + excluded.gpu_seconds;

-- name: MovePoolWork :exec
-- Gives the results that a worker recovered after a restart to its new session.
UPDATE pool_work SET session = @session::uuid WHERE worker = @worker AND task_id = ANY (@task_ids::text[]);

-- name: TakePoolWork :one
-- Assigns the next waiting attempt that a worker can run with its free capacity and that is within the
-- limits of its levels. Within a priority, the levels that use least of the pool are first, from the
-- tenant down to the project; use is the number of running attempts and their GPUs, divided by the
-- weight of the level. The reservation is that of the engine: a server that was frozen may queue an
-- attempt that has ended in the meantime.
WITH used AS MATERIALIZED (
    SELECT x.node_id, count(*) AS tasks, sum(r.gpus) AS gpus
    FROM pool_work r JOIN tenancy_nodes n ON n.id = r.project_id CROSS JOIN LATERAL unnest(n.path) AS x(node_id)
    WHERE r.pool = @pool AND r.worker IS NOT NULL GROUP BY x.node_id
), room AS MATERIALIZED (
    SELECT l.node_id, l.tasks - coalesce(u.tasks, 0) AS tasks, l.gpus - coalesce(u.gpus, 0) AS gpus
    FROM pool_limits l LEFT JOIN used u ON u.node_id = l.node_id WHERE l.pool = @pool
), shares AS MATERIALIZED (
    SELECT p.id AS project_id, p.path, ARRAY(
        SELECT (coalesce(u.tasks, 0) + coalesce(u.gpus, 0)) / coalesce(q.weight, 1)
        FROM generate_subscripts(p.path, 1) AS k LEFT JOIN used u ON u.node_id = p.path[k] LEFT JOIN quotas q ON q.node_id = p.path[k] ORDER BY k
    ) AS used
    FROM tenancy_nodes p WHERE p.id IN (SELECT v.project_id FROM pool_work v WHERE v.pool = @pool AND v.worker IS NULL)
)
UPDATE pool_work SET worker = @worker::uuid, session = @session::uuid, taken_at = @taken_at::timestamptz
WHERE task_id = (
    SELECT c.task_id FROM shares s CROSS JOIN LATERAL (
        SELECT w.task_id, w.priority, w.queued_at FROM pool_work w
        WHERE w.pool = @pool AND w.project_id = s.project_id AND w.worker IS NULL AND w.labels <@ @labels::jsonb
            AND w.cpu_millis <= @cpu_millis::int AND w.memory_mib <= @memory_mib::int AND w.gpus <= @gpus::int
            AND (w.gpu_type = '' OR w.gpu_type = @gpu_type::text)
            AND NOT EXISTS (SELECT 1 FROM room o WHERE o.node_id = ANY (s.path) AND (o.tasks < 1 OR o.gpus < w.gpus))
            AND EXISTS (SELECT 1 FROM reservations r WHERE r.execution_id = w.execution_id AND r.node_index = w.node_index AND r.attempt = w.attempt)
        ORDER BY w.priority DESC, w.queued_at, w.task_id
        LIMIT 1 FOR UPDATE OF w SKIP LOCKED
    ) c
    ORDER BY c.priority DESC, s.used, c.queued_at, c.task_id LIMIT 1
)
RETURNING *;

-- name: LockPoolLimits :exec
-- Makes the other servers wait that assign attempts of a pool with limits, until the end of the
-- transaction.
SELECT pg_advisory_xact_lock(hashtextextended('pool limits ' || @pool::text, 0))
WHERE EXISTS (SELECT 1 FROM pool_limits l WHERE l.pool = @pool);

-- name: PoolLimits :many
-- Returns the limits of all pools, with the use of their levels, those of the highest levels first.
SELECT l.pool, l.node_id, n.kind, n.name, l.tasks, l.gpus, coalesce(u.tasks, 0)::int AS tasks_used, coalesce(u.gpus, 0)::int AS gpus_used
FROM pool_limits l JOIN tenancy_nodes n ON n.id = l.node_id
LEFT JOIN LATERAL (
    SELECT count(*) AS tasks, sum(r.gpus) AS gpus FROM pool_work r JOIN tenancy_nodes p ON p.id = r.project_id
    WHERE r.pool = l.pool AND r.worker IS NOT NULL AND l.node_id = ANY (p.path)
) u ON true
ORDER BY l.pool, cardinality(n.path), l.node_id;

-- name: PoolLimit :one
SELECT l.tasks, l.gpus FROM pool_limits l WHERE l.pool = @pool AND l.node_id = @node_id;

-- name: SetPoolLimit :execrows
-- Does nothing for a level that does not exist.
INSERT INTO pool_limits (pool, node_id, tasks, gpus) SELECT @pool, n.id, sqlc.narg('tasks')::int, sqlc.narg('gpus')::int FROM tenancy_nodes n WHERE n.id = @node_id AND n.kind <> 'installation'
ON CONFLICT ON CONSTRAINT pool_limits_pkey DO UPDATE SET tasks = excluded.tasks, gpus = excluded.gpus;

-- name: DeletePoolLimit :exec
DELETE FROM pool_limits WHERE pool = @pool AND node_id = @node_id;

-- name: PoolShares :many
-- Returns the levels that have a limit in a pool, use it now, or have used it since a time, by path. The
-- seconds include those of running attempts.
SELECT n.id, n.kind, (n.archived_at IS NOT NULL)::boolean AS archived,
    ARRAY(SELECT a.name FROM tenancy_nodes a WHERE a.id = ANY (n.path) AND a.kind <> 'installation' ORDER BY cardinality(a.path))::text[] AS names,
    l.tasks, l.gpus, coalesce(w.running, 0)::int AS running, coalesce(w.queued, 0)::int AS queued, coalesce(w.gpus, 0)::int AS gpus_used,
    coalesce(u.tasks, 0)::bigint AS ended, (coalesce(u.task_seconds, 0) + coalesce(w.task_seconds, 0))::float8 AS task_seconds,
    (coalesce(u.gpu_seconds, 0) + coalesce(w.gpu_seconds, 0))::float8 AS gpu_seconds
FROM tenancy_nodes n
LEFT JOIN pool_limits l ON l.pool = @pool AND l.node_id = n.id
LEFT JOIN (
    SELECT x.node_id, count(*) FILTER (WHERE v.worker IS NOT NULL) AS running, count(*) FILTER (WHERE v.worker IS NULL) AS queued,
        sum(v.gpus) FILTER (WHERE v.worker IS NOT NULL) AS gpus, sum(greatest(extract(epoch FROM now() - v.taken_at), 0)) AS task_seconds,
        sum(greatest(extract(epoch FROM now() - v.taken_at), 0) * v.gpus) AS gpu_seconds
    FROM pool_work v JOIN tenancy_nodes p ON p.id = v.project_id CROSS JOIN LATERAL unnest(p.path) AS x(node_id)
    WHERE v.pool = @pool GROUP BY x.node_id
) w ON w.node_id = n.id
LEFT JOIN (
    SELECT x.node_id, sum(s.tasks) AS tasks, sum(s.task_seconds) AS task_seconds, sum(s.gpu_seconds) AS gpu_seconds
    FROM pool_use s JOIN tenancy_nodes p ON p.id = s.project_id CROSS JOIN LATERAL unnest(p.path) AS x(node_id)
    WHERE s.pool = @pool AND s.day >= @since GROUP BY x.node_id
) u ON u.node_id = n.id
WHERE n.kind <> 'installation' AND (l.node_id IS NOT NULL OR w.node_id IS NOT NULL OR u.node_id IS NOT NULL)
ORDER BY names, n.id LIMIT @max_rows;

-- name: DeletePoolUse :exec
DELETE FROM pool_use WHERE pool = @pool;

-- name: PrunePoolUse :exec
DELETE FROM pool_use WHERE day < @before;

-- name: HasPoolWork :one
SELECT EXISTS (SELECT 1 FROM pool_work WHERE pool = @pool AND worker IS NULL);

-- name: WithdrawPoolWork :many
-- Deletes attempts that no worker has taken.
DELETE FROM pool_work WHERE task_id = ANY (@task_ids::text[]) AND worker IS NULL RETURNING task_id;

-- name: KnownPoolWork :many
SELECT task_id FROM pool_work WHERE task_id = ANY (@task_ids::text[]);

-- name: ListPoolTasks :many
SELECT task_id FROM pool_work;

-- name: AnyPoolWork :one
-- Reports whether attempts wait for workers or run on them, or a shortage may have ended.
SELECT (EXISTS (SELECT 1 FROM pool_work) OR EXISTS (SELECT 1 FROM pool_shortages))::boolean AS work;

-- name: FindPoolShortages :many
-- Returns the projects whose attempts wait in pools that have had no connected worker since a time, and that
-- have waited as long.
SELECT w.pool, w.project_id, w.tenant_id, count(*)::int AS tasks, min(w.queued_at)::timestamptz AS since
FROM pool_work w JOIN pools p ON p.name = w.pool JOIN tenancy_nodes n ON n.id = w.project_id
WHERE w.worker IS NULL AND NOT EXISTS (SELECT 1 FROM pool_workers k WHERE k.pool = w.pool AND k.seen_at >= @before::timestamptz)
GROUP BY w.pool, w.project_id, w.tenant_id HAVING min(w.queued_at) <= @before::timestamptz
ORDER BY w.pool, w.project_id;

-- name: ListPoolShortages :many
SELECT * FROM pool_shortages ORDER BY pool, project_id;

-- name: BeginPoolShortage :execrows
INSERT INTO pool_shortages (pool, project_id, tenant_id, began_at) VALUES (@pool, @project_id, @tenant_id, @began_at) ON CONFLICT (pool, project_id) DO NOTHING;

-- name: EndPoolShortage :execrows
DELETE FROM pool_shortages WHERE pool = @pool AND project_id = @project_id;

-- name: WaitingPoolWork :many
-- Returns waiting attempts, of each pool those that are taken next.
SELECT w.task_id, w.pool, w.labels, w.cpu_millis, w.memory_mib, w.gpus, w.gpu_type, w.queued_at, w.reason, coalesce(n.path, '{}')::uuid[] AS path
FROM pool_work w LEFT JOIN tenancy_nodes n ON n.id = w.project_id
WHERE w.worker IS NULL ORDER BY row_number() OVER (PARTITION BY w.pool ORDER BY w.priority DESC, w.queued_at, w.task_id), w.pool LIMIT @max_rows;

-- name: SetPoolWorkReasons :exec
-- reasons is an object: the reason by task ID.
UPDATE pool_work w SET reason = s.value
FROM jsonb_each_text(@reasons::jsonb) AS s WHERE w.task_id = s.key AND w.worker IS NULL;

-- name: LostPoolWork :many
-- Returns the attempts of workers without a heartbeat.
SELECT w.task_id, w.pool, k.id AS worker, k.name FROM pool_work w JOIN pool_workers k ON k.id = w.worker
WHERE k.seen_at < now() - make_interval(secs => @lost_seconds::float8)
ORDER BY w.task_id LIMIT @max_rows;

-- name: DropAbandonedPoolWork :execrows
-- Deletes waiting attempts that the engine no longer counts, such as those of deleted executions.
DELETE FROM pool_work w WHERE w.worker IS NULL AND w.queued_at < @before::timestamptz
    AND NOT EXISTS (SELECT 1 FROM reservations r WHERE r.execution_id = w.execution_id AND r.node_index = w.node_index AND r.attempt = w.attempt);

-- name: PoolAttempts :many
-- Returns the attempts of a pool with the names of their executions and nodes: all running ones, and up
-- to max_rows waiting ones.
SELECT w.task_id, w.execution_id, w.node_index, w.attempt, w.worker, w.labels, w.cpu_millis, w.memory_mib, w.gpus, w.gpu_type, w.queued_at, w.taken_at, w.reason,
    coalesce(e.workflow_name, '')::text AS workflow_name, coalesce(n.name, '')::text AS node_name, (SELECT count(*) FROM pool_work c WHERE c.pool = @pool)::bigint AS total
FROM pool_work w
LEFT JOIN executions e ON e.id = w.execution_id
LEFT JOIN nodes n ON n.execution_id = w.execution_id AND n.node_index = w.node_index
WHERE w.pool = @pool AND (w.worker IS NOT NULL OR w.task_id IN (
    SELECT q.task_id FROM pool_work q WHERE q.pool = @pool AND q.worker IS NULL ORDER BY q.priority DESC, q.queued_at, q.task_id LIMIT @max_rows))
ORDER BY w.worker IS NULL, w.taken_at, w.priority DESC, w.queued_at, w.task_id;
