-- name: EnsureWorkflow :one
-- Returns the workflow with this name, creates it if it is missing, and locks its row until the
-- transaction ends. This serializes the registration of versions of a workflow.
INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at)
VALUES (@id, @project_id, @name, @owner_team, @at, @at)
ON CONFLICT ON CONSTRAINT workflows_name_key DO UPDATE SET name = excluded.name
RETURNING *;

-- name: WorkflowByID :one
SELECT * FROM workflows WHERE id = @id;

-- name: WorkflowByName :one
SELECT * FROM workflows WHERE name = @name AND project_id = @project_id;

-- name: WorkflowVersionHead :one
-- Returns the values that registration compares: ID and content hash, without the document.
SELECT id, content_hash FROM workflow_versions
WHERE workflow_id = @workflow_id AND version = @version;

-- name: InsertWorkflowVersion :exec
INSERT INTO workflow_versions (id, workflow_id, version, major, minor, patch, prerelease,
    definition, plan, content_hash, node_count, created_by, created_at)
VALUES (@id, @workflow_id, @version, @major, @minor, @patch, @prerelease,
    @definition, @plan, @content_hash, @node_count, @created_by, @created_at);

-- name: SetLatestWorkflowVersion :exec
-- Copies the properties of the latest version to the workflow.
UPDATE workflows SET latest_version_id = @version_id, owner_team = @owner_team,
    description = @description, tags = @tags, updated_at = @at
WHERE id = @id;

-- name: TouchWorkflow :exec
UPDATE workflows SET updated_at = @at WHERE id = @id;

-- name: SetWorkflowStatus :execrows
UPDATE workflows SET status = @status, updated_at = @at WHERE id = @id;

-- name: WorkflowVersionNumber :one
SELECT version FROM workflow_versions WHERE id = @id;

-- name: WorkflowVersions :many
SELECT v.id, v.version, v.content_hash, v.node_count, v.created_by, v.created_at, v.development, coalesce(u.name, '')::text AS created_by_name
FROM workflow_versions v LEFT JOIN users u ON u.id = v.created_by
WHERE v.workflow_id = @workflow_id;

-- name: WorkflowVersionNotes :many
-- Returns what the SDK recorded about the origin of these versions.
SELECT v.id, coalesce(v.definition #> '{metadata,python,change}', 'null')::jsonb AS change,
    coalesce(v.definition #> '{metadata,git}', 'null')::jsonb AS git
FROM workflow_versions v
WHERE v.workflow_id = @workflow_id AND v.id = ANY (@ids::uuid[]);

-- name: WorkflowVersion :one
SELECT v.id, v.workflow_id, v.version, v.definition, v.plan, v.content_hash, v.created_by, v.created_at,
    w.name, w.project_id, coalesce(u.name, '')::text AS created_by_name
FROM workflow_versions v JOIN workflows w ON w.id = v.workflow_id LEFT JOIN users u ON u.id = v.created_by
WHERE v.workflow_id = @workflow_id AND v.version = @version;

-- name: WorkflowVersionsByID :many
SELECT v.id, v.workflow_id, v.version, v.definition, v.plan, v.content_hash, v.created_by, v.created_at,
    w.name, w.project_id, p.tenant_id::uuid AS tenant_id, coalesce(u.name, '')::text AS created_by_name
FROM workflow_versions v JOIN workflows w ON w.id = v.workflow_id JOIN tenancy_nodes p ON p.id = w.project_id
    LEFT JOIN users u ON u.id = v.created_by
WHERE v.id = ANY (@ids::uuid[]);

-- name: ListWorkflows :many
-- Returns workflows by name; after_name is the last name of the previous page. The pattern is
-- a lower-case LIKE pattern for name, description, team and tags. Workflows that have only
-- development versions are returned if development is true.
SELECT w.*, coalesce(v.version, '')::text AS latest_version, coalesce(v.node_count, 0)::int AS node_count,
    (SELECT count(*) FROM workflow_versions c WHERE c.workflow_id = w.id)::int AS version_count
FROM workflows w LEFT JOIN workflow_versions v ON v.id = w.latest_version_id
WHERE w.project_id = @project_id
  AND (@pattern::text = '' OR lower(w.name || ' ' || w.description || ' ' || w.owner_team || ' ' || array_to_string(w.tags, ' ')) LIKE @pattern)
  AND (@tag::text = '' OR w.tags @> ARRAY[@tag::text])
  AND (@team::text = '' OR w.owner_team = @team)
  AND (@status::text = '' OR w.status = @status)
  AND (@development::boolean OR NOT coalesce(v.development, false))
  AND w.name > @after_name
ORDER BY w.name
LIMIT @max_rows OFFSET @skipped;

-- name: CountWorkflows :one
SELECT count(*) FILTER (WHERE @development::boolean OR NOT coalesce(v.development, false))::int AS listed,
    count(*) FILTER (WHERE coalesce(v.development, false))::int AS in_development
FROM workflows w LEFT JOIN workflow_versions v ON v.id = w.latest_version_id
WHERE w.project_id = @project_id
  AND (@pattern::text = '' OR lower(w.name || ' ' || w.description || ' ' || w.owner_team || ' ' || array_to_string(w.tags, ' ')) LIKE @pattern)
  AND (@tag::text = '' OR w.tags @> ARRAY[@tag::text])
  AND (@team::text = '' OR w.owner_team = @team)
  AND (@status::text = '' OR w.status = @status);

-- name: WorkflowFacets :many
-- Returns the tags and teams of active workflows, with the number of uses.
SELECT 'tag'::text AS facet, tag::text AS value, count(*)::int AS uses
FROM workflows w, unnest(w.tags) AS tag WHERE w.project_id = @project_id AND w.status = 'ACTIVE' GROUP BY tag
UNION ALL
SELECT 'team', w.owner_team, count(*)::int
FROM workflows w WHERE w.project_id = @project_id AND w.status = 'ACTIVE' AND w.owner_team <> '' GROUP BY w.owner_team
ORDER BY facet, value;

-- name: SetDevelopmentVersion :exec
INSERT INTO development_versions (workflow_id, user_id, version_id, saved_at)
VALUES (@workflow_id, @user_id, @version_id, @saved_at)
ON CONFLICT ON CONSTRAINT development_versions_pkey DO UPDATE SET version_id = excluded.version_id, saved_at = excluded.saved_at;

-- name: DevelopmentVersion :one
SELECT v.version, d.saved_at FROM development_versions d JOIN workflow_versions v ON v.id = d.version_id
WHERE d.workflow_id = @workflow_id AND d.user_id = @user_id;

-- name: HoldWorkflowVersion :one
-- Prevents the removal of a version until the transaction ends. Returns no row if it was removed.
SELECT id FROM workflow_versions WHERE id = @id FOR KEY SHARE;

-- name: LockUnusedVersions :many
-- Locks development versions that were registered before a moment, that no execution uses, and
-- that were not saved as a user's version since then.
SELECT v.id FROM workflow_versions v
WHERE v.development AND v.created_at < @before
  AND NOT EXISTS (SELECT 1 FROM development_versions d WHERE d.version_id = v.id AND d.saved_at >= @before)
  AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.workflow_id = v.workflow_id AND e.version_id = v.id)
  AND v.id > @after
ORDER BY v.id LIMIT @row_limit
FOR UPDATE SKIP LOCKED;

-- name: DeleteUnusedVersions :execrows
-- Deletes locked versions that are still unused, except the latest of a workflow.
DELETE FROM workflow_versions v
WHERE v.id = ANY (@ids::uuid[])
  AND NOT EXISTS (SELECT 1 FROM development_versions d WHERE d.version_id = v.id AND d.saved_at >= @before)
  AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.workflow_id = v.workflow_id AND e.version_id = v.id)
  AND NOT EXISTS (SELECT 1 FROM input_sweeps s WHERE s.version_id = v.id AND s.ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM workflows w WHERE w.latest_version_id = v.id);

-- name: DeleteUnusedWorkflows :execrows
-- Deletes workflows whose only version is one of the locked and unused versions.
DELETE FROM workflows w
WHERE w.latest_version_id = ANY (@ids::uuid[])
  AND (SELECT count(*) FROM workflow_versions v WHERE v.workflow_id = w.id) = 1
  AND NOT EXISTS (SELECT 1 FROM development_versions d WHERE d.workflow_id = w.id AND d.saved_at >= @before)
  AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.workflow_id = w.id)
  AND NOT EXISTS (SELECT 1 FROM input_sweeps s WHERE s.workflow_id = w.id AND s.ended_at IS NULL);
