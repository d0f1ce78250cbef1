-- Connections of kind clickhouse, for statements of sql operators.
-- +goose Up
ALTER TABLE connections DROP CONSTRAINT connections_kind_check;
ALTER TABLE connections ADD CONSTRAINT connections_kind_check
    CHECK (kind IN ('postgres', 'clickhouse', 's3', 'http', 'huggingface', 'slack', 'teams', 'email', 'pagerduty', 'webhook', 'custom'));

-- +goose Down
DELETE FROM connections WHERE kind = 'clickhouse';
ALTER TABLE connections DROP CONSTRAINT connections_kind_check;
ALTER TABLE connections ADD CONSTRAINT connections_kind_check
    CHECK (kind IN ('postgres', 's3', 'http', 'huggingface', 'slack', 'teams', 'email', 'pagerduty', 'webhook', 'custom'));
