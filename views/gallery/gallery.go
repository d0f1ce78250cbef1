// Package gallery shows every page and component in every state from fixtures,
// without a database. The same fixtures feed the golden HTML, accessibility and
// screenshot tests.
package gallery

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// Entry is one page of the gallery.
type Entry struct {
	Name      string // in the address
	Title     string
	Component func(frame views.Page) templ.Component
}

// Entries lists the gallery. A frame has the theme, user and path.
func Entries() []Entry {
	return slices.Concat(launchEntries(), runTableEntries(), scheduleEntries(), backfillEntries(), notificationEntries(), inboxEntries(), triggerEntries(), eventEntries(), reportEntries(), sweepEntries(), presetEntries(), quotaEntries(), waitingEntries(), secretEntries(), connectionEntries(), metaflowEntries(), accountEntries(), adminEntries(), clusterEntries(), poolEntries(), projectEntries(), failureEntries(), resumeEntries(), sourceEntries(), previewEntries(), datasetEntries(), []Entry{
		{"home", "Home", func(f views.Page) templ.Component { return views.HomePage(home(f)) }},
		{"home-first", "Home before the first launch", func(f views.Page) templ.Component { return views.HomePage(homeFirst(f)) }},
		{"workflows", "Workflows", func(f views.Page) templ.Component { return views.WorkflowsPage(workflows(f)) }},
		{"workflows-empty", "Workflows: nothing matches", func(f views.Page) templ.Component { return views.WorkflowsPage(workflowsEmpty(f)) }},
		{"workflow", "Workflow: overview", func(f views.Page) templ.Component { return views.WorkflowPage(workflow(f, "")) }},
		{"workflow-versions", "Workflow: versions", func(f views.Page) templ.Component { return views.WorkflowPage(workflow(f, "versions")) }},
		{"workflow-executions", "Workflow: executions", func(f views.Page) templ.Component { return views.WorkflowPage(workflow(f, "executions")) }},
		{"workflow-source", "Workflow: source", func(f views.Page) templ.Component { return views.WorkflowPage(workflow(f, "source")) }},
		{"executions", "Executions", func(f views.Page) templ.Component { return views.ExecutionsPage(executions(f)) }},
		{"executions-empty", "Executions: nothing matches", func(f views.Page) templ.Component { return views.ExecutionsPage(executionsEmpty(f)) }},
		{"execution", "Execution: running", func(f views.Page) templ.Component { return views.ExecutionPage(executionRunning(f)) }},
		{"execution-failed", "Execution: failed", func(f views.Page) templ.Component { return views.ExecutionPage(executionFailed(f)) }},
		{"execution-waiting", "Execution: waiting", func(f views.Page) templ.Component { return views.ExecutionPage(executionWaiting(f)) }},
		{"execution-list", "Execution: list view", func(f views.Page) templ.Component { return views.ExecutionPage(executionList(f)) }},
		{"execution-large", "Execution: 10,000 nodes", func(f views.Page) templ.Component { return views.ExecutionPage(executionLarge(f)) }},
		{"execution-degraded", "Execution: logs and metrics unavailable", func(f views.Page) templ.Component { return views.ExecutionPage(executionDegraded(f)) }},
		{"cancel", "Cancel without JavaScript", func(f views.Page) templ.Component { return views.CancelPage(cancel(f)) }},
		{"node", "Node", func(f views.Page) templ.Component { return views.NodePage(node(f)) }},
		{"group-items", "Node with 1,000 items", func(f views.Page) templ.Component { return views.GroupPage(groupItems(f)) }},
		{"group-graph", "Node with a graph", func(f views.Page) templ.Component { return views.GroupPage(groupGraph(f)) }},
		{"logs", "Log page", func(f views.Page) templ.Component { return views.LogsOwnPage(logsPage(f)) }},
		{"artifacts", "Artifacts", func(f views.Page) templ.Component { return views.ArtifactsPage(artifacts(f)) }},
		{"artifact-table", "Artifact: table", func(f views.Page) templ.Component { return views.ArtifactPage(artifactTable(f)) }},
		{"artifact-table-problem", "Artifact: table, filter with a problem", func(f views.Page) templ.Component { return views.ArtifactPage(artifactTableProblem(f)) }},
		{"artifact-matrix", "Artifact: confusion matrix", func(f views.Page) templ.Component { return views.ArtifactPage(artifactMatrix(f)) }},
		{"artifact-compare", "Artifacts side by side", func(f views.Page) templ.Component { return views.ArtifactComparePage(artifactCompare(f)) }},
		{"artifact-binary", "Artifact: no preview", func(f views.Page) templ.Component { return views.ArtifactPage(artifactBinary(f)) }},
		{"types", "Types", func(f views.Page) templ.Component { return views.TypesPage(types(f)) }},
		{"type", "Type", func(f views.Page) templ.Component { return views.TypePage(typePage(f)) }},
		{"search", "Search", func(f views.Page) templ.Component { return views.SearchPage(search(f)) }},
		{"components", "Components", func(f views.Page) templ.Component { return componentsPage(frame(f, "Components", "")) }},
		{"error-404", "Error: not found", func(f views.Page) templ.Component {
			return views.ErrorPage(frame(f, "Not found", ""), views.Failure{Status: 404, Title: "Not found", Message: "There is no execution with this ID.", RequestID: "k3jx7q2mzt9a"})
		}},
		{"error-500", "Error: internal", func(f views.Page) templ.Component {
			return views.ErrorPage(frame(f, "Error", ""), views.Failure{Status: 500, Message: "Something went wrong on our side.", RequestID: "k3jx7q2mzt9a"})
		}},
	})
}

// Find returns the entry called name.
func Find(name string) (Entry, bool) {
	for _, e := range Entries() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// now is the time of the fixtures.
func now() time.Time { return time.Date(2026, 11, 20, 14, 12, 30, 0, time.UTC) }

func clock() ui.Clock { return ui.Clock{Now: now(), Zone: time.UTC} }

func ago(d time.Duration) time.Time { return now().Add(-d) }

// frame completes the layout data like a handler.
func frame(f views.Page, title string, section views.Section, crumbs ...views.Crumb) views.Page {
	f.Title, f.Section, f.Live = title, section, 3
	f.Nav = views.Nav{Team: true, Waiting: true, Quotas: true, Tenancy: true, Audit: true}
	f.Crumbs = append([]views.Crumb{}, crumbs...)
	f.Crumbs = append(f.Crumbs, views.Crumb{Name: title})
	return f
}
