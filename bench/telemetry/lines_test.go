package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinesKeepTheirRateAndTheirTime(t *testing.T) {
	t.Parallel()
	clock := time.UnixMicro(1_790_000_000_000_000)
	begin := clock
	var out strings.Builder
	err := writeLines(&out, 500, 1000, func() time.Time { return clock }, func(d time.Duration) { clock = clock.Add(d) })
	require.NoError(t, err)
	assert.Equal(t, 500*time.Millisecond, clock.Sub(begin), "500 lines at 1,000 lines/s")
	assert.Equal(t, 500, strings.Count(out.String(), "\n"))

	found := ages(out.String(), clock.Add(time.Second))
	require.Len(t, found, 500)
	assert.Equal(t, 1490*time.Millisecond, found[0], "the first line was written after one step")
	assert.Equal(t, time.Second, found[499])
	assert.Empty(t, ages("step=3 without a time", clock))
}

func TestLinesWithoutRateDoNotWait(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, writeLines(&out, 10, 0, time.Now, func(time.Duration) { t.Error("it waits") }))
	assert.Equal(t, 10, strings.Count(out.String(), "\n"))
}

// TestSlowTasksSleepUntilTheirNextLine: hundreds of them must not use the processor that is measured.
func TestSlowTasksSleepUntilTheirNextLine(t *testing.T) {
	t.Parallel()
	clock := time.UnixMicro(1_790_000_000_000_000)
	sleeps := 0
	err := writeLines(&strings.Builder{}, 10, 2, func() time.Time { return clock }, func(d time.Duration) {
		clock = clock.Add(d)
		sleeps++
	})
	require.NoError(t, err)
	assert.LessOrEqual(t, sleeps, 20)
}
