package schedules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/views"
)

// TestTheLoadOfADay: each hour shows which of its runs were decided.
func TestTheLoadOfADay(t *testing.T) {
	t.Parallel()
	var d schedule.MonthDay
	d.Hours[13], d.Decided[13] = 2, 2
	d.Hours[14], d.Decided[14] = 4, 1
	d.Hours[15] = 1
	bars, text := loadOf(d, 4)
	require.Equal(t, "Runs per hour; peak 4 at 14:00", text)
	require.Equal(t, []views.CalendarBar{
		{X: "52", Y: "12", Height: "12", Title: "13:00: 2 runs", Past: true},
		{X: "56", Y: "18", Height: "6", Title: "14:00: 4 runs", Past: true}, {X: "56", Y: "0", Height: "18", Title: "14:00: 4 runs"},
		{X: "60", Y: "18", Height: "6", Title: "15:00: 1 run"},
	}, bars)
}
