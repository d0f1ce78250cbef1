-- The index of executions by their values is in ClickHouse (docs/decisions/021-index-of-values.md).
-- Postgres has what the index is built from: the changes that it must follow, the names that it
-- knows, and tags and notes.
-- +goose Up

-- Executions that the index must read again. The transaction of a change adds a row, and never
-- waits for a reader: rows are only added, and taken with SKIP LOCKED. created_at and project_id
-- find the entry of an execution that no longer exists.
CREATE TABLE execution_changes (
    id           bigint GENERATED ALWAYS AS IDENTITY,
    execution_id uuid NOT NULL,
    project_id   uuid NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT execution_changes_pkey PRIMARY KEY (id)
);
ALTER TABLE execution_changes SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- A trigger adds the row, because several statements change the state of an execution. The server
-- notes the executions from before the index in batches, so this migration reads none of them.
-- +goose StatementBegin
CREATE FUNCTION note_execution_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
    END IF;
    INSERT INTO execution_changes (execution_id, project_id, created_at) VALUES (NEW.id, NEW.project_id, NEW.created_at);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER executions_noted AFTER INSERT OR DELETE ON executions
    FOR EACH ROW EXECUTE FUNCTION note_execution_change();
CREATE TRIGGER executions_noted_update AFTER UPDATE OF status, finished_at, outputs, error ON executions
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.finished_at IS DISTINCT FROM NEW.finished_at)
    EXECUTE FUNCTION note_execution_change();

-- The names of a project's inputs, outputs and metrics, and the column of the index that has
-- their values. A name has a column for numbers, one for texts, or both. stat is '' except for
-- metrics.
CREATE TABLE search_fields (
    project_id uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    part       text NOT NULL,
    name       text NOT NULL,
    stat       text NOT NULL DEFAULT '',
    type       text NOT NULL,
    slot       integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT search_fields_pkey PRIMARY KEY (project_id, part, name, stat, type),
    CONSTRAINT search_fields_slot_key UNIQUE (project_id, type, slot),
    CONSTRAINT search_fields_part_check CHECK (part IN ('inputs', 'outputs', 'metrics')),
    CONSTRAINT search_fields_stat_check CHECK ((part = 'metrics') = (stat <> '')),
    CONSTRAINT search_fields_type_check CHECK (type IN ('number', 'text'))
);

CREATE TABLE execution_tags (
    execution_id uuid NOT NULL,
    tag          text NOT NULL,
    added_by     text NOT NULL,
    added_at     timestamptz NOT NULL,
    CONSTRAINT execution_tags_pkey PRIMARY KEY (execution_id, tag),
    CONSTRAINT execution_tags_tag_check CHECK (tag <> '')
);

CREATE TABLE execution_notes (
    execution_id uuid NOT NULL,
    note         text NOT NULL,
    edited_by    text NOT NULL,
    edited_at    timestamptz NOT NULL,
    CONSTRAINT execution_notes_pkey PRIMARY KEY (execution_id),
    CONSTRAINT execution_notes_note_check CHECK (note <> '')
);

-- +goose Down
DROP TRIGGER executions_noted ON executions;
DROP TRIGGER executions_noted_update ON executions;
DROP FUNCTION note_execution_change();
DROP TABLE execution_notes, execution_tags, search_fields, execution_changes;
