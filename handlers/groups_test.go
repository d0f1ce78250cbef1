package handlers_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views/viewtest"
)

// groupsDocument has 120 items, 12 of which fail in one way, graphs
// in a fan-out, a skipped node and one that could not run.
const groupsDocument = `
name: groups.flow
version: 1.0.0
operators:
  - {name: start, type: noop}
  - {name: each, type: noop, depends_on: [start], when: "item % 10 != 3 || item.x > 1", foreach: {range: {from: 0, to: 119}, allow_partial: true}}
  - {name: outer, type: graph, graph: row, depends_on: [start], foreach: [5, 6], inputs: [{name: n, type: Integer, from: item}]}
  - {name: low, type: noop, when: "false"}
  - {name: after, type: noop, depends_on: [low]}
  - {name: rescue, type: noop, depends: "start.Failed"}
on_exit:
  - {name: tell, type: noop}
graphs:
  row:
    inputs: [{name: n, type: Integer}]
    operators:
      - {name: first, type: noop}
      - {name: cell, type: noop, depends_on: [first], foreach: {expression: "[inputs.n, 2 * inputs.n]"}}
`

// grouped is a site on which groupsDocument has run to its end.
func grouped(t *testing.T) (*testBundle, string) {
	t.Helper()
	b := setup(t)
	b.register(t, groupsDocument)
	b.start(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "groups.flow", Inputs: map[string]any{}})
	require.NoError(t, err)
	e = b.until(t, e.ID, ended)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	return b, e.ID.String()
}

type apiNodes struct {
	Nodes []struct {
		ID        int    `json:"node_id"`
		Operator  string `json:"operator"`
		Status    string `json:"status"`
		ParentID  *int   `json:"parent_id"`
		ItemIndex *int   `json:"item_index"`
		Item      any    `json:"item"`
		Children  *struct {
			Total  int            `json:"total"`
			States map[string]int `json:"states"`
		} `json:"children"`
	} `json:"nodes"`
	NextPage string `json:"next_page"`
}

func (n apiNodes) names() []string {
	var names []string
	for _, node := range n.Nodes {
		names = append(names, node.Operator)
	}
	return names
}

func TestTheAPIListsWhatNodesBecame(t *testing.T) {
	t.Parallel()
	b, id := grouped(t)
	list := func(query string) apiNodes {
		var nodes apiNodes
		b.admin.get(t, "/api/v1/executions/"+id+"/nodes?"+query).into(t, http.StatusOK, &nodes)
		return nodes
	}
	top := list("")
	require.Equal(t, []string{"start", "each", "outer", "low", "after", "rescue", "tell"}, top.names(), "those of the plan alone")
	require.Nil(t, top.Nodes[0].Children)
	require.NotNil(t, top.Nodes[1].Children, "%+v", top.Nodes[1])
	require.Equal(t, 120, top.Nodes[1].Children.Total)
	require.Equal(t, 108, top.Nodes[1].Children.States["SUCCEEDED"])
	require.Equal(t, 12, top.Nodes[1].Children.States["FAILED"])

	items := list("parent=each&limit=100")
	require.Len(t, items.Nodes, 100)
	require.Equal(t, "each[0]", items.Nodes[0].Operator)
	require.Equal(t, top.Nodes[1].ID, *items.Nodes[0].ParentID)
	require.Equal(t, 99, *items.Nodes[99].ItemIndex)
	require.EqualValues(t, 99, items.Nodes[99].Item)
	rest := list("parent=each&limit=100&page=" + items.NextPage)
	require.Len(t, rest.Nodes, 20)
	require.Equal(t, "each[119]", rest.Nodes[19].Operator)
	require.Empty(t, rest.NextPage)

	require.Len(t, list("parent=each&status=failed").Nodes, 12)
	require.Equal(t, []string{"outer[1]/first", "outer[1]/cell"}, list(url.Values{"parent": {"outer[1]"}}.Encode()).names())
	inner := list(url.Values{"parent": {"outer[1]/cell"}}.Encode())
	require.Equal(t, []string{"outer[1]/cell[0]", "outer[1]/cell[1]"}, inner.names())
	require.EqualValues(t, 12, inner.Nodes[1].Item)
	require.Len(t, list("all=true&limit=200").Nodes, 7+120+2+2*(2+2))
	b.admin.get(t, "/api/v1/executions/"+id+"/nodes?parent=missing").problem(t, http.StatusNotFound)

	e := b.admin.get(t, "/api/v1/executions/"+id).object(t, http.StatusOK)
	require.Len(t, e["nodes"], 7)
	attempts := b.admin.get(t, "/api/v1/executions/"+id+"/nodes/"+url.PathEscape("outer[1]/cell[1]")+"/attempts")
	require.Equal(t, http.StatusOK, attempts.status)
}

func TestPagesOfWhatNodesBecame(t *testing.T) {
	t.Parallel()
	b, id := grouped(t)
	x := "/executions/" + id
	node := func(name string) string { return x + "/nodes/" + url.PathEscape(name) }
	for path, expected := range map[string][]string{
		x:                                   {"each × 120", "120 of 120 ended", "12 failed", "On exit", "edge-failure"},
		x + "?node=each%5B4%5D":             {"each[4]", "Open the node"},
		x + "?view=list":                    {"120 of 120 ended", "Skipped", "Include fan-out items and graph nodes"},
		x + "?view=list&all=1&state=FAILED": {"each[13]", "each[113]"},
		node("each"):                        {"120 of 120 items ended", "1 to 50 of 120", "12 items", "allowed (null)", "each[49]"},
		node("each") + "?state=FAILED":      {"each[113]", "12 shown"},
		node("each") + "?q=each%5B7":        {"each[7]", "each[70]"},
		node("each") + "?q=nothing":         {"No items match the filter."},
		node("each[4]"):                     {"index 4 of 120 items", "Previous item", "Next item"},
		node("outer"):                       {"2 of 2 items ended", "Each runs"},
		node("outer[1]"):                    {"2 of 2 nodes ended", `id="inner"`, "cell × 2"},
		node("outer[1]/cell"):               {"2 of 2 items ended", "outer[1]/cell[1]"},
		node("outer[1]/cell[1]"):            {"index 1 of 2 items", ">outer[1]<", ">cell<"},
		node("low"):                         {"Skipped", "Its condition is false: false"},
		node("after"):                       {"Skipped", "low did not succeed"},
		node("rescue"):                      {"Start rule", "start.Failed"},
		node("tell"):                        {"Runs on exit"},
		"/workflows/groups.flow":            {"Graph row", "for each of 120 values", "On exit", "each runs the graph row", "starts if start.Failed"},
		x + "/logs?node=each%5B4%5D":        {"each[4]"},
	} {
		answer := b.admin.get(t, path)
		require.Equal(t, http.StatusOK, answer.status, path)
		for _, want := range expected {
			if !strings.Contains(answer.body, want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
		viewtest.Check(t, answer.body)
	}
	first := b.admin.get(t, node("each")).body
	_, next, found := strings.Cut(first, `href="`+node("each")+"?after=")
	require.True(t, found)
	after, _, _ := strings.Cut(next, "#")
	second := b.admin.get(t, node("each")+"?after="+after).body
	require.Contains(t, second, "51 to 100 of 120")
	require.Contains(t, second, "each[99]")
	require.Contains(t, second, "Previous")
	require.NotContains(t, second, ">each[49]<")
	_, key, found := strings.Cut(first, "?failure=")
	require.True(t, found, "kinds of failures lead to their rows")
	key, _, _ = strings.Cut(key, "#")
	require.Contains(t, b.admin.get(t, node("each")+"?failure="+key).body, "12 shown")
	require.Equal(t, http.StatusNotFound, b.admin.get(t, node("each[120]")).status)
}

func TestAPageOfItemsLives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `
name: groups.live
version: 1.0.0
operators:
  - {name: each, type: shell, foreach: [a, b, c], inputs: [{name: x, type: String, from: item}], outputs: [{name: found, type: Integer}], code: {script: "true"}, resources: {cpu: 100m, memory: 32Mi}}
`)
	b.start(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "groups.live", Inputs: map[string]any{}})
	require.NoError(t, err)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Running == 4 })
	b.appendLog(t, e.ID, "each[1]", 0, 3)
	page := b.admin.get(t, "/executions/"+e.ID.String()+"/nodes/each").body
	require.Contains(t, page, "0 of 3 items ended")
	require.Contains(t, page, "hx-sse:connect")
	ctx, stop := context.WithTimeout(b.ctx, 20*time.Second)
	defer stop()
	stream := b.admin.open(ctx, t, http.MethodGet, "/executions/"+e.ID.String()+"/nodes/each/stream", "", nil)
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	seen := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended without %q: %v", want, lines.Err())
	}
	seen("0 of 3 items ended")
	require.NoError(t, b.executions.Commands.Cancel(b.ctx, e.ID, "enough"))
	seen(`<span class="stack-label">found</span>`) // a replaced row has every column of the table
	seen("event: end")
	b.admin.get(t, "/executions/"+e.ID.String()+"/nodes/each").says(t, http.StatusOK, "0 of 3 items succeeded")
	b.admin.get(t, "/executions/"+e.ID.String()).says(t, http.StatusOK, `<b class="strong">0 of 4 nodes succeeded</b>`)
}
