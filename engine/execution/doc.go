// Package execution runs workflows: it launches executions, drives their nodes
// through their states, takes the reports of attempts, retries, cancels and
// recovers, and answers what the pages and the API ask about them.
//
// One drive loop owns an execution at a time. It holds a lease with an epoch (the
// fence), keeps the plan and the states in memory, lets dag.Next decide, and
// writes each batch of changes in one statement that checks the epoch. Nothing
// that only memory knows decides anything: a loop that dies is replaced by one
// that loads the rows. docs/states.md draws the states, docs/design.md the rest.
package execution
