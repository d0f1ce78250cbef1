package runner

import (
	"testing"
	"time"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestStartsThatOthersWaitForAreNotHeld: on a busy machine, too, their reports are due early.
func TestStartsThatOthersWaitForAreNotHeld(t *testing.T) {
	t.Parallel()
	s := &Supervisor{reporter: newReporter(nil, nil, nil)}
	s.commands.Store(1_000_000)
	for name, c := range map[string]struct {
		spec *flowforgev1.AttemptSpec
		want time.Duration
	}{
		"alone":    {&flowforgev1.AttemptSpec{}, startedHoldMost},
		"service":  {&flowforgev1.AttemptSpec{Serves: true}, startedHold},
		"producer": {&flowforgev1.AttemptSpec{Outputs: []*flowforgev1.OutputSpec{{Storage: channel.HintStreaming}}}, startedHold},
	} {
		a := &attempt{s: s, spec: c.spec, box: &outbox{}}
		a.started(1)
		if at, ok := a.box.due(); !ok || at.Sub(a.begin) != c.want || a.box.started.Awaited != (name != "alone") {
			t.Errorf("%s: due %v after the start, %v", name, at.Sub(a.begin), ok)
		}
	}
}

func TestStartReportsWaitLongerOnBusyMachines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		commands, processors int
		want                 time.Duration
	}{
		{0, 2, startedHold}, {1, 2, startedHold}, {2, 2, startedHold}, {3, 2, 2 * startedHold}, {20, 2, 10 * startedHold},
		{20, 64, startedHold}, {1000, 2, startedHoldMost},
	} {
		if got := holdOf(c.commands, c.processors); got != c.want {
			t.Errorf("%d commands on %d processors: %v instead of %v", c.commands, c.processors, got, c.want)
		}
	}
}
