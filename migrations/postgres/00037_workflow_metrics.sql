-- Metrics that workflows define. A row is one series of a project: a name and the
-- values of its labels. The transaction that ends a node, or an execution, changes it,
-- so that nothing is counted twice or lost. key is a hash of name and labels.
--
-- value is that of a counter or a gauge, and the sum of a histogram, whose counts stand
-- beside the upper bounds of its buckets, one more for what is above all of them. A
-- gauge that is told while something runs has live_since, the begin of that, until
-- the node that it belongs to has ended (-1: the execution itself).
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
