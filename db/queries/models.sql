-- name: ResolveModel :one
-- Returns the version of a model that a stage or an alias names; of staging the one that came last.
SELECT c.* FROM catalogue_entries c
LEFT JOIN model_stages s ON s.entry_id = c.id AND s.stage = @ref AND @ref::text IN ('production', 'staging')
LEFT JOIN model_aliases a ON a.entry_id = c.id AND a.alias = @ref AND a.name = @name AND a.project_id = @project_id
WHERE c.project_id = @project_id AND c.kind = 'Model' AND c.name = @name AND (s.entry_id IS NOT NULL OR a.entry_id IS NOT NULL)
ORDER BY (s.entry_id IS NOT NULL) DESC, s.changed_at DESC NULLS LAST
LIMIT 1;

-- name: ListModels :many
-- Returns models with their newest version and the one in production.
SELECT m.name, m.versions, m.newest, m.newest_at::timestamptz AS newest_at, coalesce(p.version, '')::text AS production, coalesce(o.open, 0)::bigint AS open_requests
FROM (
    SELECT c.name, count(*) AS versions, (array_agg(c.version ORDER BY c.id DESC))[1]::text AS newest, max(c.created_at) AS newest_at
    FROM catalogue_entries c
    WHERE c.project_id = @project_id AND c.kind = 'Model' AND c.name > @after AND (@query::text = '' OR c.name ILIKE '%' || @query || '%')
    GROUP BY c.name ORDER BY c.name LIMIT @row_limit) m
LEFT JOIN LATERAL (
    SELECT c.version FROM model_stages s JOIN catalogue_entries c ON c.id = s.entry_id
    WHERE s.project_id = @project_id AND s.name = m.name AND s.stage = 'production') p ON true
LEFT JOIN LATERAL (SELECT count(*) AS open FROM model_requests r WHERE r.project_id = @project_id AND r.name = m.name AND r.state = 'open') o ON true
ORDER BY m.name;

-- name: ModelVersions :many
SELECT sqlc.embed(c), coalesce(s.stage, '')::text AS stage, coalesce(s.changed_by, '')::text AS changed_by, s.changed_at
FROM catalogue_entries c LEFT JOIN model_stages s ON s.entry_id = c.id
WHERE c.project_id = @project_id AND c.kind = 'Model' AND c.name = @name AND c.id < @before
ORDER BY c.id DESC LIMIT @row_limit;

-- name: ModelVersion :one
SELECT sqlc.embed(c), coalesce(s.stage, '')::text AS stage, coalesce(s.changed_by, '')::text AS changed_by, s.changed_at
FROM catalogue_entries c LEFT JOIN model_stages s ON s.entry_id = c.id
WHERE c.id = @id AND c.project_id = @project_id;

-- name: ProductionVersion :one
SELECT entry_id FROM model_stages WHERE project_id = @project_id AND name = @name AND stage = 'production';

-- name: LockModel :exec
-- Serializes the changes of a model.
SELECT pg_advisory_xact_lock(hashtextextended('model ' || @model::text, 0));

-- name: StageOf :one
SELECT coalesce((SELECT s.stage FROM model_stages s WHERE s.entry_id = @entry_id), 'none')::text AS stage;

-- name: SetModelStage :exec
INSERT INTO model_stages (entry_id, project_id, name, stage, changed_by, changed_at)
VALUES (@entry_id, @project_id, @name, @stage, @changed_by, @changed_at)
ON CONFLICT ON CONSTRAINT model_stages_pkey DO UPDATE SET stage = excluded.stage, changed_by = excluded.changed_by, changed_at = excluded.changed_at;

-- name: UnsetModelStage :exec
DELETE FROM model_stages WHERE entry_id = @entry_id;

-- name: ModelAliases :many
SELECT a.alias, a.entry_id, c.version, a.set_by, a.set_at FROM model_aliases a JOIN catalogue_entries c ON c.id = a.entry_id
WHERE a.project_id = @project_id AND a.name = @name ORDER BY a.alias;

-- name: SetModelAlias :exec
INSERT INTO model_aliases (project_id, name, alias, entry_id, set_by, set_at)
VALUES (@project_id, @name, @alias, @entry_id, @set_by, @set_at)
ON CONFLICT ON CONSTRAINT model_aliases_pkey DO UPDATE SET entry_id = excluded.entry_id, set_by = excluded.set_by, set_at = excluded.set_at;

-- name: UnsetModelAlias :one
DELETE FROM model_aliases WHERE project_id = @project_id AND name = @name AND alias = @alias RETURNING entry_id;

-- name: InsertModelRequest :exec
INSERT INTO model_requests (id, entry_id, project_id, name, stage, reason, proposed, checks, requested_by, requested_by_name, requested_at)
VALUES (@id, @entry_id, @project_id, @name, @stage, @reason, @proposed, @checks, @requested_by, @requested_by_name, @requested_at);

-- name: ModelRequests :many
-- Returns the open requests of a model, newest first.
SELECT r.*, c.version FROM model_requests r JOIN catalogue_entries c ON c.id = r.entry_id
WHERE r.project_id = @project_id AND r.name = @name AND r.state = 'open' ORDER BY r.id DESC LIMIT 100;

-- name: OpenModelRequests :many
-- Returns the open requests of a project, the oldest first.
SELECT r.*, c.version FROM model_requests r JOIN catalogue_entries c ON c.id = r.entry_id
WHERE r.project_id = @project_id AND r.state = 'open' ORDER BY r.id LIMIT @max_rows;

-- name: GetModelRequest :one
SELECT r.*, c.version FROM model_requests r JOIN catalogue_entries c ON c.id = r.entry_id WHERE r.id = @id;

-- name: DecideModelRequest :execrows
UPDATE model_requests SET state = @state, decided_by_name = @decided_by_name, decided_at = @decided_at::timestamptz, decision = @decision
WHERE id = @id AND state = 'open';

-- name: CloseModelRequests :exec
-- Withdraws the open requests of a version that has moved.
UPDATE model_requests SET state = 'withdrawn', decided_by_name = @decided_by_name, decided_at = @decided_at::timestamptz, decision = 'The version moved meanwhile.'
WHERE entry_id = @entry_id AND state = 'open';

-- name: InsertModelHistory :exec
INSERT INTO model_history (id, project_id, name, entry_id, version, action, detail, reason, by_name, at, stage)
VALUES (@id, @project_id, @name, @entry_id, @version, @action, @detail, @reason, @by_name, @at, sqlc.narg('stage'));

-- name: ModelHistory :many
SELECT * FROM model_history WHERE project_id = @project_id AND name = @name ORDER BY id DESC LIMIT @row_limit;

-- name: ModelPolicies :many
-- Returns the policy of a project and that of a model.
SELECT * FROM model_policies WHERE project_id = @project_id AND name IN ('', @name);

-- name: SetModelPolicy :exec
INSERT INTO model_policies (project_id, name, approval, propose, rules, updated_by, updated_at)
VALUES (@project_id, @name, @approval, @propose, @rules, @updated_by, @updated_at)
ON CONFLICT ON CONSTRAINT model_policies_pkey DO UPDATE SET approval = excluded.approval, propose = excluded.propose, rules = excluded.rules,
    updated_by = excluded.updated_by, updated_at = excluded.updated_at;
