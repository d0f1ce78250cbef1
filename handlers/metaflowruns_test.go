package handlers_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// runsOf are the runs that a page lists, as "flow/run".
func runsOf(body string) []string {
	found := []string{}
	for _, m := range regexp.MustCompile(`<a class="cover" href="/executions/metaflow/([^"]+)"`).FindAllStringSubmatch(body, -1) {
		found = append(found, m[1])
	}
	return found
}

// TestMetaflowRunsAreListed: filters, pages and the search find runs of all flows.
func TestMetaflowRunsAreListed(t *testing.T) {
	t.Parallel()
	b, c := metaflowOf(t)
	require.NotContains(t, c.get(t, "/executions").body, "/executions/metaflow", "no tab without runs")
	require.Contains(t, c.get(t, "/executions/metaflow").body, "No runs of Metaflow yet")
	c.write("/flows/Evaluate", `{}`)
	for i, flow := range []string{"Train", "Evaluate", "Train"} {
		c.write("/flows/"+flow+"/run", fmt.Sprintf(`{"run_number": "r%d", "user_name": "u", "tags": ["part:%d"], "system_tags": ["user:mia%d"]}`, i, i%2, i))
	}
	c.write("/flows/Train/runs/r0/steps/end/step", `{}`)
	c.write("/flows/Train/runs/r0/steps/end/task", `{"task_id": "t"}`)
	c.write("/flows/Train/runs/r0/steps/end/tasks/t/metadata", `[{"field_name": "attempt_ok", "value": "True", "type": "x", "user_name": "mia"}]`)

	require.Contains(t, c.get(t, "/executions").body, `href="/executions/metaflow"`)
	get := func(query string) []string { return runsOf(c.get(t, "/executions/metaflow?"+query).body) }
	require.Equal(t, []string{"Train/r2", "Evaluate/r1", "Train/r0"}, get(""))
	require.Equal(t, []string{"Train/r2", "Train/r0"}, get("q=train"))
	require.Equal(t, []string{"Evaluate/r1"}, get("q=Evaluate/r1"))
	require.Equal(t, []string{"Evaluate/r1"}, get("user=MIA1"))
	require.Equal(t, []string{"Train/r2", "Train/r0"}, get("tag=part:0"))
	require.Equal(t, []string{"Train/r0"}, get("status=completed"))
	require.Equal(t, []string{"Train/r2"}, get("status=running&q=Train"))
	require.Contains(t, c.get(t, "/executions/metaflow?status=failed").body, "No run matches")
	for _, bad := range []string{"status=lost", "after=x", "after=0"} {
		require.Equal(t, http.StatusUnprocessableEntity, c.get(t, "/executions/metaflow?"+bad).status, bad)
	}
	require.Contains(t, c.get(t, "/search?q=evaluate").body, `href="/executions/metaflow/Evaluate/r1"`)

	_, err := b.pool.Exec(b.ctx, `INSERT INTO metaflow_runs (project_id, flow_id, user_name, ts_epoch) SELECT project_id, 'Train', 'u', 1 FROM metaflow_flows, generate_series(1, 60) WHERE flow_id = 'Train'`)
	require.NoError(t, err)
	first := c.get(t, "/executions/metaflow")
	require.Len(t, runsOf(first.body), 50)
	older := regexp.MustCompile(`/executions/metaflow\?after=\d+`).FindString(first.body)
	require.Len(t, runsOf(c.get(t, older).body), 13)
}
