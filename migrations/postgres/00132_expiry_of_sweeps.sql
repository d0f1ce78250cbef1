-- Sweeps of inputs expire like executions: by the retention of the definition, which is written when
-- the sweep ends, or else by that of the installation. They go after the last of their executions.
-- Cleanups (table sweeps) report how many went, and the names of the first.
-- +goose Up
ALTER TABLE input_sweeps ADD COLUMN expires_at timestamptz; -- null: the rule of the installation
ALTER TABLE sweeps
    ADD COLUMN input_sweeps bigint NOT NULL DEFAULT 0,
    ADD COLUMN input_sweep_names text[] NOT NULL DEFAULT '{}';

-- expired_sweep reports whether the retention of an ended sweep has passed at moment. after_success and
-- after_failure are the seconds of the installation; NULL: forever.
-- +goose StatementBegin
CREATE FUNCTION expired_sweep(s input_sweeps, moment timestamptz, after_success double precision, after_failure double precision)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT s.ended_at IS NOT NULL AND coalesce(coalesce(s.expires_at, s.ended_at
        + make_interval(secs => CASE WHEN s.state = 'SUCCEEDED' THEN after_success ELSE after_failure END)) <= moment, false)
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION expired_sweep(input_sweeps, timestamptz, double precision, double precision);
ALTER TABLE sweeps DROP COLUMN input_sweep_names, DROP COLUMN input_sweeps;
ALTER TABLE input_sweeps DROP COLUMN expires_at;
