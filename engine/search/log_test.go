package search_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/search"
)

func TestQueriesOfLogs(t *testing.T) {
	t.Parallel()
	e := parse(t, `(log ~ "CUDA" or log ~ "NCCL timeout") and not log ~ "warning" and log ~ "CUDA" and lr > 0.1`)
	require.Equal(t, []string{"CUDA", "NCCL timeout"}, search.LogTexts(e))
	require.True(t, search.UsesLogs(e))
	require.True(t, search.UsesLogs(parse(t, `not log ~ "warning"`)))
	require.False(t, search.UsesLogs(parse(t, "lr > 0.1")))
	for query, message := range map[string]string{
		"log:CUDA":         "log is searched with ~",
		"log !~ CUDA":      "log is searched with ~",
		"has:log":          "log is searched with ~",
		"log in (CUDA, x)": "log is searched with ~",
		"log ~ ab":         "at least 3 characters",
	} {
		_, err := search.Parse(query, search.Context{Names: names(), Now: now})
		require.ErrorContains(t, err, message, query)
	}
}

func TestAQueryWithoutATextOfLogs(t *testing.T) {
	t.Parallel()
	for query, others := range map[string][]string{
		`log ~ "CUDA"`:                        nil,
		`log ~ "CUDA" and lr > 0.1`:           nil,
		`log ~ "CUDA" and log ~ "NCCL"`:       {"NCCL"},
		`log ~ "CUDA" or lr > 0.1`:            {"CUDA"},
		`(log ~ "CUDA" or log ~ "NCCL") a`:    {"CUDA", "NCCL"},
		`log ~ "CUDA" and (a or log ~ "b2b")`: {"b2b"},
	} {
		require.Equal(t, others, search.LogTexts(search.WithoutLog(parse(t, query), "CUDA")), query)
	}
	without := search.WithoutLog(parse(t, `not log ~ "CUDA"`), "CUDA")
	require.True(t, search.UsesLogs(without), "an excluded text is a condition of its own")
}

func TestTheEarliestLaunchOfAQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]time.Duration{
		"since:7d":                   7 * 24 * time.Hour,
		"since:7d since:2d lr > 0.1": 2 * 24 * time.Hour,
		"(since:3d and lr > 0.1)":    3 * 24 * time.Hour,
		"since:7d or lr > 0.1":       0,
		"not since:7d":               0,
		"until:7d":                   0,
	} {
		from, bounded := search.LaunchedFrom(parse(t, query))
		require.Equal(t, want != 0, bounded, query)
		if bounded {
			require.Equal(t, now.Add(-want), from, query)
		}
	}
}
