-- A version may have no nodes: a workflow that others take templates from, and that
-- does not run by itself.

-- +goose Up
ALTER TABLE workflow_versions DROP CONSTRAINT workflow_versions_node_count_check;
ALTER TABLE workflow_versions ADD CONSTRAINT workflow_versions_node_count_check CHECK (node_count >= 0);

-- +goose Down
ALTER TABLE workflow_versions DROP CONSTRAINT workflow_versions_node_count_check;
ALTER TABLE workflow_versions ADD CONSTRAINT workflow_versions_node_count_check CHECK (node_count > 0) NOT VALID;
