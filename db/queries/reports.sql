-- name: ListReports :many
-- Returns reports whose title or text contains a pattern of LIKE, most recently changed first.
SELECT r.id, r.title, r.revision, r.owner_name, r.created_at, r.updated_at, r.updated_by
FROM project_reports r JOIN report_revisions v ON v.report_id = r.id AND v.revision = r.revision
WHERE r.project_id = @project_id
  AND (@pattern::text = '' OR r.title ILIKE @pattern OR v.body ILIKE @pattern)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (r.updated_at, r.id) < (sqlc.narg('after_at')::timestamptz, @after_id::uuid))
ORDER BY r.updated_at DESC, r.id DESC
LIMIT @count::integer;

-- name: FindReport :one
-- A report by its ID, in any project.
SELECT sqlc.embed(r), v.body FROM project_reports r JOIN report_revisions v ON v.report_id = r.id AND v.revision = r.revision WHERE r.id = @id;

-- name: ReportByTitle :one
SELECT id FROM project_reports WHERE project_id = @project_id AND lower(title) = lower(@title);

-- name: LockReport :one
-- Locks a report alone: a join with the revision would lose the row when another change was first.
SELECT * FROM project_reports WHERE id = @id FOR UPDATE;

-- name: LockReportsOfProject :exec
-- Makes others who create reports in the project wait.
SELECT pg_advisory_xact_lock(hashtextextended('reports ' || @project_id::text, 0));

-- name: CountReports :one
SELECT count(*) FROM project_reports WHERE project_id = @project_id;

-- name: InsertReport :exec
INSERT INTO project_reports (id, project_id, title, revision, owner_id, owner_name, created_at, updated_at, updated_by)
VALUES (@id, @project_id, @title, 1, @owner_id, @owner_name, @now, @now, @owner_name);

-- name: InsertReportRevision :exec
INSERT INTO report_revisions (report_id, revision, title, body, note, restored_from, author_id, author_name, created_at)
VALUES (@report_id, @revision, @title, @body, @note, sqlc.narg('restored_from'), @author_id, @author_name, @now);

-- name: UpdateReport :exec
UPDATE project_reports SET title = @title, revision = @revision, updated_at = @now, updated_by = @actor WHERE id = @id;

-- name: RemoveReport :exec
DELETE FROM project_reports WHERE id = @id;

-- name: ListReportRevisions :many
-- Returns the revisions of a report without their texts, newest first.
SELECT revision, title, note, restored_from, author_name, created_at, octet_length(body)::integer AS size
FROM report_revisions
WHERE report_id = @report_id AND (@before::integer = 0 OR revision < @before::integer)
ORDER BY revision DESC
LIMIT @count::integer;

-- name: FindReportRevision :one
SELECT * FROM report_revisions WHERE report_id = @report_id AND revision = @revision;

-- name: ReportPlace :one
SELECT r.project_id, n.tenant_id FROM project_reports r JOIN tenancy_nodes n ON n.id = r.project_id WHERE r.id = @id;
