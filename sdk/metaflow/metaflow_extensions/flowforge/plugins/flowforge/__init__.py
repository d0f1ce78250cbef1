"""FlowForge as an orchestrator of Metaflow (docs/metaflow.md)."""
