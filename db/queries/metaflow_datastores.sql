-- name: MetaflowDatastore :one
SELECT * FROM metaflow_datastores WHERE project_id = @project_id;

-- name: LockMetaflowDatastore :one
SELECT * FROM metaflow_datastores WHERE project_id = @project_id FOR UPDATE;

-- name: SetMetaflowDatastore :exec
INSERT INTO metaflow_datastores (project_id, kind, root, endpoint, region, access_key_secret, secret_key_secret, session_token_secret, updated_at, updated_by)
VALUES (@project_id, @kind, @root, @endpoint, @region, @access_key_secret, @secret_key_secret, @session_token_secret, @now, @actor)
ON CONFLICT (project_id) DO UPDATE SET kind = excluded.kind, root = excluded.root, endpoint = excluded.endpoint, region = excluded.region,
    access_key_secret = excluded.access_key_secret, secret_key_secret = excluded.secret_key_secret, session_token_secret = excluded.session_token_secret,
    updated_at = excluded.updated_at, updated_by = excluded.updated_by;
