package backfills

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSparseTimesAreDrawnByYear: times of each month are listed by year, and those of each day on months.
func TestSparseTimesAreDrawnByYear(t *testing.T) {
	t.Parallel()
	start := time.Date(2025, 11, 15, 2, 30, 0, 0, time.UTC)
	var monthly, daily []cell
	for i := range 4 {
		monthly = append(monthly, cell{at: start.AddDate(0, i, 0), state: "PENDING", word: "Pending"})
	}
	for i := range 90 {
		daily = append(daily, cell{at: start.AddDate(0, 0, i), state: "PENDING", word: "Pending"})
	}
	years := calendars(monthly)
	require.Len(t, years, 2)
	require.Equal(t, "2025", years[0].Name)
	require.True(t, years[0].Sparse)
	require.Len(t, years[0].Days, 2)
	require.Equal(t, "15 Nov", years[0].Days[0].Number)
	require.Equal(t, "15 November 02:30: Pending", years[0].Days[0].Label)
	months := calendars(daily)
	require.Len(t, months, 4)
	require.False(t, months[0].Sparse)
	require.Len(t, months[0].Days, 30)
}
