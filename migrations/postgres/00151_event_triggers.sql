-- Triggers on events of the feed: new artifacts, versions of datasets and models, stages of models, and
-- any other event.
-- +goose Up
ALTER TABLE triggers ADD COLUMN stages text[] NOT NULL DEFAULT '{}'; -- of model: stages; none: new versions
ALTER TABLE triggers DROP CONSTRAINT triggers_kind_check, DROP CONSTRAINT triggers_sources_check;
ALTER TABLE triggers
    ADD CONSTRAINT triggers_kind_check CHECK (kind IN ('execution', 'webhook', 'artifact', 'dataset', 'model', 'event')),
    ADD CONSTRAINT triggers_sources_check CHECK ((kind <> 'webhook') = (cardinality(sources) > 0) AND (kind = 'execution') = (cardinality(states) > 0)),
    ADD CONSTRAINT triggers_stages_check CHECK (kind = 'model' OR cardinality(stages) = 0);

-- Up to where triggers have received the feed.
CREATE TABLE trigger_feed (
    one      boolean NOT NULL DEFAULT true,
    position bigint NOT NULL,
    CONSTRAINT trigger_feed_pkey PRIMARY KEY (one),
    CONSTRAINT trigger_feed_one_check CHECK (one)
);
INSERT INTO trigger_feed (position) VALUES (0);

-- +goose Down
DROP TABLE trigger_feed;
DELETE FROM triggers WHERE kind IN ('artifact', 'dataset', 'model', 'event');
ALTER TABLE triggers DROP CONSTRAINT triggers_kind_check, DROP CONSTRAINT triggers_sources_check, DROP CONSTRAINT triggers_stages_check, DROP COLUMN stages;
ALTER TABLE triggers
    ADD CONSTRAINT triggers_kind_check CHECK (kind IN ('execution', 'webhook')),
    ADD CONSTRAINT triggers_sources_check CHECK ((kind = 'execution') = (cardinality(sources) > 0) AND (kind = 'execution') = (cardinality(states) > 0));
