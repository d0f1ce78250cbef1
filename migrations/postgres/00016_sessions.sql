-- A frozen server keeps the locks of its transactions for as long as its sessions
-- live. Whoever follows it as the holder of a lease ends them: every session of a
-- server names its holder. The answer comes when they are gone, so that no lock
-- of theirs is left.
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
