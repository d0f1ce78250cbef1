-- Records of Metaflow: what its client reports about runs that Metaflow itself executes. The
-- numbers of runs and tasks are those that the client shows. Tags belong to runs: steps, tasks
-- and artifacts show the tags of their run.
-- +goose Up
CREATE TABLE metaflow_flows (
    project_id uuid NOT NULL REFERENCES tenancy_nodes,
    flow_id    text NOT NULL CHECK (flow_id <> ''),
    user_name  text,
    ts_epoch   bigint NOT NULL,
    CONSTRAINT metaflow_flows_pkey PRIMARY KEY (project_id, flow_id)
);

CREATE TABLE metaflow_runs (
    run_number  bigint GENERATED ALWAYS AS IDENTITY,
    project_id  uuid NOT NULL,
    flow_id     text NOT NULL,
    run_id      text, -- given by the client; not a number
    user_name   text NOT NULL,
    ts_epoch    bigint NOT NULL,
    tags        text[] NOT NULL DEFAULT '{}',
    system_tags text[] NOT NULL DEFAULT '{}',
    ended_ok    boolean, -- what the step "end" reported
    ended_epoch bigint,
    CONSTRAINT metaflow_runs_pkey PRIMARY KEY (run_number),
    CONSTRAINT metaflow_runs_flow_fkey FOREIGN KEY (project_id, flow_id) REFERENCES metaflow_flows,
    CONSTRAINT metaflow_runs_id_key UNIQUE (project_id, flow_id, run_id)
);
CREATE INDEX metaflow_runs_newest_idx ON metaflow_runs (project_id, flow_id, ts_epoch DESC, run_number DESC);

CREATE TABLE metaflow_steps (
    run_number bigint NOT NULL REFERENCES metaflow_runs ON DELETE CASCADE,
    step_name  text NOT NULL CHECK (step_name <> ''),
    user_name  text NOT NULL,
    ts_epoch   bigint NOT NULL,
    CONSTRAINT metaflow_steps_pkey PRIMARY KEY (run_number, step_name)
);

CREATE TABLE metaflow_tasks (
    task_number bigint GENERATED ALWAYS AS IDENTITY,
    run_number  bigint NOT NULL,
    step_name   text NOT NULL,
    task_id     text, -- given by the client; not a number
    user_name   text NOT NULL,
    ts_epoch    bigint NOT NULL,
    CONSTRAINT metaflow_tasks_pkey PRIMARY KEY (task_number),
    CONSTRAINT metaflow_tasks_step_fkey FOREIGN KEY (run_number, step_name) REFERENCES metaflow_steps ON DELETE CASCADE,
    CONSTRAINT metaflow_tasks_id_key UNIQUE (run_number, step_name, task_id)
);
CREATE INDEX metaflow_tasks_newest_idx ON metaflow_tasks (run_number, step_name, ts_epoch DESC, task_number DESC);

-- Every running task writes one row every ten seconds, so the row is small and has no index
-- besides its key. task_number 0 is the run itself.
CREATE TABLE metaflow_heartbeats (
    run_number  bigint NOT NULL REFERENCES metaflow_runs ON DELETE CASCADE,
    task_number bigint NOT NULL,
    at          bigint NOT NULL, -- seconds
    CONSTRAINT metaflow_heartbeats_pkey PRIMARY KEY (run_number, task_number)
) WITH (fillfactor = 50);

CREATE TABLE metaflow_metadata (
    id          bigint GENERATED ALWAYS AS IDENTITY,
    task_number bigint NOT NULL REFERENCES metaflow_tasks ON DELETE CASCADE,
    field_name  text NOT NULL,
    value       text NOT NULL,
    type        text NOT NULL,
    user_name   text NOT NULL,
    tags        text[] NOT NULL DEFAULT '{}',
    ts_epoch    bigint NOT NULL,
    CONSTRAINT metaflow_metadata_pkey PRIMARY KEY (id)
);
CREATE INDEX metaflow_metadata_task_idx ON metaflow_metadata (task_number, id DESC);

CREATE TABLE metaflow_artifacts (
    task_number  bigint NOT NULL REFERENCES metaflow_tasks ON DELETE CASCADE,
    attempt_id   bigint NOT NULL,
    name         text NOT NULL CHECK (name <> ''),
    location     text NOT NULL,
    ds_type      text NOT NULL,
    sha          text NOT NULL,
    type         text NOT NULL,
    content_type text NOT NULL,
    user_name    text NOT NULL,
    ts_epoch     bigint NOT NULL,
    CONSTRAINT metaflow_artifacts_pkey PRIMARY KEY (task_number, attempt_id, name)
);

-- metaflow_matches reports whether a field matches one of the values of a filter of the client,
-- such as ts_epoch:ge=1700000000000. The value "null" is the missing value.
-- +goose StatementBegin
CREATE FUNCTION metaflow_matches(actual text, op text, wanted text[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
SELECT coalesce(bool_or(CASE
    WHEN w = 'null' THEN (actual IS NULL) <> (op = 'ne')
    WHEN actual IS NULL THEN false
    WHEN op IN ('eq', 'is') THEN actual = w
    WHEN op = 'ne' THEN actual <> w
    WHEN op = 'co' THEN strpos(lower(actual), lower(w)) > 0
    WHEN op = 'sw' THEN starts_with(lower(actual), lower(w))
    WHEN op = 'ew' THEN right(lower(actual), length(w)) = lower(w)
    WHEN op = 'li' THEN actual ILIKE w
    WHEN actual ~ '^-?[0-9]{1,18}$' AND w ~ '^-?[0-9]{1,18}$' THEN CASE op
        WHEN 'lt' THEN actual::bigint < w::bigint
        WHEN 'le' THEN actual::bigint <= w::bigint
        WHEN 'gt' THEN actual::bigint > w::bigint
        WHEN 'ge' THEN actual::bigint >= w::bigint
        END
    ELSE CASE op
        WHEN 'lt' THEN actual < w
        WHEN 'le' THEN actual <= w
        WHEN 'gt' THEN actual > w
        WHEN 'ge' THEN actual >= w
        END
    END), false)
FROM unnest(wanted) AS w
$$;
-- +goose StatementEnd

-- metaflow_tagged reports whether tags match a filter: any or all of the texts are tags, or
-- parts of tags (likeany, likeall).
-- +goose StatementBegin
CREATE FUNCTION metaflow_tagged(tags text[], op text, wanted text[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
SELECT CASE op
    WHEN 'any' THEN tags && wanted
    WHEN 'likeany' THEN EXISTS (SELECT 1 FROM unnest(wanted) AS w, unnest(tags) AS t WHERE strpos(t, w) > 0)
    WHEN 'likeall' THEN NOT EXISTS (SELECT 1 FROM unnest(wanted) AS w WHERE NOT EXISTS (SELECT 1 FROM unnest(tags) AS t WHERE strpos(t, w) > 0))
    ELSE tags @> wanted
    END
$$;
-- +goose StatementEnd

-- metaflow_run_rows are the runs as the client reads them. A run without an end is running
-- while its last heartbeat is younger than six minutes, as in Metaflow's own service.
CREATE VIEW metaflow_run_rows AS
SELECT r.*, h.at AS last_heartbeat_ts,
    CASE WHEN r.ended_ok THEN 'completed' WHEN r.ended_ok IS FALSE THEN 'failed'
        WHEN coalesce(h.at, r.ts_epoch / 1000) > extract(epoch FROM now()) - 360 THEN 'running' ELSE 'failed' END AS status,
    coalesce((SELECT substr(t, 6) FROM unnest(r.system_tags) AS t WHERE t LIKE 'user:%' LIMIT 1), r.user_name)::text AS "user"
FROM metaflow_runs r LEFT JOIN metaflow_heartbeats h ON h.run_number = r.run_number AND h.task_number = 0;

-- +goose Down
DROP VIEW metaflow_run_rows;
DROP FUNCTION metaflow_tagged, metaflow_matches;
DROP TABLE metaflow_artifacts, metaflow_metadata, metaflow_heartbeats, metaflow_tasks, metaflow_steps, metaflow_runs, metaflow_flows;
