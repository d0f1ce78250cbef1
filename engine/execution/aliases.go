package execution

import (
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Types of the read side. New code uses package query.
type (
	Attempt        = query.Attempt
	CacheNote      = query.CacheNote
	ChildCounts    = query.ChildCounts
	ClusterState   = query.ClusterState
	ClusterView    = query.ClusterView
	ClusterWait    = query.ClusterWait
	ClusterWaits   = query.ClusterWaits
	Counts         = query.Counts
	EarlierFailure = query.EarlierFailure
	Estimate       = query.Estimate
	Event          = query.Event
	EventFilter    = query.EventFilter
	Execution      = query.Execution
	Failure        = query.Failure
	Filter         = query.Filter
	GPUState       = query.GPUState
	Hours          = query.Hours
	Lease          = query.Lease
	MachineState   = query.MachineState
	NamespaceState = query.NamespaceState
	Node           = query.Node
	NodeDetail     = query.NodeDetail
	NodeFilter     = query.NodeFilter
	Origin         = query.Origin
	Person         = query.Person
	PodEvent       = query.PodEvent
	Priority       = query.Priority
	Progress       = query.Progress
	Question       = query.Question
	QueueEntry     = query.QueueEntry
	Reason         = query.Reason
	Span           = query.Span
	State          = query.State
	UsageLine      = query.UsageLine
	Waiting        = query.Waiting
)

// States, priorities, uses of an origin and cache results.
const (
	OriginTaken  = query.OriginTaken
	OriginCached = query.OriginCached
	OriginBefore = query.OriginBefore
	Pending      = query.Pending
	Running      = query.Running
	Paused       = query.Paused
	Succeeded    = query.Succeeded
	Failed       = query.Failed
	Cancelled    = query.Cancelled
	Low          = query.Low
	Normal       = query.Normal
	High         = query.High
	CacheHit     = query.CacheHit
	CacheMiss    = query.CacheMiss
	CacheIgnored = query.CacheIgnored
)

// ParseState returns the state that text names in any case.
func ParseState(text string) (State, error) { return query.ParseState(text) }

// ParsePriority reads LOW, NORMAL, HIGH or a number from 0 to 100; "" is NORMAL.
func ParsePriority(text string) (Priority, error) { return query.ParsePriority(text) }

// ShortID returns the suffix of an id that text names, as in "#8c6804", without the "#". It
// reports false for text that cannot be a suffix.
func ShortID(text string) (string, bool) { return query.ShortID(text) }

// OperatorOf returns the operator of a node in the version that its execution runs; false
// when the version does not have it.
func OperatorOf(v workflow.Version, n Node) (*workflow.Operator, bool) { return query.OperatorOf(v, n) }

// TaskID names an attempt: "<execution>.<node index>.<attempt>".
func TaskID(execution uuid.UUID, node, attempt int) string {
	return query.TaskID(execution, node, attempt)
}
