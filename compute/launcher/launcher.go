// Package launcher names what every launcher starts, stops and lists: attempts.
// A launcher makes an attempt run somewhere (a local process, a pod); what runs
// there reports to TaskService itself, so a launcher carries no results. What the
// task cannot tell, because it never began or ended with its machine, a launcher
// tells by Observations.
package launcher

import (
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Attempt is all that is needed to run one try at a node. Its task id is
// "<execution id>.<node index>.<attempt number>"; starting it twice is success.
type Attempt = *flowforgev1.AttemptSpec

// Ref names an attempt that was started. Preempt says that it is stopped to make
// room for others: it may take the grace period of its spec to save a checkpoint,
// and runs again.
type Ref struct {
	TaskID    string
	ProjectID string // of its execution
	Preempt   bool
}

// Status tells of an attempt that a launcher knows. One that it does not list
// is not running and has no result to deliver any more.
type Status struct {
	TaskID   string
	Finished bool // ended; its result is not taken by the server yet
}

// Observation is what a launcher saw of an attempt. Fields that are nil say nothing.
// The same thing may be observed many times, in any order and by several servers.
type Observation struct {
	TaskID   string
	Location *Location
	Waiting  *Waiting // why it has not begun
	Serving  *Serving // others may begin to use it
	End      *End     // it is over, and its runner cannot say so
	Events   []Event
}

// Location is where an attempt runs.
type Location struct {
	Namespace string
	Pod       string
	Machine   string // the cluster's node; empty while it is not placed
}

// Serving says that the pod of an attempt that serves others is ready.
type Serving struct {
	Address string // of the pod
}

// Waiting says why an attempt has not begun: a code for programs and a sentence
// for people, with the cluster's own words.
type Waiting struct {
	Code    string // one of the Wait constants
	Message string
}

// Codes of Waiting.
const (
	WaitUnschedulable = "UNSCHEDULABLE"  // no machine of the cluster has room
	WaitImage         = "IMAGE_PULL"     // its image is pulled, or cannot be
	WaitStarting      = "POD_STARTING"   // volumes, init containers
	WaitGang          = "GANG"           // not all pods of a gang have begun
	WaitCluster       = "CLUSTER_AWAY"   // the cluster's API does not answer
	WaitResident      = "RESIDENT_QUEUE" // a warm pod takes it next
)

// End is how an attempt ended that its runner cannot report.
type End struct {
	Class      Class
	Message    string
	ExitCode   *int
	StartedAt  *time.Time
	FinishedAt time.Time
}

// Event is one event of an attempt's pod, such as the cluster keeps for an hour.
// An event is known by its ID; a repetition has a higher Count.
type Event struct {
	ID      string
	At      time.Time
	Warning bool
	Reason  string // such as "FailedScheduling"
	Message string
	Count   int
}

// Class says what kind of end an attempt came to, finer than its outcome.
type Class string

// The classes that a launcher or a runner gives. Of those that are the
// infrastructure's doing (see Outside) the attempt is repeated without a retry.
const (
	ClassError       Class = "error"         // the command ended with an error
	ClassOutOfMemory Class = "out_of_memory" // killed at its memory limit
	ClassDeadline    Class = "timeout"       // longer than its timeout or its pod's deadline
	ClassImage       Class = "image"         // its image cannot be had
	ClassInit        Class = "init_failed"   // an init container fails
	ClassRefused     Class = "refused"       // the cluster does not admit its pod
	ClassStart       Class = "start_failed"  // its containers cannot be started
	ClassToken       Class = "token_expired" // its credentials are not taken any more
	ClassEvicted     Class = "evicted"       // its machine ran out of memory or disk
	ClassPreempted   Class = "preempted"     // the cluster's scheduler gave its place away
	ClassMachineLost Class = "node_lost"     // its machine is gone or silent
	ClassDeleted     Class = "deleted"       // somebody deleted its pod
	ClassNamespace   Class = "namespace"     // its namespace is going away
	ClassGang        Class = "gang"          // not all its pods began in time, or one was lost
)

// Outside reports whether c is not the task's own doing.
func (c Class) Outside() bool {
	switch c {
	case ClassEvicted, ClassPreempted, ClassMachineLost, ClassDeleted, ClassNamespace, ClassGang, ClassToken:
		return true
	default:
		return false
	}
}
