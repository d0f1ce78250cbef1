// Package execution runs workflows: it launches executions, drives their nodes through their
// states, takes the reports of attempts, retries, cancels and recovers. Package query reads
// executions for the pages and the API.
//
// One drive loop owns an execution at a time. It has a lease with an epoch (the fence),
// keeps the plan and the states in memory, lets dag.Next decide, and writes each batch of
// changes in one statement that checks the epoch. No decision depends on state that is only
// in memory: a loop that dies is replaced by one that loads the rows. docs/states.md draws
// the states, docs/design.md describes the rest.
package execution
