package replica

import "sync/atomic"

// Reason is why a request that allows the replica uses the primary.
type Reason string

// The reasons.
const (
	Down     Reason = "down"      // it does not respond, or it is not a replica of this database
	Behind   Reason = "lag"       // it may lack writes that are older than the limit
	OwnWrite Reason = "own_write" // it lacks the last write of the subject
	Failed   Reason = "failed"    // it refused a read, for example in a recovery conflict
)

// Reads counts the requests that allow the replica: those that used it alone, and those that used the
// primary, by reason.
type Reads struct {
	Replica int64
	Primary map[Reason]int64
}

type counters struct{ replica, down, behind, own, failed atomic.Int64 }

// count counts a request. One whose read fails was counted as a read of the replica before.
func (c *counters) count(reason Reason) {
	switch reason {
	case "":
		c.replica.Add(1)
	case Down:
		c.down.Add(1)
	case Behind:
		c.behind.Add(1)
	case OwnWrite:
		c.own.Add(1)
	case Failed:
		c.failed.Add(1)
	}
}

func (c *counters) read() Reads {
	return Reads{Replica: c.replica.Load(), Primary: map[Reason]int64{
		Down: c.down.Load(), Behind: c.behind.Load(), OwnWrite: c.own.Load(), Failed: c.failed.Load(),
	}}
}
