package observability

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func scrapeSeries(t *testing.T, series ...Series) (text string, failed []error) {
	t.Helper()
	m := NewMetrics("v1", 2)
	m.Watch(Sources{
		Series: func(context.Context) ([]Series, error) { return series, nil },
		Failed: func(_ string, err error) { failed = append(failed, err) },
	})
	return scrape(t, m), failed
}

func TestSeries(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-time.Minute)
	text, failed := scrapeSeries(t,
		Series{Tenant: "acme", Project: "team/p", Name: "argo_workflows_ends", Kind: "counter", Help: "Ends", Value: 3, Labels: map[string]string{"status": "Failed"}},
		Series{Tenant: "acme", Project: "team/q", Name: "argo_workflows_ends", Kind: "counter", Help: "Other words", Value: 5},
		Series{Tenant: "acme", Project: "team/p", Name: "argo_workflows_score", Kind: "histogram", Help: "Scores", Value: 7.5, Bounds: []float64{1, 2.5}, Counts: []int64{1, 2, 4}},
		Series{Tenant: "acme", Project: "team/p", Name: "argo_workflows_left", Kind: "gauge", Help: "Left", Value: -2},
		Series{Tenant: "acme", Project: "team/p", Name: "argo_workflows_running", Kind: "gauge", Help: "Running", Value: 2, LiveSince: &began},
	)
	require.Empty(t, failed)
	for _, line := range []string{
		"# HELP argo_workflows_ends Ends\n# TYPE argo_workflows_ends counter\n",
		`argo_workflows_ends{project="team/p",status="Failed",tenant="acme"} 3`,
		`argo_workflows_ends{project="team/q",tenant="acme"} 5`,
		`argo_workflows_score_bucket{project="team/p",tenant="acme",le="1"} 1`,
		`argo_workflows_score_bucket{project="team/p",tenant="acme",le="2.5"} 3`,
		`argo_workflows_score_bucket{project="team/p",tenant="acme",le="+Inf"} 7`,
		`argo_workflows_score_sum{project="team/p",tenant="acme"} 7.5`,
		`argo_workflows_score_count{project="team/p",tenant="acme"} 7`,
		`argo_workflows_left{project="team/p",tenant="acme"} -2`,
		`argo_workflows_running{project="team/p",tenant="acme"} 6`,
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, "Other words")
}

// TestSeriesThatDoNotFit: conflicting series are omitted and counted; the rest of the
// scrape is complete.
func TestSeriesThatDoNotFit(t *testing.T) {
	t.Parallel()
	fine := Series{Tenant: "a", Project: "p", Name: "x", Kind: "histogram", Help: "h", Bounds: []float64{1}, Counts: []int64{1, 0}}
	for name, odd := range map[string]Series{
		"another type":            {Tenant: "a", Project: "q", Name: "x", Kind: "gauge", Help: "h"},
		"twice":                   fine,
		"a part of a histogram":   {Tenant: "a", Project: "q", Name: "x_count", Kind: "counter", Help: "h"},
		"a name that is none":     {Tenant: "a", Project: "q", Name: "x\xff", Kind: "counter", Help: "h"},
		"a label that is none":    {Tenant: "a", Project: "q", Name: "y", Kind: "counter", Help: "h", Labels: map[string]string{"\xff": "b"}},
		"a value that is no text": {Tenant: "a", Project: "q", Name: "y", Kind: "counter", Help: "h", Labels: map[string]string{"a": "\xff"}},
	} {
		text, failed := scrapeSeries(t, fine, odd, Series{Tenant: "a", Project: "p", Name: "z", Kind: "counter", Help: "h", Value: 4})
		require.Len(t, failed, 1, name)
		require.Contains(t, text, `x_count{project="p",tenant="a"} 1`, name)
		require.Contains(t, text, `z{project="p",tenant="a"} 4`, name)
		require.NotContains(t, text, `project="q"`, name)
		require.Contains(t, text, "flowforge_build_info", name)
	}
	text, failed := scrapeSeries(t, Series{Tenant: "a", Project: "p", Name: "x_sum", Kind: "gauge", Help: "h"}, fine)
	require.Len(t, failed, 1)
	require.Contains(t, text, `x_sum{project="p",tenant="a"} 0`)
	require.NotContains(t, text, "x_bucket")
}
