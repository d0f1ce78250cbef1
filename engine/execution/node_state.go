package execution

import (
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// nodeState is the loop's knowledge about a node besides its state.
type nodeState struct {
	op         *workflow.Operator
	graph      string // that contains op
	name       string
	level      int
	index      int            // of the item that it represents, or -1
	item       any            // of a fan-out
	inputs     map[string]any // of the graph that it expanded into
	children   children
	attempt    int
	retries    int
	stopSent   bool
	cancelled  *query.Reason   // it was cancelled individually
	memory     int             // minimum MiB of each pod of its next attempt, after one that ran out of memory
	locked     bool            // it has its locks
	onHold     bool            // a user keeps it from beginning
	endCommand *db.NodeCommand // determines its end once its attempt has ended
	reserved   fair.Amount
	machine    string // whose GPUs are devices, if it has any
	devices    []int
	preempted  *query.Reason // the preemptor, once its attempt was asked to end
	address    string        // at which its attempt serves others, once known
	recalled   *query.Reason // why its source ended, once its attempt was stopped because of that
	reason     *query.Reason
	failure    *query.Failure
	readyAt    *time.Time
	startedAt  *time.Time
	finishedAt *time.Time
	retryAt    *time.Time

	polling    *query.Polling // of a sensor; nil: it has not begun to wait
	cacheState cacheState
	origin     *origin             // nil: it continues no earlier node
	changed    map[string]struct{} // in a resumed execution, changed inputs of the graph that it expanded into
}

// polled is the number of the last attempt that was a poll with an answer.
func (n *nodeState) polled() int {
	if n.polling == nil {
		return 0
	}
	return n.polling.Attempt
}
