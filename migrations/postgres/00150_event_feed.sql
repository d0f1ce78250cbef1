-- The feed of events. The transaction of a change writes only its own row. A relay copies new rows to
-- event_feed and numbers them, so that a cursor is one number that never skips a row
-- (docs/decisions/038-event-feed.md). tx is the transaction that wrote a row; it is NULL for rows
-- from before this migration, which the feed leaves out.
-- +goose Up
ALTER TABLE events ADD COLUMN tx xid8;
ALTER TABLE events ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
CREATE INDEX events_tx_idx ON events (tx) WHERE tx IS NOT NULL;
ALTER TABLE artifacts ADD COLUMN tx xid8;
ALTER TABLE artifacts ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
CREATE INDEX artifacts_tx_idx ON artifacts (tx) WHERE tx IS NOT NULL;
ALTER TABLE audit_log ADD COLUMN tx xid8;
ALTER TABLE audit_log ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
CREATE INDEX audit_log_tx_idx ON audit_log (tx) WHERE tx IS NOT NULL;
ALTER TABLE quota_events ADD COLUMN tx xid8;
ALTER TABLE quota_events ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
CREATE INDEX quota_events_tx_idx ON quota_events (tx) WHERE tx IS NOT NULL;
ALTER TABLE catalogue_entries ADD COLUMN tx xid8;
ALTER TABLE catalogue_entries ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
CREATE INDEX catalogue_entries_tx_idx ON catalogue_entries (tx) WHERE tx IS NOT NULL;
ALTER TABLE model_history ADD COLUMN tx xid8, ADD COLUMN stage text; -- stage: after a change of the stage
ALTER TABLE model_history ALTER COLUMN tx SET DEFAULT pg_current_xact_id();
CREATE INDEX model_history_tx_idx ON model_history (tx) WHERE tx IS NOT NULL;

-- Positions have no gaps. recorded_at increases with them.
CREATE TABLE event_feed (
    position     bigint NOT NULL,
    id           text NOT NULL, -- to recognize an event that is delivered again
    topic        text NOT NULL,
    type         text NOT NULL,
    at           timestamptz NOT NULL,
    recorded_at  timestamptz NOT NULL,
    tenant_id    uuid,
    project_id   uuid, -- NULL: above the projects
    execution_id uuid,
    subject      text NOT NULL,
    data         jsonb NOT NULL,
    CONSTRAINT event_feed_pkey PRIMARY KEY (position),
    CONSTRAINT event_feed_topic_check CHECK (topic IN ('workflow', 'task', 'quota', 'artifact', 'audit'))
);
CREATE INDEX event_feed_execution_idx ON event_feed (execution_id, position) WHERE execution_id IS NOT NULL;

-- One row. horizon is the snapshot of the last copy: rows that it did not see are new. system
-- identifies the database cluster, whose transaction numbers the horizon contains.
CREATE TABLE event_feed_state (
    one        boolean NOT NULL DEFAULT true,
    horizon    pg_snapshot NOT NULL,
    system     bigint NOT NULL,
    position   bigint NOT NULL, -- of the newest event
    removed    bigint NOT NULL, -- of the newest event that is no longer kept
    relayed_at timestamptz NOT NULL,
    CONSTRAINT event_feed_state_pkey PRIMARY KEY (one),
    CONSTRAINT event_feed_state_one_check CHECK (one)
);
INSERT INTO event_feed_state (horizon, system, position, removed, relayed_at)
SELECT pg_current_snapshot(), system_identifier, 0, 0, now() FROM pg_control_system();

-- What the feed contains of each table. ord is the order within an execution.
CREATE VIEW event_feed_sources AS
SELECT e.tx, e.execution_id::text || '.' || e.seq AS id,
    CASE WHEN e.node_index IS NULL THEN 'workflow' ELSE 'task' END AS topic, e.kind AS type, e.at,
    x.tenant_id, x.project_id, e.execution_id, e.seq AS ord, coalesce(n.name, x.workflow_name) AS subject,
    jsonb_strip_nulls(jsonb_build_object('workflow', x.workflow_name, 'version', x.version, 'node', n.name, 'attempt', e.attempt,
        'message', nullif(e.message, ''), 'details', e.data)) AS data
FROM events e JOIN executions x ON x.id = e.execution_id
LEFT JOIN nodes n ON n.execution_id = e.execution_id AND n.node_index = e.node_index
UNION ALL
SELECT a.tx, a.id::text, 'artifact', 'artifact.created', a.created_at, a.tenant_id, a.project_id, a.execution_id, 0, a.name,
    jsonb_build_object('id', a.id, 'name', a.name, 'workflow', a.workflow_name, 'node', a.node, 'attempt', a.attempt, 'type', a.type,
        'sha256', encode(a.sha256, 'hex'), 'size', a.size, 'media_type', a.media_type, 'filename', a.filename, 'metadata', a.metadata,
        'value', jsonb_build_object('$artifact', a.id))
FROM artifacts a
UNION ALL
SELECT c.tx, c.id::text, 'artifact',
    CASE c.kind WHEN 'Model' THEN 'model' WHEN 'FeatureSet' THEN 'feature_set' ELSE 'dataset' END || '.registered', c.created_at,
    p.tenant_id, c.project_id, a.execution_id, 0, c.name || '@' || c.version,
    jsonb_build_object('id', c.id, 'name', c.name, 'version', c.version, 'description', c.description, 'format', c.format,
        'framework', c.framework, 'tags', c.tags, 'facts', c.facts, 'artifact_id', c.artifact_id, 'created_by', c.created_by,
        'value', jsonb_build_object('$catalogue', c.name || '@' || c.version))
FROM catalogue_entries c LEFT JOIN tenancy_nodes p ON p.id = c.project_id LEFT JOIN artifacts a ON a.id = c.artifact_id
UNION ALL
SELECT h.tx, h.id::text, 'artifact', CASE WHEN h.stage IS NULL THEN 'model.' || h.action ELSE 'model.stage_changed' END, h.at,
    p.tenant_id, h.project_id, NULL, 0, h.name || '@' || h.version,
    jsonb_strip_nulls(jsonb_build_object('name', h.name, 'version', h.version, 'stage', h.stage, 'detail', nullif(h.detail, ''),
        'reason', nullif(h.reason, ''), 'changed_by', h.by_name, 'value', jsonb_build_object('$catalogue', h.name || '@' || h.version)))
FROM model_history h LEFT JOIN tenancy_nodes p ON p.id = h.project_id
WHERE h.action <> 'registered'
UNION ALL
SELECT q.tx, q.id::text, 'quota', q.kind, q.at, q.tenant_id, q.project_id, NULL, 0, coalesce(q.data ->> 'name', ''), q.data
FROM quota_events q
UNION ALL
SELECT l.tx, l.id::text, 'audit', 'audit.' || l.action, l.at, l.tenant_id, l.project_id, NULL, 0, l.object_kind || '/' || l.object_id,
    jsonb_strip_nulls(jsonb_build_object('action', l.action, 'object_kind', l.object_kind, 'object_id', l.object_id,
        'object_name', l.object_name, 'actor', l.actor, 'actor_id', l.actor_id, 'actor_kind', l.actor_kind,
        'reason', nullif(l.reason, ''))) || jsonb_build_object('old', l.old_value, 'new', l.new_value)
FROM audit_log l;

-- relay_events copies the rows that became visible since the horizon, moves the horizon, and returns
-- how many it copied. Positions follow the time, and the number of an event within its execution. The
-- numbers of an execution are given under the lock of its row, so that no lower one becomes visible
-- later. A restored database is in another cluster, where transaction numbers start again at a low
-- number: rows since the last copy are new there, and the numbers from the former cluster are removed.
-- +goose StatementBegin
CREATE FUNCTION relay_events(moment timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    state   event_feed_state;
    cluster bigint := (SELECT system_identifier FROM pg_control_system());
    fresh   text := 'NOT pg_visible_in_snapshot(s.tx, %1$L) AND s.tx >= pg_snapshot_xmin(%1$L)';
    copied  bigint;
    source  text;
    sources text[] := ARRAY['events', 'artifacts', 'audit_log', 'quota_events', 'catalogue_entries', 'model_history'];
BEGIN
    SELECT * INTO state FROM event_feed_state FOR UPDATE;
    IF state.system <> cluster THEN
        FOREACH source IN ARRAY sources LOOP
            EXECUTE format('LOCK TABLE %I IN SHARE ROW EXCLUSIVE MODE', source);
        END LOOP;
        fresh := '(' || fresh || ' OR s.tx IS NOT NULL AND s.at > %2$L)';
    ELSE
        PERFORM set_config('enable_seqscan', 'off', true); -- the new rows are few, whatever the statistics say
    END IF;
    -- The text contains the horizon, so that the plan knows how few rows are new.
    EXECUTE format('
        WITH seen AS MATERIALIZED (SELECT pg_current_snapshot() AS snapshot), fresh AS MATERIALIZED (
            SELECT s.*, max(s.at) OVER (PARTITION BY s.topic IN (''workflow'', ''task''), s.execution_id ORDER BY s.ord) AS turn
            FROM event_feed_sources s WHERE ' || fresh || '
        ), copied AS (
            INSERT INTO event_feed (position, id, topic, type, at, recorded_at, tenant_id, project_id, execution_id, subject, data)
            SELECT %3$s + row_number() OVER (ORDER BY f.turn, f.execution_id, f.ord, f.id), f.id, f.topic, f.type, f.at, %4$L,
                f.tenant_id, f.project_id, f.execution_id, f.subject, f.data
            FROM fresh f
            RETURNING 1
        ), counted AS (
            SELECT count(*) AS n FROM copied
        ), moved AS (
            UPDATE event_feed_state e SET horizon = seen.snapshot, position = e.position + counted.n, relayed_at = %4$L, system = %5$s
            FROM counted, seen WHERE counted.n > 0 OR e.system <> %5$s
        )
        SELECT n FROM counted', state.horizon, state.relayed_at, state.position, moment, cluster) INTO copied;
    IF state.system <> cluster THEN
        FOREACH source IN ARRAY sources LOOP
            EXECUTE format('UPDATE %I SET tx = NULL WHERE tx IS NOT NULL', source);
        END LOOP;
    END IF;
    RETURN copied;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION relay_events(timestamptz);
DROP VIEW event_feed_sources;
DROP TABLE event_feed_state, event_feed;
ALTER TABLE model_history DROP COLUMN tx, DROP COLUMN stage;
ALTER TABLE catalogue_entries DROP COLUMN tx;
ALTER TABLE quota_events DROP COLUMN tx;
ALTER TABLE audit_log DROP COLUMN tx;
ALTER TABLE artifacts DROP COLUMN tx;
ALTER TABLE events DROP COLUMN tx;
