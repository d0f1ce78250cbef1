-- What the API of the design document shows of runs and artifacts besides what Metaflow's client
-- sends: parameters of runs, IDs and sizes of artifacts.
-- +goose Up
DROP VIEW metaflow_run_rows;
ALTER TABLE metaflow_runs ADD COLUMN parameters jsonb;
ALTER TABLE metaflow_artifacts ADD COLUMN id bigint NOT NULL GENERATED ALWAYS AS IDENTITY, ADD COLUMN size_bytes bigint;
CREATE UNIQUE INDEX metaflow_artifacts_id_key ON metaflow_artifacts (id);
CREATE INDEX metaflow_runs_text_idx ON metaflow_runs (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX metaflow_artifacts_sha_idx ON metaflow_artifacts (sha, id DESC);
CREATE VIEW metaflow_run_rows AS
SELECT r.*, h.at AS last_heartbeat_ts,
    CASE WHEN r.ended_ok THEN 'completed' WHEN r.ended_ok IS FALSE THEN 'failed'
        WHEN coalesce(h.at, r.ts_epoch / 1000) > extract(epoch FROM now()) - 360 THEN 'running' ELSE 'failed' END AS status,
    coalesce((SELECT substr(t, 6) FROM unnest(r.system_tags) AS t WHERE t LIKE 'user:%' LIMIT 1), r.user_name)::text AS "user"
FROM metaflow_runs r LEFT JOIN metaflow_heartbeats h ON h.run_number = r.run_number AND h.task_number = 0;

-- +goose Down
DROP VIEW metaflow_run_rows;
DROP INDEX metaflow_artifacts_sha_idx, metaflow_artifacts_id_key, metaflow_runs_text_idx;
ALTER TABLE metaflow_artifacts DROP COLUMN size_bytes, DROP COLUMN id;
ALTER TABLE metaflow_runs DROP COLUMN parameters;
CREATE VIEW metaflow_run_rows AS
SELECT r.*, h.at AS last_heartbeat_ts,
    CASE WHEN r.ended_ok THEN 'completed' WHEN r.ended_ok IS FALSE THEN 'failed'
        WHEN coalesce(h.at, r.ts_epoch / 1000) > extract(epoch FROM now()) - 360 THEN 'running' ELSE 'failed' END AS status,
    coalesce((SELECT substr(t, 6) FROM unnest(r.system_tags) AS t WHERE t LIKE 'user:%' LIMIT 1), r.user_name)::text AS "user"
FROM metaflow_runs r LEFT JOIN metaflow_heartbeats h ON h.run_number = r.run_number AND h.task_number = 0;
