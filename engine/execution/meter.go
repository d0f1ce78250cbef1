package execution

import (
	"time"

	"github.com/flowforge/flowforge/engine/dag"
)

// Meter receives counts and durations. Its callers hold locks: it must not block.
type Meter interface {
	ObserveDuration(what string, d time.Duration)
	Count(what, label string, n int)
}

// Names of measurements. Their labels are the state of a node, the code of a reason, the
// call of the launcher, the owner of a budget, and the new state of a breaker.
const (
	MeterTransition    = "transition"     // from the decision to its commit
	MeterAdmission     = "admission"      // one request to the quotas
	MeterNodeState     = "node_state"     // a node has reached a state
	MeterRefusal       = "refusal"        // a request was not admitted immediately
	MeterRetry         = "retry"          // an attempt is retried
	MeterRetryDelayed  = "retry_delayed"  // a retry waits because a budget is used up
	MeterBreaker       = "breaker"        // a breaker opened or closed
	MeterLauncherError = "launcher_error" // a call failed and is retried
	MeterSeriesRefused = "series_refused" // of a workflow's metrics, because its project has the maximum number of series
)

// noMeter discards all measurements.
type noMeter struct{}

func (noMeter) ObserveDuration(string, time.Duration) {}
func (noMeter) Count(string, string, int)             {}

// countNodes counts the state changes of a written batch.
func (s *Driver) countNodes(nodes map[int]*nodeRow) {
	states := map[dag.State]int{}
	for _, n := range nodes {
		if n.State != n.FromState || n.Attempt != n.FromAttempt {
			states[n.State]++
		}
	}
	for state, n := range states {
		s.config.Meter.Count(MeterNodeState, string(state), n)
	}
	if n := states[dag.Retrying]; n > 0 {
		s.config.Meter.Count(MeterRetry, "", n)
	}
}

// countRefused counts the refused series of metrics.
func (s *Driver) countRefused(n int) {
	if n > 0 {
		s.config.Meter.Count(MeterSeriesRefused, "", n)
	}
}
