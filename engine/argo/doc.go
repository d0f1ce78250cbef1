// Package argo translates Argo's documents (Workflow, WorkflowTemplate, ClusterWorkflowTemplate
// and CronWorkflow) into definitions that the engine runs like its own. Templates of steps and
// tasks become graphs; texts keep their tags, which the engine replaces when it needs them.
// Unsupported fields are refused with their path in the document and advice. docs/argo.md
// describes what is supported.
package argo
