// Package launcher names what every launcher starts, stops and lists: attempts.
// A launcher makes an attempt run somewhere (a local process, a pod); what runs
// there reports to TaskService itself, so a launcher carries no results.
package launcher

import flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"

// Attempt is all that is needed to run one try at a node. Its task id is
// "<execution id>.<node index>.<attempt number>"; starting it twice is success.
type Attempt = *flowforgev1.AttemptSpec

// Ref names an attempt that was started. Preempt says that it is stopped to make
// room for others: it may take the grace period of its spec to save a checkpoint,
// and runs again.
type Ref struct {
	TaskID  string
	Preempt bool
}

// Status tells of an attempt that a launcher knows. One that it does not list
// is not running and has no result to deliver any more.
type Status struct {
	TaskID   string
	Finished bool // ended; its result is not taken by the server yet
}
