// Package sources holds the examples of the source documents: every one of their REST, YAML,
// gRPC and Python examples runs here as the document writes it, against the real binary.
// docs/api-compatibility.md lists what FlowForge does where the documents disagree.
package sources
