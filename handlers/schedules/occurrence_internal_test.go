package schedules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/views/ui"
)

// TestARunNamesTheCauseOfItsFailure: the table of runs has room for a few words.
func TestARunNamesTheCauseOfItsFailure(t *testing.T) {
	t.Parallel()
	line := occurrenceOf(ui.Clock{}, schedule.Occurrence{Failure: "The command exited with code 3: ValueError: 12 missing values."})
	require.Equal(t, "ValueError: 12 missing values.", line.Note)
}
