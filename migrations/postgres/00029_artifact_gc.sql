-- When an unused artifact is removed: with its execution (''), after the end of its execution
-- ('completion'), or never ('never').
-- +goose Up
ALTER TABLE artifacts ADD COLUMN gc text NOT NULL DEFAULT '',
    ADD CONSTRAINT artifacts_gc_check CHECK (gc IN ('', 'completion', 'never'));
CREATE INDEX artifacts_completion_idx ON artifacts (id) WHERE gc = 'completion';

-- +goose Down
DROP INDEX artifacts_completion_idx;
ALTER TABLE artifacts DROP COLUMN gc;
