-- +goose Up
-- Fails the statement of a flush that did not find every node in the expected state, so that the
-- statement can be a transaction of its own.
-- +goose StatementBegin
CREATE FUNCTION flush_complete(moved bigint, expected int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF moved <> expected THEN
        RAISE EXCEPTION '% of % nodes were in the expected state', moved, expected;
    END IF;
    RETURN moved;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION flush_complete(bigint, int);
