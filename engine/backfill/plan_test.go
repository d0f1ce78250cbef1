package backfill

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/schedule"
)

// TestWhatRunsAgain: each rule with each state that an execution can have.
func TestWhatRunsAgain(t *testing.T) {
	t.Parallel()
	statuses := []string{"none", "", "SUCCEEDED", "FAILED", "CANCELLED", "PENDING", "RUNNING", "PAUSED"}
	want := map[Rerun][]bool{
		RerunMissing: {true, false, false, false, false, false, false, false},
		RerunFailed:  {true, false, false, true, true, false, false, false},
		RerunAll:     {true, true, true, true, true, false, false, false},
	}
	slots, found := make([]schedule.Slot, len(statuses)), map[int64]existing{}
	for i, status := range statuses {
		slots[i].Fire = time.Unix(int64(i), 0)
		if status != "none" {
			found[slots[i].Fire.UnixMicro()] = existing{execution: uuid.New(), status: status}
		}
	}
	for _, rule := range Reruns() {
		for i, p := range plan(slots, found, rule) {
			require.Equal(t, want[rule][i], p.Runs, "%s of %s", rule, statuses[i])
			require.Equal(t, statuses[i] == "none", p.ExecutionID == nil)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	require.Equal(t, 3*time.Minute, span(9, 4, time.Minute))
	require.Equal(t, 2*time.Minute, span(8, 4, time.Minute))
	require.Zero(t, span(0, 4, time.Minute))
}
