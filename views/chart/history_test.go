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
	require.Equal(t, []string{"M0,145L16.7,145L16.7,100L16.7,190L0,190Z", "M500,167.5L504,167.5L504,190L500,190Z"}, h.Own, "the pause splits the area")
	require.Len(t, h.Borrowed, 1)
	require.Equal(t, []string{"0,145 16.7,145 16.7,10"}, h.Waiting)
	require.Equal(t, []string{"0,100 16.7,100"}, h.Limit)
	require.True(t, h.AnyBorrowed && h.AnyWaiting && h.AnyLimit)
	require.True(t, chart.NewHistory(nil, options).Empty)
}

func TestColumns(t *testing.T) {
	t.Parallel()
	got := chart.Columns([]float64{10, 0, 0.01}, 70, 8)
	require.Equal(t, chart.Column{X: "5%", W: "23.33%", Y: "8", H: "70", MidX: "16.67%"}, got[0])
	require.Equal(t, "0", got[1].H)
	require.Equal(t, "1", got[2].H, "a small value stays visible")
}
