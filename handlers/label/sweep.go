package label

import (
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/views"
)

// SweepState is the state of a sweep with its symbol.
func SweepState(s sweep.State) views.SweepState {
	switch s {
	case sweep.Running:
		return views.SweepState{Icon: "RUNNING", Word: "Running"}
	case sweep.Paused:
		return views.SweepState{Icon: "PAUSED", Word: "Paused"}
	case sweep.Stopping:
		return views.SweepState{Icon: "RUNNING", Word: "Stopping"}
	case sweep.Succeeded:
		return views.SweepState{Icon: "SUCCEEDED", Word: "Finished"}
	case sweep.Stopped:
	}
	return views.SweepState{Icon: "CANCELLED", Word: "Stopped"}
}
