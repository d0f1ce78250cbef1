-- A frozen server keeps the locks of its transactions until its sessions end. The next holder
-- of its lease ends them: the application name of a session contains the holder. end_sessions
-- returns when the sessions have ended, so that none of their locks remains.
-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION end_sessions(holder text) RETURNS integer LANGUAGE sql AS $$
    SELECT count(pg_terminate_backend(a.pid, 1000))::integer
    FROM pg_stat_activity a
    WHERE a.application_name = 'flowforge/' || holder AND a.datname = current_database() AND a.pid <> pg_backend_pid();
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION end_sessions(text);
