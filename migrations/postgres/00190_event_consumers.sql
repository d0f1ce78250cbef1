-- Consumers of the feed of events. position is up to where a consumer has taken events from the feed.
-- event_deliveries contains what it took and has not acknowledged, with a copy of the event, so that the
-- retention of the feed removes nothing that a consumer still needs
-- (docs/decisions/044-event-consumers.md).
-- +goose Up
CREATE TABLE event_consumers (
    id              uuid PRIMARY KEY,
    tenant_id       uuid, -- NULL with project_id
    project_id      uuid REFERENCES tenancy_nodes ON DELETE CASCADE, -- NULL: events of all projects, and above them
    name            text NOT NULL,
    sink            boolean NOT NULL, -- the server itself reads, and sends events to a broker
    topics          text[] NOT NULL, -- none: all but audit
    types           text[] NOT NULL, -- patterns with *; none: all
    max_tries       integer NOT NULL,
    position        bigint NOT NULL,
    missed          bigint NOT NULL, -- events that retention removed before the consumer took them
    acknowledged    bigint NOT NULL,
    read_at         timestamptz,
    acknowledged_at timestamptz,
    problem         text NOT NULL, -- why the broker does not accept events; '': it does
    problem_at      timestamptz,
    created_by      text NOT NULL,
    created_at      timestamptz NOT NULL,
    CONSTRAINT event_consumers_scope_check CHECK ((tenant_id IS NULL) = (project_id IS NULL)),
    CONSTRAINT event_consumers_topics_check CHECK (topics <@ ARRAY['workflow', 'task', 'quota', 'artifact', 'audit']),
    CONSTRAINT event_consumers_tries_check CHECK (max_tries BETWEEN 1 AND 100),
    CONSTRAINT event_consumers_problem_check CHECK ((problem = '') = (problem_at IS NULL))
);
CREATE UNIQUE INDEX event_consumers_name_key ON event_consumers (project_id, lower(name)) NULLS NOT DISTINCT;

-- due_at is when the event can be delivered next; of a leased one, when its lease ends. tries counts
-- failures. dead_at marks a dead letter.
CREATE TABLE event_deliveries (
    consumer_id  uuid NOT NULL REFERENCES event_consumers ON DELETE CASCADE,
    position     bigint NOT NULL,
    id           text NOT NULL,
    topic        text NOT NULL,
    type         text NOT NULL,
    at           timestamptz NOT NULL,
    recorded_at  timestamptz NOT NULL,
    tenant_id    uuid,
    project_id   uuid,
    execution_id uuid,
    subject      text NOT NULL,
    data         jsonb NOT NULL,
    lease        uuid,
    due_at       timestamptz NOT NULL,
    tries        integer NOT NULL,
    error        text NOT NULL, -- of the last failure
    failed_at    timestamptz,
    dead_at      timestamptz,
    CONSTRAINT event_deliveries_pkey PRIMARY KEY (consumer_id, position),
    CONSTRAINT event_deliveries_dead_check CHECK (dead_at IS NULL OR lease IS NULL)
);
CREATE INDEX event_deliveries_execution_idx ON event_deliveries (consumer_id, execution_id, position) WHERE dead_at IS NULL;
CREATE INDEX event_deliveries_dead_idx ON event_deliveries (consumer_id, position) WHERE dead_at IS NOT NULL;

-- event_backoff is how long an event that has failed before waits after the next failure: 1 second, then
-- twice as long each time, up to 5 minutes.
CREATE FUNCTION event_backoff(tries integer) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT make_interval(secs => least(300, power(2, least(tries, 10))))
$$;

CREATE INDEX event_feed_recorded_idx ON event_feed (recorded_at, position); -- to find the positions of a period

-- +goose Down
DROP INDEX event_feed_recorded_idx;
DROP FUNCTION event_backoff(integer);
DROP TABLE event_deliveries;
DROP TABLE event_consumers;
