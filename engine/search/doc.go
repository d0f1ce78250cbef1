// Package search reads the query language of executions: conditions on inputs, outputs, metrics,
// tags and other facts, joined by and, or and not. A query becomes a tree of typed conditions,
// in which every name is resolved by the names that a project has. It knows no database.
package search
