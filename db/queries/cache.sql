-- name: ClaimResults :many
-- Claims the keys without a claim for the given nodes. Returns the claimant of each key and
-- the state of that node; fresh means that the key was unclaimed. The rows remain locked until
-- the transaction ends.
WITH requested AS (
    SELECT decode(t.a ->> 'k', 'hex') AS key, (t.a ->> 'i')::int AS i, t.a ->> 'node' AS node, t.a -> 'parts' AS parts
    FROM jsonb_array_elements(@keys::jsonb) AS t(a)
), claimed AS (
    INSERT INTO cached_results AS c (project_id, key, workflow_id, node, execution_id, node_index, parts, claimed_at)
    SELECT @project_id::uuid, a.key, @workflow_id::uuid, a.node, @execution_id::uuid, a.i, a.parts, @at::timestamptz
    FROM requested a ORDER BY a.key
    ON CONFLICT ON CONSTRAINT cached_results_pkey DO UPDATE SET key = EXCLUDED.key
    RETURNING c.key, c.execution_id, c.node_index, c.claimed_at, (c.xmax = 0)::bool AS fresh
)
SELECT c.key, c.execution_id, c.node_index, c.claimed_at, c.fresh,
    n.name, n.state, n.outputs, n.finished_at, e.status AS execution_status
FROM claimed c
LEFT JOIN nodes n ON n.execution_id = c.execution_id AND n.node_index = c.node_index
LEFT JOIN executions e ON e.id = c.execution_id;

-- name: TakeOverResults :exec
-- Claims keys for the given nodes and replaces existing claims.
UPDATE cached_results c SET execution_id = @execution_id, node_index = t.i, node = t.node, parts = t.parts, claimed_at = @at::timestamptz, workflow_id = @workflow_id
FROM jsonb_to_recordset(@keys::jsonb) AS t(k text, i int, node text, parts jsonb)
WHERE c.project_id = @project_id AND c.key = decode(t.k, 'hex');

-- name: LatestResults :many
-- Returns the key parts of the latest earlier result of each named node of a workflow.
SELECT t.node::text AS node, r.execution_id, r.parts, r.claimed_at
FROM unnest(@nodes::text[]) AS t(node)
CROSS JOIN LATERAL (
    SELECT c.execution_id, c.parts, c.claimed_at FROM cached_results c
    WHERE c.workflow_id = @workflow_id AND c.node = t.node AND c.claimed_at < @before::timestamptz
    ORDER BY c.claimed_at DESC LIMIT 1
) r;

-- name: ArtifactHashes :many
-- Returns the hashes of those artifacts whose bytes the project still has.
SELECT a.id, a.sha256, a.media_type FROM artifacts a
JOIN project_blobs b ON b.project_id = a.project_id AND b.sha256 = a.sha256
WHERE a.id = ANY (@ids::uuid[]) AND a.project_id = @project_id;
