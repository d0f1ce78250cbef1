-- Statistics of datasets and feature sets, computed once for each version, and their aliases. An
-- entry of the catalogue never changes, so both are rows of their own.
-- +goose Up

-- attempts counts how often a job began, so that a file that ends the process is not read forever.
CREATE TABLE dataset_profiles (
    entry_id     uuid NOT NULL REFERENCES catalogue_entries ON DELETE CASCADE,
    state        text NOT NULL DEFAULT 'waiting',
    attempts     integer NOT NULL DEFAULT 0,
    started_at   timestamptz,
    computed_at  timestamptz,
    problem      text NOT NULL DEFAULT '',
    profile      jsonb,
    CONSTRAINT dataset_profiles_pkey PRIMARY KEY (entry_id),
    CONSTRAINT dataset_profiles_state_check CHECK (state IN ('waiting', 'ready', 'failed')),
    CONSTRAINT dataset_profiles_profile_check CHECK ((state = 'ready') = (profile IS NOT NULL))
);
CREATE INDEX dataset_profiles_waiting_idx ON dataset_profiles (entry_id) WHERE state = 'waiting';

INSERT INTO dataset_profiles (entry_id)
SELECT id FROM catalogue_entries WHERE kind IN ('Dataset', 'FeatureSet') AND blob IS NOT NULL;

CREATE TABLE dataset_aliases (
    project_id uuid NOT NULL,
    kind       text NOT NULL,
    name       text NOT NULL,
    alias      text NOT NULL,
    entry_id   uuid NOT NULL REFERENCES catalogue_entries ON DELETE CASCADE,
    set_by     text NOT NULL,
    set_at     timestamptz NOT NULL,
    CONSTRAINT dataset_aliases_pkey PRIMARY KEY (project_id, kind, name, alias),
    CONSTRAINT dataset_aliases_kind_check CHECK (kind IN ('Dataset', 'FeatureSet'))
);
CREATE INDEX dataset_aliases_entry_idx ON dataset_aliases (entry_id);

-- +goose Down
DROP TABLE dataset_aliases, dataset_profiles;
