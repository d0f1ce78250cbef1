-- A project has only the blobs that were uploaded to it. 00008 recorded only outputs of tasks,
-- so this adds the earlier uploads: blobs named by the catalogue, code and execution inputs.
-- +goose Up
INSERT INTO project_blobs (project_id, sha256, size)
SELECT DISTINCT ON (n.project_id, n.hash) n.project_id, decode(n.hash, 'hex'), n.size
FROM (
    SELECT c.project_id, c.blob ->> 'sha256' AS hash, coalesce((c.blob ->> 'size')::bigint, 0) AS size FROM catalogue_entries c
    UNION ALL
    SELECT w.project_id, substr(p.package #>> '{}', length('sha256:') + 1), 0
    FROM workflows w JOIN workflow_versions v ON v.workflow_id = w.id,
        jsonb_path_query(v.definition, '$.operators[*].code.package ? (@ starts with "sha256:")') AS p(package)
    UNION ALL
    SELECT e.project_id, f.ref ->> '$file', CASE WHEN jsonb_typeof(f.ref -> 'size') = 'number' THEN (f.ref ->> 'size')::bigint ELSE 0 END
    FROM executions e, jsonb_path_query(e.inputs, '$.** ? (exists (@."$file"))') AS f(ref)
) n
WHERE n.hash ~ '^[0-9a-f]{64}$'
ORDER BY n.project_id, n.hash, n.size DESC
ON CONFLICT ON CONSTRAINT project_blobs_pkey DO NOTHING;
UPDATE quota_usage u SET storage_bytes = s.bytes
FROM (SELECT a.id, sum(b.size)::bigint AS bytes
    FROM project_blobs b JOIN tenancy_nodes n ON n.id = b.project_id JOIN tenancy_nodes a ON a.id = ANY (n.path)
    GROUP BY a.id) s
WHERE u.node_id = s.id;

-- +goose Down
SELECT 1;
