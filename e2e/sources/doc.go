// Package sources tests the examples of the source documents: each of their REST, YAML,
// gRPC and Python examples runs here verbatim against the real binary.
// docs/api-compatibility.md lists the decisions where the documents disagree.
package sources
