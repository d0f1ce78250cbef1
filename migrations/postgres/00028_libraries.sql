-- A version may have no nodes: a workflow that only provides templates to others and cannot run.

-- +goose Up
ALTER TABLE workflow_versions DROP CONSTRAINT workflow_versions_node_count_check;
ALTER TABLE workflow_versions ADD CONSTRAINT workflow_versions_node_count_check CHECK (node_count >= 0);

-- +goose Down
ALTER TABLE workflow_versions DROP CONSTRAINT workflow_versions_node_count_check;
ALTER TABLE workflow_versions ADD CONSTRAINT workflow_versions_node_count_check CHECK (node_count > 0) NOT VALID;
