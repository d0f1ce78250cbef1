-- Retention of ended executions, and garbage collection of executions and of unreferenced bytes
-- (docs/decisions/012-garbage.md).
-- +goose Up
-- expires_at is set by the retention of the definition; without it, the retention of the
-- installation applies. kept_at is set when a user pins the execution. After removal_began_at,
-- the execution cannot be pinned.
ALTER TABLE executions
    ADD COLUMN expires_at       timestamptz,
    ADD COLUMN kept_at          timestamptz,
    ADD COLUMN kept_by          text NOT NULL DEFAULT '',
    ADD COLUMN removal_began_at timestamptz,
    ADD CONSTRAINT executions_expiry_check CHECK (expires_at IS NULL OR finished_at IS NOT NULL),
    ADD CONSTRAINT executions_removal_check CHECK (removal_began_at IS NULL OR (finished_at IS NOT NULL AND kept_at IS NULL));
CREATE INDEX executions_expiry_idx ON executions (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX cached_results_execution_idx ON cached_results (execution_id);
CREATE INDEX execution_idempotency_keys_execution_idx ON execution_idempotency_keys (execution_id);
CREATE INDEX executions_removal_idx ON executions (id) WHERE removal_began_at IS NOT NULL;

-- used_at is the latest upload or lookup of the bytes in the project. After a recent lookup, a
-- client is probably about to store a reference to them.
ALTER TABLE project_blobs ADD COLUMN used_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX project_blobs_sha256_idx ON project_blobs (sha256);

-- Every blob of the store has a row. Transactions that delete the bytes, or depend on them, lock
-- it. folder: whether the bytes are the manifest of a folder; NULL: not checked yet.
ALTER TABLE blobs
    ADD COLUMN claimed_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN folder     boolean;
INSERT INTO blobs (sha256, size, media_type, created_at)
SELECT DISTINCT ON (sha256) sha256, size, '', created_at FROM project_blobs ORDER BY sha256, created_at
ON CONFLICT ON CONSTRAINT blobs_pkey DO NOTHING;

-- The files in folders, by folder manifest.
CREATE TABLE folder_files (
    manifest bytea NOT NULL,
    file     bytea NOT NULL,
    CONSTRAINT folder_files_pkey PRIMARY KEY (manifest, file)
);

-- The artifacts of other executions that an execution uses.
CREATE TABLE artifact_uses (
    artifact_id  uuid NOT NULL,
    execution_id uuid NOT NULL,
    CONSTRAINT artifact_uses_pkey PRIMARY KEY (artifact_id, execution_id)
);
CREATE INDEX artifact_uses_execution_idx ON artifact_uses (execution_id);
INSERT INTO artifact_uses (artifact_id, execution_id)
SELECT DISTINCT a.id, e.id
FROM executions e, regexp_matches(e.inputs::text, '"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"', 'g') AS m(ids)
JOIN artifacts a ON a.id = m.ids[1]::uuid
WHERE a.execution_id <> e.id AND a.project_id = e.project_id;

-- The results of the latest sweeps.
CREATE TABLE sweeps (
    id             uuid NOT NULL,
    began_at       timestamptz NOT NULL,
    ended_at       timestamptz,
    dry_run        boolean NOT NULL,
    executions     bigint NOT NULL DEFAULT 0,
    artifacts      bigint NOT NULL DEFAULT 0,
    project_blobs  bigint NOT NULL DEFAULT 0,
    project_bytes  bigint NOT NULL DEFAULT 0,
    blobs          bigint NOT NULL DEFAULT 0,
    bytes          bigint NOT NULL DEFAULT 0,
    partitions     bigint NOT NULL DEFAULT 0,
    strays_seen_at timestamptz,
    error          text NOT NULL DEFAULT '',
    CONSTRAINT sweeps_pkey PRIMARY KEY (id)
);

-- mark_blobs inserts the blobs that a project refers to into the temporary table gc_marks. It
-- reads every column whose name contains sha256, and every sequence of 64 hex digits in JSON
-- documents, of all tables except those listed here. A new table is therefore included
-- automatically. A value that only looks like a hash matches no blob and has no effect.
-- maybe_folder: the blob may be a folder manifest. References from executions that will have
-- expired at ahead do not count; with NULL, all references count.
-- +goose StatementBegin
CREATE FUNCTION mark_blobs(project uuid, ahead timestamptz, after_success double precision, after_failure double precision)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    rel       record;
    link      text;
    texts     text;
    execution text;
BEGIN
    CREATE TEMPORARY TABLE IF NOT EXISTS gc_marks (sha256 bytea PRIMARY KEY, maybe_folder boolean NOT NULL);
    TRUNCATE gc_marks;
    FOR rel IN
        SELECT c.oid, c.relname,
            array_agg(a.attname::text) FILTER (WHERE a.attname IN ('project_id', 'execution_id', 'workflow_id')) AS links,
            bool_or(a.attname = 'project_id' AND NOT a.attnotnull) AS anywhere,
            array_agg(format('t.%I', a.attname)) FILTER (WHERE a.atttypid = 'bytea'::regtype AND a.attname LIKE '%sha256%') AS hashes,
            array_agg(format('t.%I::text', a.attname)) FILTER (WHERE (a.atttypid = 'jsonb'::regtype
                    OR a.atttypid = 'text'::regtype AND a.attname IN ('definition', 'document', 'source', 'spec'))
                AND NOT (c.relname IN ('nodes', 'executions') AND a.attname IN ('reason', 'error'))) AS documents
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND c.relname NOT IN ('project_blobs', 'blobs', 'folder_files', 'audit_log', 'events', 'cluster_snapshots', 'cluster_capacity')
            AND c.relname NOT LIKE 'river%' AND c.relname NOT LIKE 'quota%'
        GROUP BY c.oid, c.relname
    LOOP
        CONTINUE WHEN rel.hashes IS NULL AND rel.documents IS NULL;
        execution := CASE WHEN rel.relname = 'executions' THEN 't.id' WHEN 'execution_id' = ANY (rel.links) THEN 't.execution_id' END;
        link := CASE
            WHEN rel.anywhere THEN '(t.project_id = $1 OR t.project_id IS NULL)'
            WHEN 'project_id' = ANY (rel.links) THEN 't.project_id = $1'
            WHEN execution IS NOT NULL THEN 'EXISTS (SELECT 1 FROM executions e WHERE e.id = t.execution_id AND e.project_id = $1)'
            WHEN 'workflow_id' = ANY (rel.links) THEN 'EXISTS (SELECT 1 FROM workflows w WHERE w.id = t.workflow_id AND w.project_id = $1)'
            ELSE 'true' END;
        IF ahead IS NOT NULL AND execution IS NOT NULL THEN
            link := link || format(' AND NOT EXISTS (SELECT 1 FROM executions x WHERE x.id = %s AND expired(x, $2, $3, $4))', execution);
        END IF;
        IF ahead IS NOT NULL AND rel.relname = 'artifacts' THEN
            link := '(' || link || ' OR t.project_id = $1 AND EXISTS (SELECT 1 FROM artifact_uses u JOIN executions y ON y.id = u.execution_id
                WHERE u.artifact_id = t.id AND NOT expired(y, $2, $3, $4)))';
        END IF;
        FOREACH texts IN ARRAY coalesce(rel.hashes, '{}') LOOP
            EXECUTE format('INSERT INTO gc_marks SELECT h.sha256, bool_or(h.maybe) FROM (SELECT %s AS sha256, %s AS maybe FROM %I t WHERE %s) h
                WHERE h.sha256 IS NOT NULL GROUP BY h.sha256
                ON CONFLICT (sha256) DO UPDATE SET maybe_folder = gc_marks.maybe_folder OR excluded.maybe_folder',
                texts, CASE WHEN rel.relname = 'artifacts' THEN 't.media_type LIKE ''%directory+json''' ELSE 'true' END, rel.relname, link)
                USING project, ahead, after_success, after_failure;
        END LOOP;
        IF rel.documents IS NOT NULL THEN
            EXECUTE format('INSERT INTO gc_marks SELECT DISTINCT decode(m.found[1], ''hex''), true FROM %I t,
                    regexp_matches(concat_ws('' '', %s), ''[0-9a-f]{64}'', ''g'') AS m(found) WHERE %s
                ON CONFLICT (sha256) DO UPDATE SET maybe_folder = true', rel.relname, array_to_string(rel.documents, ', '), link)
                USING project, ahead, after_success, after_failure;
        END IF;
    END LOOP;
END
$$;

-- expired reports whether the retention of an ended execution has passed at moment.
-- after_success and after_failure are the seconds of the installation; NULL: forever.
CREATE FUNCTION expired(e executions, moment timestamptz, after_success double precision, after_failure double precision)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT e.finished_at IS NOT NULL AND e.kept_at IS NULL AND coalesce(coalesce(e.expires_at, e.finished_at
        + make_interval(secs => CASE WHEN e.status = 'SUCCEEDED' THEN after_success ELSE after_failure END)) <= moment, false)
$$;

-- mark_folder_files marks the files in marked folders.
CREATE FUNCTION mark_folder_files() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO gc_marks SELECT DISTINCT f.file, false FROM gc_marks m JOIN folder_files f ON f.manifest = m.sha256 WHERE m.maybe_folder
    ON CONFLICT (sha256) DO NOTHING;
    ANALYZE gc_marks;
END
$$;

-- unread_folders are marked blobs of a project that have not been checked for folder manifests.
CREATE FUNCTION unread_folders(project uuid, max_rows integer) RETURNS TABLE (hash bytea) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT m.sha256 FROM gc_marks m JOIN project_blobs p ON p.sha256 = m.sha256 AND p.project_id = project
        JOIN blobs b ON b.sha256 = m.sha256 WHERE m.maybe_folder AND b.folder IS NULL LIMIT max_rows;
END
$$;

-- unmarked_blobs are unreferenced blobs of a project without an upload or lookup since before.
CREATE FUNCTION unmarked_blobs(project uuid, before timestamptz, after bytea, max_rows integer)
RETURNS TABLE (hash bytea, bytes bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT p.sha256, p.size FROM project_blobs p
        WHERE p.project_id = project AND p.used_at < before AND p.sha256 > after
            AND NOT EXISTS (SELECT 1 FROM gc_marks m WHERE m.sha256 = p.sha256)
        ORDER BY p.sha256 LIMIT max_rows;
END
$$;

-- untold reports whether the completion event of an execution has not been delivered yet.
CREATE FUNCTION untold(execution uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM river_job j WHERE j.kind = 'finished' AND j.state NOT IN ('completed', 'cancelled', 'discarded')
        AND j.args @> jsonb_build_object('execution_id', execution));
END
$$;

-- drop_empty_partitions drops the empty partitions of months that ended before moment. It drops
-- the partitions of executions and of the tables that refer to them together, because an
-- execution of that month can still write to any of them. If a table is in use, it skips the
-- month after two seconds.
CREATE FUNCTION drop_empty_partitions(moment timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    month   record;
    child   text;
    filled  boolean;
    dropped integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(7166661001);
    SET LOCAL lock_timeout = '2s';
    FOR month IN
        SELECT right(c.relname, 8) AS suffix, p.relname IN ('artifacts') AS alone, array_agg(c.relname::text ORDER BY c.relname) AS children
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
        WHERE p.relnamespace = current_schema()::regnamespace AND p.relkind = 'p' AND c.relname ~ '_y[0-9]{4}m[0-9]{2}$'
            AND (p.relname IN ('executions', 'artifacts') OR EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = p.oid AND a.attname = 'execution_id'))
            AND to_date(right(c.relname, 7), 'YYYY"m"MM') + interval '1 month' <= moment AT TIME ZONE 'UTC'
        GROUP BY 1, 2
    LOOP
        filled := false;
        BEGIN
            FOREACH child IN ARRAY month.children LOOP
                EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', child);
                EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', child) INTO filled;
                EXIT WHEN filled;
            END LOOP;
            CONTINUE WHEN filled;
            FOREACH child IN ARRAY month.children LOOP
                EXECUTE format('DROP TABLE %I', child);
                dropped := dropped + 1;
            END LOOP;
        EXCEPTION WHEN lock_not_available THEN
            NULL; -- The next sweep tries again.
        END;
    END LOOP;
    RETURN dropped;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION drop_empty_partitions(timestamptz);
DROP FUNCTION untold(uuid);
DROP FUNCTION unmarked_blobs(uuid, timestamptz, bytea, integer);
DROP FUNCTION unread_folders(uuid, integer);
DROP FUNCTION mark_folder_files();
DROP FUNCTION mark_blobs(uuid, timestamptz, double precision, double precision);
DROP FUNCTION expired(executions, timestamptz, double precision, double precision);
DROP TABLE sweeps, artifact_uses, folder_files;
ALTER TABLE blobs DROP COLUMN folder, DROP COLUMN claimed_at;
DROP INDEX project_blobs_sha256_idx;
ALTER TABLE project_blobs DROP COLUMN used_at;
ALTER TABLE executions DROP CONSTRAINT executions_removal_check, DROP CONSTRAINT executions_expiry_check,
    DROP COLUMN removal_began_at, DROP COLUMN kept_by, DROP COLUMN kept_at, DROP COLUMN expires_at;
DROP INDEX execution_idempotency_keys_execution_idx, cached_results_execution_idx;
