package execution

import "github.com/flowforge/flowforge/compute/launcher"

// Codes of a Reason that the engine itself gives.
const (
	ReasonBackoff     = "RETRY_BACKOFF"   // waits for the time of the next attempt
	ReasonInterrupted = "INTERRUPTED"     // runs again because its machine or runner went away
	ReasonUpstream    = "UPSTREAM_FAILED" // can never run
	ReasonHalted      = "HALTED"          // ended because the execution was cancelled or failed fast
	ReasonStopping    = "STOPPING"        // its attempt was told to stop
)

// Codes of a Reason that launchers give for an attempt that has not begun.
const (
	WaitUnschedulable = launcher.WaitUnschedulable
	WaitImage         = launcher.WaitImage
	WaitGang          = launcher.WaitGang
	WaitCluster       = launcher.WaitCluster
)
