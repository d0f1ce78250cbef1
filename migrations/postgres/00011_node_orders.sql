-- Orders of people for single nodes: cancel a node, or change the priority or reduce the
-- requests of a waiting node. The owner of the execution applies an order; seq is the latest
-- applied one. The rows stay until the execution ends, because a new owner needs them.
-- +goose Up
CREATE TABLE node_orders (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    seq          bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    cancel       boolean NOT NULL DEFAULT false,
    priority     integer,
    cpu_millis   integer,
    memory_mib   integer,
    gpus         integer,
    reason       text NOT NULL DEFAULT '',
    ordered_by   text NOT NULL,
    ordered_at   timestamptz NOT NULL,
    taken        boolean NOT NULL DEFAULT false,
    CONSTRAINT node_orders_pkey PRIMARY KEY (execution_id, node_index),
    CONSTRAINT node_orders_priority_check CHECK (priority BETWEEN 0 AND 100),
    CONSTRAINT node_orders_amount_check CHECK (cpu_millis > 0 AND memory_mib > 0 AND gpus > 0)
);
CREATE INDEX node_orders_open_idx ON node_orders (execution_id) WHERE NOT taken;

-- +goose Down
DROP TABLE node_orders;
