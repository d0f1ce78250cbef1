-- Triggers: a trigger launches a workflow when an execution of another workflow ends, or when a
-- signed webhook arrives. A delivery is one event that reached a trigger, with its outcome.
-- +goose Up
CREATE TABLE triggers (
    id            uuid PRIMARY KEY,
    tenant_id     uuid NOT NULL,
    project_id    uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    name          text NOT NULL,
    kind          text NOT NULL,
    sources       text[] NOT NULL, -- of execution: names or patterns of workflows
    states        text[] NOT NULL, -- of execution
    signature     text NOT NULL, -- of webhook
    secret        text NOT NULL, -- of webhook: name of a secret of the project
    filter        text NOT NULL, -- an expression; '': all events
    workflow_id   uuid NOT NULL, -- to launch
    workflow_name text NOT NULL,
    version       text NOT NULL, -- '': the latest
    inputs        jsonb NOT NULL, -- texts can contain {{ expression }}
    priority      integer,
    enabled       boolean NOT NULL,
    enabled_at    timestamptz NOT NULL, -- events before do not count
    owner_id      uuid NOT NULL, -- who launches
    owner_name    text NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    CONSTRAINT triggers_kind_check CHECK (kind IN ('execution', 'webhook')),
    CONSTRAINT triggers_signature_check CHECK ((kind = 'webhook') = (signature <> '') AND (kind = 'webhook') = (secret <> '')),
    CONSTRAINT triggers_sources_check CHECK ((kind = 'execution') = (cardinality(sources) > 0) AND (kind = 'execution') = (cardinality(states) > 0))
);
CREATE UNIQUE INDEX triggers_name_key ON triggers (project_id, lower(name));

-- key identifies the event, so that a repetition launches nothing. The payload of older deliveries is
-- removed.
CREATE TABLE trigger_deliveries (
    id           uuid PRIMARY KEY,
    trigger_id   uuid NOT NULL REFERENCES triggers ON DELETE CASCADE,
    key          text NOT NULL,
    subject      text NOT NULL, -- what happened, in a few words
    outcome      text NOT NULL,
    reason       text NOT NULL,
    message      text NOT NULL,
    payload      jsonb,
    source_id    uuid, -- the execution that ended
    execution_id uuid, -- the launched execution
    depth        integer NOT NULL, -- triggers in the chain up to this one
    at           timestamptz NOT NULL,
    CONSTRAINT trigger_deliveries_once_key UNIQUE (trigger_id, key),
    CONSTRAINT trigger_deliveries_outcome_check CHECK (outcome IN ('LAUNCHED', 'SKIPPED', 'FAILED', 'REJECTED')),
    CONSTRAINT trigger_deliveries_launched_check CHECK ((outcome = 'LAUNCHED') = (execution_id IS NOT NULL))
);
CREATE INDEX trigger_deliveries_newest_idx ON trigger_deliveries (trigger_id, id DESC);
CREATE INDEX trigger_deliveries_execution_idx ON trigger_deliveries (execution_id) WHERE execution_id IS NOT NULL;

-- +goose Down
DROP TABLE trigger_deliveries;
DROP TABLE triggers;
