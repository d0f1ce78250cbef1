-- Lineage: which executions read which entries of the catalogue, and which artifact a registered
-- version was. artifact_uses (00025) already has the artifacts that executions refer to.
-- +goose Up

-- requested is the reference at launch, such as digits or digits@production; the row has the entry
-- that it meant then. input is the input of the workflow, or operator.input for a reference in the
-- definition.
CREATE TABLE entry_uses (
    entry_id     uuid NOT NULL REFERENCES catalogue_entries ON DELETE CASCADE,
    execution_id uuid NOT NULL,
    input        text NOT NULL,
    requested    text NOT NULL,
    CONSTRAINT entry_uses_pkey PRIMARY KEY (entry_id, execution_id, input)
);
CREATE INDEX entry_uses_execution_idx ON entry_uses (execution_id);

-- Earlier executions: a reference has a name and maybe a version, but no kind, so entries of two
-- kinds with the same name and version both count. Without a version it meant the newest entry.
-- This reads every execution once.
INSERT INTO entry_uses (entry_id, execution_id, input, requested)
SELECT DISTINCT c.id, e.id, i.key, r.ref
FROM executions e
CROSS JOIN LATERAL jsonb_each(e.inputs) i
CROSS JOIN LATERAL (SELECT p.found #>> '{}' AS ref FROM jsonb_path_query(i.value, 'strict $.**."$catalogue"', '{}', true) AS p(found)) r
CROSS JOIN LATERAL (
    SELECT DISTINCT ON (k.kind) k.id FROM catalogue_entries k
    WHERE k.project_id = e.project_id AND k.name = split_part(r.ref, '@', 1) AND k.created_at <= e.created_at
        AND (split_part(r.ref, '@', 2) = '' OR k.version = split_part(r.ref, '@', 2))
    ORDER BY k.kind, k.id DESC) c
WHERE e.inputs::text LIKE '%"$catalogue"%';

ALTER TABLE catalogue_entries ADD COLUMN artifact_id uuid;
CREATE INDEX catalogue_entries_artifact_idx ON catalogue_entries (artifact_id) WHERE artifact_id IS NOT NULL;
CREATE INDEX catalogue_entries_sha256_idx ON catalogue_entries ((blob ->> 'sha256')) WHERE blob IS NOT NULL;

-- +goose Down
DROP INDEX catalogue_entries_sha256_idx, catalogue_entries_artifact_idx;
ALTER TABLE catalogue_entries DROP COLUMN artifact_id;
DROP TABLE entry_uses;
