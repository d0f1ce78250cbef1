-- A dead letter that a user dismisses is called dismissed, as on pages and in the API.
-- +goose Up
ALTER TABLE dead_letters DROP CONSTRAINT dead_letters_outcome_check;
UPDATE dead_letters SET outcome = 'dismissed' WHERE outcome = 'put_away';
ALTER TABLE dead_letters ADD CONSTRAINT dead_letters_outcome_check CHECK (outcome IN ('requeued', 'dismissed'));

-- +goose Down
ALTER TABLE dead_letters DROP CONSTRAINT dead_letters_outcome_check;
UPDATE dead_letters SET outcome = 'put_away' WHERE outcome = 'dismissed';
ALTER TABLE dead_letters ADD CONSTRAINT dead_letters_outcome_check CHECK (outcome IN ('requeued', 'put_away'));
