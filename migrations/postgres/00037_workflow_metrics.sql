-- Metrics that workflows define. A row is one series of a project: a name and the values of its
-- labels. The transaction that ends a node or an execution updates it, so that no value is lost
-- or counted twice. key is a hash of the name and the labels.
--
-- value is the value of a counter or gauge, or the sum of a histogram. bounds are the upper
-- bounds of a histogram's buckets; counts has one more element, for values above all bounds. A
-- real-time gauge has live_since, the start of its node, until the node (live_node, -1: the
-- execution itself) has ended.
-- +goose Up
CREATE TABLE workflow_series (
    project_id     uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    key            text NOT NULL,
    name           text NOT NULL,
    labels         jsonb NOT NULL,
    kind           text NOT NULL,
    help           text NOT NULL,
    value          double precision NOT NULL DEFAULT 0,
    bounds         double precision[] NOT NULL DEFAULT '{}',
    counts         bigint[] NOT NULL DEFAULT '{}',
    live_since     timestamptz,
    live_execution uuid,
    live_node      integer,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    CONSTRAINT workflow_series_pkey PRIMARY KEY (project_id, key),
    CONSTRAINT workflow_series_kind_check CHECK (kind IN ('counter', 'gauge', 'histogram')),
    CONSTRAINT workflow_series_counts_check CHECK (kind = 'histogram' AND cardinality(counts) = cardinality(bounds) + 1
        OR kind <> 'histogram' AND cardinality(counts) = 0 AND cardinality(bounds) = 0),
    CONSTRAINT workflow_series_live_check CHECK ((live_since IS NULL) = (live_execution IS NULL) AND (live_since IS NULL) = (live_node IS NULL)
        AND (live_since IS NULL OR kind = 'gauge'))
);
CREATE INDEX workflow_series_name_idx ON workflow_series (project_id, name);

-- +goose Down
DROP TABLE workflow_series;
