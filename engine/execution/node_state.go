package execution

import (
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// nodeState is what the loop knows of a node beside its state.
type nodeState struct {
	op         *workflow.Operator
	graph      string // in which op stands
	name       string
	level      int
	index      int            // of the item that it is, or -1
	item       any            // of a fan-out
	inputs     map[string]any // of the graph that it became
	children   children
	attempt    int
	retries    int
	stopSent   bool
	cancelled  *Reason         // it was cancelled alone
	memory     int             // MiB of each pod that its next attempt asks for at least, after one that ran out of it
	locked     bool            // it holds its locks
	onHold     bool            // somebody keeps it from beginning
	endCommand *db.NodeCommand // says how it ends once its attempt has
	reserved   fair.Amount
	machine    string // with the GPUs devices, when it has any
	devices    []int
	preempted  *Reason // who needed the room, once its attempt was asked to make it
	address    string  // where its attempt serves others, once that is known
	recalled   *Reason // what became of what it reads, once its attempt was stopped because of that
	reason     *Reason
	failure    *Failure
	readyAt    *time.Time
	startedAt  *time.Time
	finishedAt *time.Time
	retryAt    *time.Time

	cacheState cacheState
	origin     *origin             // nil: it goes on from nothing
	changed    map[string]struct{} // in a resumed execution, inputs of the graph that it became that have another value
}
