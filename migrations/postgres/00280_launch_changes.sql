-- New executions are noted for the search index once for each statement, because launches write many
-- executions together.
-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION note_new_executions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO execution_changes (execution_id, project_id, created_at) SELECT id, project_id, created_at FROM launched;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
DROP TRIGGER executions_noted ON executions;
CREATE TRIGGER executions_noted AFTER DELETE ON executions
    FOR EACH ROW EXECUTE FUNCTION note_execution_change();
CREATE TRIGGER executions_noted_insert AFTER INSERT ON executions
    REFERENCING NEW TABLE AS launched FOR EACH STATEMENT EXECUTE FUNCTION note_new_executions();

-- +goose Down
DROP TRIGGER executions_noted_insert ON executions;
DROP FUNCTION note_new_executions();
DROP TRIGGER executions_noted ON executions;
CREATE TRIGGER executions_noted AFTER INSERT OR DELETE ON executions
    FOR EACH ROW EXECUTE FUNCTION note_execution_change();
