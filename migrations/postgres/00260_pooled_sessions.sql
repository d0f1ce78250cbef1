-- Behind a connection pooler, the next transaction of any server can have a session that carries the
-- name of a frozen one, so end_sessions ends such a session only during a transaction. Without one,
-- it has no locks.
-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION end_sessions(holder text) RETURNS integer LANGUAGE sql AS $$
    SELECT count(pg_terminate_backend(a.pid, 1000))::integer
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
        AND (a.application_name = 'flowforge/' || holder
            OR a.application_name = 'flowforge/' || holder || '/pooled' AND a.xact_start IS NOT NULL);
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION end_sessions(holder text) RETURNS integer LANGUAGE sql AS $$
    SELECT count(pg_terminate_backend(a.pid, 1000))::integer
    FROM pg_stat_activity a
    WHERE a.application_name = 'flowforge/' || holder AND a.datname = current_database() AND a.pid <> pg_backend_pid();
$$;
-- +goose StatementEnd
