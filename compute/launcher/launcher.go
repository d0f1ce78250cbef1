// Package launcher defines the attempts that every launcher starts, stops and lists. A
// launcher runs an attempt as a local process or a pod. The attempt itself reports to
// TaskService, so a launcher transfers no results. If an attempt cannot report, because it
// never started or ended with its machine, the launcher reports Observations.
package launcher

import (
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Attempt is everything that is needed to run one try of a node. Its task id is
// "<execution id>.<node index>.<attempt number>"; starting it is idempotent.
type Attempt = *flowforgev1.AttemptSpec

// Ref identifies a started attempt. Preempt indicates that it is stopped in favor of others:
// it may take the grace period of its spec to save a checkpoint, and runs again.
type Ref struct {
	TaskID    string
	ProjectID string // of its execution
	Preempt   bool
}

// Status is the state of an attempt that a launcher knows. An attempt that it does not
// list is not running and has no undelivered result.
type Status struct {
	TaskID   string
	Finished bool // ended; the server has not accepted its result yet
}

// Observation is what a launcher observed of an attempt. Nil fields have no meaning. The
// same fact may be observed several times, in any order and by several servers.
type Observation struct {
	TaskID   string
	Location *Location
	Waiting  *Waiting // why it has not started
	Serving  *Serving // others may start to use it
	End      *End     // it ended, and its runner cannot report it
	Events   []Event
}

// Location is the place where an attempt runs.
type Location struct {
	Namespace string
	Pod       string
	Machine   string // the cluster's node; empty until it is scheduled
}

// Serving indicates that the pod of an attempt that serves others is ready.
type Serving struct {
	Address string // of the pod
}

// Waiting explains why an attempt has not started: a code for programs and a message that
// includes the cluster's own.
type Waiting struct {
	Code    string // one of the Wait constants
	Message string
}

// Codes of Waiting.
const (
	WaitUnschedulable = "UNSCHEDULABLE"  // no machine of the cluster has room
	WaitImage         = "IMAGE_PULL"     // its image is being pulled or cannot be pulled
	WaitStarting      = "POD_STARTING"   // volumes, init containers
	WaitGang          = "GANG"           // not all pods of a gang have started
	WaitCluster       = "CLUSTER_AWAY"   // the cluster's API does not respond
	WaitResident      = "RESIDENT_QUEUE" // it waits for a warm pod
	WaitPoolEmpty     = "POOL_NO_WORKER" // no worker of its pool takes tasks
	WaitPoolUnfit     = "POOL_NO_MATCH"  // no worker of its pool has its labels or its size
	WaitPoolBusy      = "POOL_BUSY"      // the workers of its pool have no capacity left
	WaitPoolLimit     = "POOL_LIMIT"     // a level of the tree has reached its limit in the pool
)

// End is the end of an attempt that its runner cannot report.
type End struct {
	Class      Class
	Message    string
	ExitCode   *int
	StartedAt  *time.Time
	FinishedAt time.Time
}

// Event is an event of an attempt's pod; the cluster keeps events for about an hour. Its
// ID identifies an event; a repetition has a higher Count.
type Event struct {
	ID      string
	At      time.Time
	Warning bool
	Reason  string // such as "FailedScheduling"
	Message string
	Count   int
}

// Class classifies the end of an attempt more precisely than its outcome.
type Class string

// Classes of launchers and runners. An attempt whose class is the infrastructure's fault
// (see Outside) runs again without using a retry.
const (
	ClassError       Class = "error"         // the command ended with an error
	ClassOutOfMemory Class = "out_of_memory" // killed at its memory limit
	ClassDeadline    Class = "timeout"       // exceeded its timeout or its pod's deadline
	ClassImage       Class = "image"         // its image cannot be pulled
	ClassInit        Class = "init_failed"   // an init container failed
	ClassRefused     Class = "refused"       // the cluster does not admit its pod
	ClassStart       Class = "start_failed"  // its containers cannot be started
	ClassToken       Class = "token_expired" // its credentials are no longer accepted
	ClassEvicted     Class = "evicted"       // its machine ran out of memory or disk
	ClassPreempted   Class = "preempted"     // the cluster's scheduler preempted it
	ClassMachineLost Class = "node_lost"     // its machine was removed or is unreachable
	ClassDeleted     Class = "deleted"       // its pod was deleted
	ClassNamespace   Class = "namespace"     // its namespace is being deleted
	ClassWithdrawn   Class = "withdrawn"     // it was stopped before a worker of its pool took it
	ClassGang        Class = "gang"          // not all its pods started in time, or one was lost
)

// Outside reports whether c is not the task's fault.
func (c Class) Outside() bool {
	switch c {
	case ClassEvicted, ClassPreempted, ClassMachineLost, ClassDeleted, ClassNamespace, ClassGang, ClassToken, ClassWithdrawn:
		return true
	default:
		return false
	}
}
