-- The labels that the launch of an execution computes (labelsFrom of Argo's documents), as an
-- object of texts. Their expressions can have another value each time.
-- +goose Up
ALTER TABLE executions ADD COLUMN labels jsonb;

-- +goose Down
ALTER TABLE executions DROP COLUMN labels;
