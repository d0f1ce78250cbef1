package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// resumeDocument has a node that fails because of an input, after other nodes that
// succeed.
const resumeDocument = `{
	"name": "story.resume", "version": "1.0.0",
	"inputs": [
		{"name": "rate", "type": "Float", "default": 0.1},
		{"name": "seed", "type": "Integer", "default": 1}
	],
	"outputs": [{"name": "data", "type": "File", "from": "load.data"}, {"name": "score", "type": "Float", "from": "train.score"}],
	"operators": [
		{"name": "load", "type": "python", "cache": true, "inputs": [{"name": "seed", "from": "inputs.seed"}], "outputs": [{"name": "data", "type": "File"}],
			"code": {"script": "from flowforge import client\nclient.output_path('data').write_text('rows')"}},
		{"name": "train", "type": "python", "resources": {"cpu": 0.5, "memory": "128Mi"}, "retry": {"fail_fast": false}, "inputs": [{"name": "rate", "from": "inputs.rate"}, {"name": "data", "from": "load.data"}],
			"outputs": [{"name": "score", "type": "Float"}],
			"code": {"script": "from flowforge import client\nassert client.inputs['rate'] < 1, 'the rate must be below 1'\nclient.output('score', client.inputs['rate'])"}},
		{"name": "other", "type": "noop"},
		{"name": "report", "type": "shell", "depends_on": ["train", "other"], "code": {"script": "echo done"}}
	]
}`

// nodesOf returns the nodes of an execution from the API, by name.
func (s *server) nodesOf(t *testing.T, id string) map[string]resumedNode {
	t.Helper()
	var page struct {
		Nodes []resumedNode `json:"nodes"`
	}
	s.api(t, http.MethodGet, "/executions/"+id+"/nodes", nil, &page)
	nodes := map[string]resumedNode{}
	for _, n := range page.Nodes {
		nodes[n.Operator] = n
	}
	return nodes
}

type resumedNode struct {
	Operator string         `json:"operator"`
	Status   string         `json:"status"`
	Attempt  int            `json:"attempt"`
	Outputs  map[string]any `json:"outputs"`
	Origin   *struct {
		ExecutionID string `json:"execution_id"`
		Use         string `json:"use"`
	} `json:"origin"`
}

// TestResumeWithAnotherInput: a user finds the cause of a failure, changes the input,
// previews what would run again, and resumes the execution. Results of succeeded nodes
// are reused, not copied.
func TestResumeWithAnotherInput(t *testing.T) {
	t.Parallel()
	s := shared.server
	s.api(t, http.MethodPost, "/workflows", rawJSON(resumeDocument), nil)
	id := s.launch(t, "story.resume", map[string]any{"rate": 2})
	require.Equal(t, "FAILED", s.wait(t, id, ended).Status)
	page := open(t, options{tolerates: []string{"status of 422", "status of 409"}})

	visit(t, page, "/executions/"+id)
	holds(t, page.Locator("main"), "the rate must be below 1")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Resume…"}))
	preview := page.Locator("#launch-check")
	holds(t, preview, "2 of 4 nodes run")
	line := func(node string) playwright.Locator {
		return preview.Locator("li", playwright.LocatorLocatorOptions{Has: page.GetByRole("link", playwright.PageGetByRoleOptions{Name: node, Exact: new(true)})})
	}
	holds(t, line("train"), "It failed.")
	holds(t, line("load"), "reused")
	audit(t, page)
	noSidewaysScroll(t, page)

	fill(t, input(page, "seed"), "7")
	holds(t, line("load"), "It reads seed, which changed.")
	holds(t, preview, "3 of 4 nodes run")
	fill(t, input(page, "seed"), "1")
	fill(t, input(page, "rate"), "0.5")
	holds(t, line("train"), "It reads rate, which changed.")
	holds(t, line("load"), "reused")
	holds(t, preview, "2 → 0.5")

	form := page.URL()
	visit(t, page, "/executions/"+id)
	visit(t, page, form)
	hasValue(t, input(page, "rate"), "0.5")
	holds(t, preview, "2 → 0.5")
	var list struct {
		Executions []struct {
			ResumeOf string `json:"resume_of"`
		} `json:"executions"`
	}
	s.api(t, http.MethodGet, "/executions?workflow=story.resume", nil, &list)
	for _, e := range list.Executions {
		require.NotEqual(t, id, e.ResumeOf, "opening the form again resumes nothing")
	}

	click(t, page.Locator("#resources summary"))
	cores := page.GetByLabel("CPU cores of train")
	fill(t, cores, "4000")
	holds(t, preview, "Cannot run here")
	fill(t, cores, "0.25")
	fill(t, page.GetByLabel("Memory of All that run"), "256 MiB")
	holds(t, preview, "train CPU 0.5 → 0.25")
	fill(t, page.Locator("#execution-ttl"), "soon")
	holds(t, preview, "a duration such as")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Resume", Exact: new(true)}))
	holds(t, page.Locator(".error-summary"), "Nothing was resumed: 1 value needs attention")
	hasValue(t, cores, "0.25")
	audit(t, page)
	fill(t, page.Locator("#execution-ttl"), "12h")
	_, err := page.Locator("#execution-priority").SelectOption(playwright.SelectOptionValues{Values: &[]string{"HIGH"}})
	require.NoError(t, err)
	holds(t, preview, "2 of 4 nodes run")
	picture(t, page, "resume-form")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Resume", Exact: new(true)}))
	next := arrived(t, page)
	require.NotEqual(t, id, next)
	require.Equal(t, "SUCCEEDED", s.wait(t, next, ended).Status)
	visible(t, headState(page, "SUCCEEDED"))
	audit(t, page)

	before, after := s.nodesOf(t, id), s.nodesOf(t, next)
	require.Equal(t, before["load"].Outputs, after["load"].Outputs, "the same artifact")
	require.Zero(t, after["load"].Attempt, "it did not run")
	require.Equal(t, "TAKEN", after["load"].Origin.Use)
	require.Equal(t, id, after["load"].Origin.ExecutionID)
	require.Equal(t, 1, after["train"].Attempt)
	var e struct {
		Priority  int               `json:"priority"`
		TTL       map[string]string `json:"ttl"`
		Artifacts []struct {
			Name string `json:"name"`
		} `json:"artifacts"`
	}
	s.api(t, http.MethodGet, "/executions/"+next, nil, &e)
	require.Equal(t, map[string]string{"after_completion": "12h"}, e.TTL)
	require.Greater(t, e.Priority, 50)
	s.api(t, http.MethodGet, "/executions/"+next+"/artifacts", nil, &e)
	require.Empty(t, e.Artifacts, "nothing was copied")

	visit(t, page, "/executions/"+next+"/nodes/load")
	click(t, page.Locator("main").GetByRole("link", playwright.LocatorGetByRoleOptions{Name: fmt.Sprintf("load in execution #%s", id[len(id)-6:])}))
	holds(t, page.Locator("main h1"), "load")
}

// TestResumeOfASuccessNeedsANode: a succeeded execution is resumed only from a given
// node; on a phone and without JavaScript.
func TestResumeOfASuccessNeedsANode(t *testing.T) {
	t.Parallel()
	s := shared.server
	s.api(t, http.MethodPost, "/workflows", rawJSON(resumeDocument), nil)
	id := s.launch(t, "story.resume", map[string]any{"rate": 0.2, "seed": 3})
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	page := open(t, options{noScript: true, width: 390, dark: true, tolerates: []string{"status of 409"}})
	visit(t, page, "/executions/"+id+"/resume")
	noSidewaysScroll(t, page)
	holds(t, page.Locator("#launch-check"), "Choose the node to rerun from")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Resume", Exact: new(true)}))
	holds(t, page.Locator(".error-summary"), "Nothing was resumed: the execution succeeded. Choose the node to rerun from")
	noSidewaysScroll(t, page)
	fill(t, page.Locator("#resume-from"), "report")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Preview", Exact: new(true)}).Last())
	holds(t, page.Locator("#launch-check"), "1 of 4 nodes run")
	holds(t, page.Locator("#launch-check"), "You chose to start here.")
	noSidewaysScroll(t, page)
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Resume", Exact: new(true)}))
	next := arrived(t, page)
	require.Equal(t, "SUCCEEDED", s.wait(t, next, ended).Status)
	noSidewaysScroll(t, page)
}
