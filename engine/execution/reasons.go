package execution

import "github.com/flowforge/flowforge/compute/launcher"

// Codes of a Reason that the engine itself sets.
const (
	ReasonBackoff     = "RETRY_BACKOFF"   // waits for its next attempt
	ReasonInterrupted = "INTERRUPTED"     // runs again because its machine or runner was lost
	ReasonUpstream    = "UPSTREAM_FAILED" // can never run
	ReasonHalted      = "HALTED"          // ended because the execution was cancelled or failed with fail-fast
	ReasonStopping    = "STOPPING"        // its attempt was asked to stop
)

// Codes of a Reason that launchers report for an attempt that has not begun.
const (
	WaitUnschedulable = launcher.WaitUnschedulable
	WaitImage         = launcher.WaitImage
	WaitGang          = launcher.WaitGang
	WaitCluster       = launcher.WaitCluster
)
