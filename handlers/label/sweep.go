package label

import (
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
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

// SweepBar is the progress of a sweep.
func SweepBar(s sweep.Sweep) ui.Bar {
	c := s.Counts
	return ui.NewBar("runs", []ui.Count{
		{State: "SUCCEEDED", N: c.Succeeded}, {State: "RUNNING", N: c.Running}, {State: "FAILED", N: c.Failed + c.Refused},
		{State: "CANCELLED", N: c.Cancelled + c.StoppedEarly}, {State: "PENDING", N: max(0, s.Planned-c.Ended()-c.Running)},
	})
}
