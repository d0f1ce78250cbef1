// Package argo reads workflows in Argo's form (Workflow, WorkflowTemplate,
// ClusterWorkflowTemplate and CronWorkflow) and makes definitions of them that the
// engine runs like its own: templates of steps and tasks become graphs, texts keep
// their tags, which are replaced when they are needed. What it cannot honour it
// refuses with the path in the document and what to do. docs/argo.md says what is
// honoured, field by field.
package argo
