-- The outbox: one row for each change of a task, a workflow or a limit, written by the
-- transaction of the change. Rows of events are those of executions; limits have a table of
-- their own, because no execution owns them. docs/events.md lists the kinds.
-- +goose Up
CREATE TABLE quota_events (
    id         uuid NOT NULL,
    at         timestamptz NOT NULL,
    node_id    uuid NOT NULL REFERENCES tenancy_nodes,
    tenant_id  uuid,
    project_id uuid,
    kind       text NOT NULL,
    data       jsonb NOT NULL,
    CONSTRAINT quota_events_pkey PRIMARY KEY (id),
    CONSTRAINT quota_events_kind_check CHECK (kind IN ('quota.updated'))
);
CREATE INDEX quota_events_node_idx ON quota_events (node_id, id);

CREATE VIEW outbox AS
SELECT e.execution_id::text || '.' || e.seq AS event_id,
    CASE WHEN e.node_index IS NULL THEN 'workflow' ELSE 'task' END AS channel,
    e.at, e.kind, x.tenant_id, x.project_id, e.execution_id, e.node_index, e.attempt, e.message, e.data
FROM events e JOIN executions x ON x.id = e.execution_id
UNION ALL
SELECT q.id::text, 'quota', q.at, q.kind, q.tenant_id, q.project_id, NULL, NULL, NULL, '', q.data
FROM quota_events q;

-- +goose Down
DROP VIEW outbox;
DROP TABLE quota_events;
