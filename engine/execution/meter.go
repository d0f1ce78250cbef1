package execution

import (
	"time"

	"github.com/flowforge/flowforge/engine/dag"
)

// Meter is told how often things happen and how long they take. It is called while
// others wait: it does not block.
type Meter interface {
	ObserveDuration(what string, d time.Duration)
	Count(what, label string, n int)
}

// What a Meter is told of. Labels are the state of a node, the code of a reason, the
// call of the launcher, whose budget it is, what a breaker became.
const (
	MeterTransition    = "transition"     // from the decision to its being durable
	MeterAdmission     = "admission"      // one question to the quotas
	MeterNodeState     = "node_state"     // a node has come to a state
	MeterRefusal       = "refusal"        // a request was not admitted at once
	MeterRetry         = "retry"          // an attempt is tried again
	MeterRetryDelayed  = "retry_delayed"  // a retry waits because a budget is used up
	MeterBreaker       = "breaker"        // a breaker opened or closed
	MeterLauncherError = "launcher_error" // a call failed and is repeated
	MeterSeriesRefused = "series_refused" // of a workflow's metrics, because its project has as many as it may
)

// noMeter tells nobody.
type noMeter struct{}

func (noMeter) ObserveDuration(string, time.Duration) {}
func (noMeter) Count(string, string, int)             {}

// countNodes tells what became of the nodes of a batch that is written.
func (s *Service) countNodes(nodes map[int]*nodeRow) {
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

// countRefused tells how many series of metrics were refused.
func (s *Service) countRefused(n int) {
	if n > 0 {
		s.config.Meter.Count(MeterSeriesRefused, "", n)
	}
}
