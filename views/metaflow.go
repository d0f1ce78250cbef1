package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// MetaflowRunsURL lists the runs that Metaflow's client reports.
func MetaflowRunsURL() string { return ExecutionsURL() + "/metaflow" }

// MetaflowFlowURL lists the runs of a flow.
func MetaflowFlowURL(flow string) string {
	return withQuery(MetaflowRunsURL(), url.Values{"q": {flow + "/"}})
}

// MetaflowRunURL is the page of a run.
func MetaflowRunURL(flow, run string) string {
	return MetaflowRunsURL() + "/" + url.PathEscape(flow) + "/" + url.PathEscape(run)
}

// ExecutionKinds are the tabs of the lists of executions: those of FlowForge and the runs of
// Metaflow.
func ExecutionKinds(metaflow bool) []ui.Tab {
	return []ui.Tab{
		{Name: "FlowForge", URL: ExecutionsURL(), Current: !metaflow},
		{Name: "Metaflow", URL: MetaflowRunsURL(), Current: metaflow},
	}
}

// MetaflowRuns is the list of runs; the URL holds all filters.
type MetaflowRuns struct {
	Page
	Query, User, Tag string
	States           []ui.Option
	Chips            []Chip
	Rows             []MetaflowRunRow
	Pager            ui.Pager
	Stream           string // "" on older pages, which have no live updates
	ClearURL         string
}

// MetaflowRunRow is a run in a list.
type MetaflowRunRow struct {
	Number    string // of the element id
	Flow, Run string
	URL       string
	State     string
	User      string
	Tags      []Tag
	Started   ui.Moment
	Took      string
	Since     string // RFC 3339 start of a running run: the page updates the duration
}

func (r MetaflowRunRow) id() string { return "mf-" + r.Number }
