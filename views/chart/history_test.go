package chart_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views/chart"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	sample := func(minute int, used, limit, waiting float64) chart.Sample {
		return chart.Sample{At: begin.Add(time.Duration(minute) * time.Minute), Used: used, Limit: limit, Waiting: waiting}
	}
	options := chart.HistoryOptions{
		From: begin, To: begin.Add(time.Hour), Gap: 3 * time.Minute, Zone: time.UTC,
		Format: func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) },
	}
	h := chart.NewHistory([]chart.Sample{sample(0, 2, 4, 0), sample(1, 6, 4, 2), sample(30, 1, -1, 0)}, options)
	require.Equal(t, "8", h.GridY[len(h.GridY)-1].Text)
	require.Equal(t, []string{"M52,145L63,145L63,100L63,190L52,190Z", "M382,167.5L384,167.5L384,190L382,190Z"}, h.Own, "the pause splits the area")
	require.Len(t, h.Borrowed, 1)
	require.Equal(t, []string{"52,145 63,145 63,10"}, h.Waiting)
	require.Equal(t, []string{"52,100 63,100"}, h.Limit)
	require.True(t, h.AnyBorrowed && h.AnyWaiting && h.AnyLimit)
	require.True(t, chart.NewHistory(nil, options).Empty)
}

func TestColumns(t *testing.T) {
	t.Parallel()
	got := chart.Columns([]float64{10, 0, 0.01}, 300, 70, 8)
	require.Equal(t, chart.Column{X: "15", W: "70", Y: "8", H: "70", MidX: "50"}, got[0])
	require.Equal(t, "0", got[1].H)
	require.Equal(t, "1", got[2].H, "a small value stays visible")
}
