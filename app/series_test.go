package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/platform/observability"
)

// TestWorkflowSeries: a scrape returns the metrics that the engine stores.
func TestWorkflowSeries(t *testing.T) {
	t.Parallel()
	p := &parts{pool: dbtest.New(t)}
	_, err := p.pool.Exec(t.Context(), `INSERT INTO workflow_series (project_id, key, name, labels, kind, help, value, bounds, counts, created_at, updated_at)
		SELECT p.id, k, 'argo_workflows_' || k, s.labels::jsonb, s.kind, 'h', value, bounds::float8[], counts::bigint[], now() + value * interval '1 s', now()
		FROM tenancy_nodes p, (VALUES ('a', '{"k": "v"}', 'counter', 1, '{}', '{}'), ('b', '{}', 'histogram', 2, '{0.5,1}', '{3,0,1}')) AS s(k, labels, kind, value, bounds, counts)
		WHERE p.kind = 'project'`)
	require.NoError(t, err)
	series, err := workflowSeries(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, []observability.Series{
		{
			Tenant: "local", Project: "local/default", Name: "argo_workflows_a", Labels: map[string]string{"k": "v"}, Kind: "counter", Help: "h", Value: 1,
			Bounds: []float64{}, Counts: []int64{},
		},
		{
			Tenant: "local", Project: "local/default", Name: "argo_workflows_b", Labels: map[string]string{}, Kind: "histogram", Help: "h", Value: 2,
			Bounds: []float64{0.5, 1}, Counts: []int64{3, 0, 1},
		},
	}, series)
}
