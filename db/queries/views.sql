-- name: ListViews :many
-- Returns the views of a project that a user may use: their own and the shared ones.
SELECT * FROM execution_views
WHERE project_id = @project_id AND (sharing = 'project' OR owner_id = @user_id)
ORDER BY lower(name), id;

-- name: DefaultView :one
SELECT id FROM execution_views WHERE project_id = @project_id AND is_default;

-- name: LockView :one
SELECT * FROM execution_views WHERE id = @id FOR UPDATE;

-- name: LockViewsOfProject :exec
-- Makes others who save views in the project wait.
SELECT pg_advisory_xact_lock(hashtextextended('execution_views ' || @project_id::text, 0));

-- name: CountViews :one
SELECT count(*) FROM execution_views WHERE project_id = @project_id AND owner_id = @owner_id;

-- name: InsertView :exec
INSERT INTO execution_views (id, project_id, name, sharing, query, sort, columns, group_by, owner_id, owner_name, created_at, updated_at, updated_by)
VALUES (@id, @project_id, @name, @sharing, @query, @sort, @columns, @group_by, @owner_id, @owner_name, @now, @now, @owner_name);

-- name: UpdateView :exec
-- updated_at is different after every change, because changes name the one that they are based on.
UPDATE execution_views SET name = @name, sharing = @sharing, query = @query, sort = @sort, columns = @columns, group_by = @group_by, is_default = @is_default,
    updated_at = greatest(@now::timestamptz, updated_at + interval '1 microsecond'), updated_by = @actor
WHERE id = @id;

-- name: UnsetDefaultView :exec
UPDATE execution_views SET is_default = false WHERE project_id = @project_id AND is_default;

-- name: DeleteView :exec
DELETE FROM execution_views WHERE id = @id;

-- name: ViewPlace :one
SELECT v.project_id, n.tenant_id FROM execution_views v JOIN tenancy_nodes n ON n.id = v.project_id WHERE v.id = @id;
