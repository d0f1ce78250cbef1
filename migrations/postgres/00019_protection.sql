-- Protection against spreading failures. A circuit breaker belongs to an operator of a workflow
-- and to its code (fingerprint), independent of the version; the latest rule applies. A retry
-- budget is a token bucket of a tenant, or the times of the latest retries of a workflow. A dead
-- letter is a node that failed after its last retry, until a person retries or dismisses it.
-- +goose Up
CREATE TABLE circuit_breakers (
    id               uuid NOT NULL,
    tenant_id        uuid NOT NULL,
    project_id       uuid NOT NULL,
    workflow_id      uuid NOT NULL,
    workflow_name    text NOT NULL,
    operator         text NOT NULL,
    fingerprint      bytea NOT NULL,
    version          text NOT NULL,
    rule_failures    integer NOT NULL,
    rule_window      double precision NOT NULL,
    rule_open_for    double precision NOT NULL,
    state            text NOT NULL,
    failures         timestamptz[] NOT NULL DEFAULT '{}',
    opened           integer NOT NULL DEFAULT 0,
    opened_at        timestamptz,
    open_until       timestamptz,
    trial_execution  uuid,
    trial_node       integer,
    last_error       text NOT NULL DEFAULT '',
    last_execution   uuid,
    last_node        text NOT NULL DEFAULT '',
    changed_at       timestamptz NOT NULL,
    CONSTRAINT circuit_breakers_pkey PRIMARY KEY (id),
    CONSTRAINT circuit_breakers_operator_key UNIQUE (workflow_id, operator, fingerprint),
    CONSTRAINT circuit_breakers_state_check CHECK (state IN ('closed', 'open', 'half_open')),
    CONSTRAINT circuit_breakers_open_check CHECK ((state = 'open') = (open_until IS NOT NULL)),
    CONSTRAINT circuit_breakers_trial_check CHECK ((state = 'half_open') = (trial_execution IS NOT NULL) AND (trial_execution IS NULL) = (trial_node IS NULL))
);
CREATE INDEX circuit_breakers_project_idx ON circuit_breakers (project_id, state);

-- retries per period of seconds, at most burst at once; tokens were left at refilled_at, which is
-- NULL until the first use. delayed counts the delayed retries.
CREATE TABLE retry_buckets (
    tenant_id      uuid NOT NULL,
    retries        integer NOT NULL,
    period         double precision NOT NULL,
    burst          integer NOT NULL,
    tokens         double precision NOT NULL DEFAULT 0,
    refilled_at    timestamptz,
    delayed        bigint NOT NULL DEFAULT 0,
    changed_at     timestamptz NOT NULL,
    changed_by     text NOT NULL,
    version        bigint NOT NULL DEFAULT 1,
    CONSTRAINT retry_buckets_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT retry_buckets_rule_check CHECK (retries > 0 AND period >= 1 AND burst > 0),
    CONSTRAINT retry_buckets_tokens_check CHECK (tokens >= 0)
);

CREATE TABLE retry_windows (
    workflow_id   uuid NOT NULL,
    tenant_id     uuid NOT NULL,
    project_id    uuid NOT NULL,
    workflow_name text NOT NULL,
    retries       integer NOT NULL,
    span          double precision NOT NULL,
    made          timestamptz[] NOT NULL DEFAULT '{}',
    delayed       bigint NOT NULL DEFAULT 0,
    changed_at    timestamptz NOT NULL,
    CONSTRAINT retry_windows_pkey PRIMARY KEY (workflow_id)
);
CREATE INDEX retry_windows_project_idx ON retry_windows (project_id);

CREATE TABLE dead_letters (
    id            uuid NOT NULL,
    tenant_id     uuid NOT NULL,
    project_id    uuid NOT NULL,
    execution_id  uuid NOT NULL,
    node_index    integer NOT NULL,
    node          text NOT NULL,
    attempt       integer NOT NULL,
    workflow_name text NOT NULL,
    version       text NOT NULL,
    class         text NOT NULL,
    failure       jsonb NOT NULL,
    at            timestamptz NOT NULL,
    outcome       text,
    settled_at    timestamptz,
    settled_by    text NOT NULL DEFAULT '',
    requeued_as   uuid,
    CONSTRAINT dead_letters_pkey PRIMARY KEY (id),
    CONSTRAINT dead_letters_attempt_key UNIQUE (execution_id, node_index, attempt),
    CONSTRAINT dead_letters_outcome_check CHECK (outcome IN ('requeued', 'put_away')),
    CONSTRAINT dead_letters_settled_check CHECK ((outcome IS NULL) = (settled_at IS NULL))
);
CREATE INDEX dead_letters_project_idx ON dead_letters (project_id, id DESC) WHERE outcome IS NULL;

-- +goose Down
DROP TABLE dead_letters, retry_windows, retry_buckets, circuit_breakers;
