-- Children of expanded nodes: the items of a fan-out, the operators of a graph. They follow the
-- nodes of the plan. parent_index is the parent node, and expansion the number of its expansion.
-- item_index and item identify the item of a node. operator_index is the position of its operator
-- in the graph, NULL if it equals node_index. first_child and child_count are the latest
-- children of a node; inputs are the inputs of its graph.
-- +goose Up
ALTER TABLE nodes
    ADD COLUMN parent_index   integer,
    ADD COLUMN expansion      integer NOT NULL DEFAULT 0,
    ADD COLUMN graph          text NOT NULL DEFAULT '',
    ADD COLUMN operator_index integer,
    ADD COLUMN item_index     integer,
    ADD COLUMN item           jsonb,
    ADD COLUMN inputs         jsonb,
    ADD COLUMN first_child    integer,
    ADD COLUMN child_count    integer NOT NULL DEFAULT 0,
    ADD CONSTRAINT nodes_parent_check CHECK (parent_index < node_index AND (parent_index IS NULL) = (expansion = 0)),
    ADD CONSTRAINT nodes_children_check CHECK (first_child > node_index AND child_count >= 0);
-- A handled failure, or one that a fan-out allows, does not fail the execution.
ALTER TABLE executions DROP CONSTRAINT executions_succeeded_check;

-- +goose Down
ALTER TABLE executions ADD CONSTRAINT executions_succeeded_check CHECK (status <> 'SUCCEEDED' OR succeeded + skipped = total);
ALTER TABLE nodes DROP CONSTRAINT nodes_children_check, DROP CONSTRAINT nodes_parent_check,
    DROP COLUMN child_count, DROP COLUMN first_child, DROP COLUMN inputs, DROP COLUMN item, DROP COLUMN item_index,
    DROP COLUMN operator_index, DROP COLUMN graph, DROP COLUMN expansion, DROP COLUMN parent_index;
