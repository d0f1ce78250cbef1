-- The audit log: every change by a person or program, written in the transaction of the change.
-- old_value and new_value contain the change and never a secret. It is
-- range-partitioned by month on its UUIDv7 like executions, and never updated.
-- +goose Up
CREATE TABLE audit_log (
    id          uuid NOT NULL,
    at          timestamptz NOT NULL,
    tenant_id   uuid,
    project_id  uuid,
    actor_id    uuid,
    actor_kind  text NOT NULL,
    actor       text NOT NULL,
    credential  text NOT NULL DEFAULT '',
    address     text NOT NULL DEFAULT '',
    request_id  text NOT NULL DEFAULT '',
    action      text NOT NULL,
    object_kind text NOT NULL,
    object_id   text NOT NULL,
    object_name text NOT NULL DEFAULT '',
    old_value   jsonb,
    new_value   jsonb,
    reason      text NOT NULL DEFAULT '',
    CONSTRAINT audit_log_pkey PRIMARY KEY (id),
    CONSTRAINT audit_log_action_check CHECK (action <> '' AND object_kind <> '')
) PARTITION BY RANGE (id);
CREATE INDEX audit_log_tenant_idx ON audit_log (tenant_id, id DESC);
CREATE INDEX audit_log_actor_idx ON audit_log (actor_id, id DESC);
CREATE INDEX audit_log_object_idx ON audit_log (object_kind, object_id, id DESC);
SELECT ensure_partitions(now(), 2);

-- +goose Down
DROP TABLE audit_log;
