package catalogue

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/executions"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	workflowPageSize = 50
)

// workflows lists the workflows of the project.
func (h *Pages) workflows(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	filter := workflow.Filter{Query: q.Get("q"), Tag: q.Get("tag"), Team: q.Get("team"), Status: workflow.Active, After: q.Get("after"), Limit: workflowPageSize}
	if q.Get("archived") != "" {
		filter.Status = ""
	}
	filter.Development = q.Get("development") != ""
	page, err := h.Workflows.List(r.Context(), filter)
	if err != nil {
		return err
	}
	recent, err := h.Rows.Recent(r.Context(), page.Items)
	if err != nil {
		return err
	}
	m := views.Workflows{
		Page:  h.Page.Base(r, "Workflows", views.SectionWorkflows),
		Query: filter.Query, Tag: filter.Tag, Team: filter.Team, Archived: filter.Status == "", Development: filter.Development,
		Filtered: filter.Query != "" || filter.Tag != "" || filter.Team != "",
	}
	if subject, ok := auth.SubjectOf(r.Context()); ok {
		m.MayRegister = subject.May(auth.WorkflowWrite, subject.ProjectID)
	}
	clock := h.Page.Clock(r)
	teams := []string{}
	for _, item := range page.Items {
		row := workflowRow(clock, item)
		row.Trend, row.TrendLabel = trendOf(h.Now(), recent[item.ID])
		m.Rows = append(m.Rows, row)
		teams = append(teams, item.OwnerTeam)
	}
	m.Teams = teamOptions(append(teams, filter.Team), filter.Team)
	if len(m.Rows) > 0 {
		m.Pager.Text = units.Plural(page.Total, "workflow", "workflows")
	}
	if page.InDevelopment > 0 && !filter.Development {
		all := maps.Clone(q)
		all.Del("after")
		all.Set("development", "1")
		m.InDevelopment, m.InDevelopmentURL = units.Plural(page.InDevelopment, "workflow", "workflows")+" in development", views.WorkflowsURL()+"?"+all.Encode()
	}
	if page.Next != "" {
		q.Set("after", page.Next)
		m.Pager.Older = views.WorkflowsURL() + "?" + q.Encode()
	}
	return web.Render(w, r, http.StatusOK, views.WorkflowsPage(m))
}

func workflowRow(clock ui.Clock, s workflow.Summary) views.WorkflowRow {
	return views.WorkflowRow{
		Name: s.Name, URL: views.WorkflowURL(s.Name), LaunchURL: views.LaunchURL(s.Name), Description: ui.Short(s.Description, 140),
		Version: s.Latest, Team: s.OwnerTeam, Tags: tagLinks(s.Tags), Updated: clock.Moment(s.UpdatedAt), Archived: s.Status == workflow.Archived,
	}
}

func tagLinks(tags []string) []views.Tag {
	links := make([]views.Tag, 0, len(tags))
	for _, t := range tags {
		links = append(links, views.Tag{Name: t, URL: views.WorkflowsByTagURL(t)})
	}
	return links
}

func teamOptions(teams []string, chosen string) []ui.Option {
	slices.Sort(teams)
	options := []ui.Option{{Name: "All teams", Selected: chosen == ""}}
	for _, t := range slices.Compact(teams) {
		if t != "" {
			options = append(options, ui.Option{Value: t, Name: t, Selected: t == chosen})
		}
	}
	return options
}

// trendOf draws executions, given newest first, as bars with the oldest first.
func trendOf(now time.Time, list []query.Execution) ([]chart.TrendBar, string) {
	var past []chart.Past
	counts := map[query.State]int{}
	for _, e := range slices.Backward(list[:min(len(list), executions.TrendLength)]) {
		took := label.TookSoFar(now, e)
		counts[e.Status]++
		past = append(past, chart.Past{
			State: string(e.Status), URL: views.ExecutionURL(e.ID.String()), Seconds: took.Seconds(),
			Title: fmt.Sprintf("%s: %s, %s", label.ShortID(e.ID), ui.Word(string(e.Status)), units.Duration(took)),
		})
	}
	var words []string
	for _, s := range []query.State{query.Succeeded, query.Failed, query.Running, query.Pending, query.Cancelled} {
		if counts[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[s], strings.ToLower(ui.Word(string(s)))))
		}
	}
	return chart.Trend(past), fmt.Sprintf("Last %s, oldest first: %s", units.Plural(len(past), "execution", "executions"), strings.Join(words, ", "))
}

// workflow shows the latest version of a workflow.
func (h *Pages) workflow(w http.ResponseWriter, r *http.Request) error {
	return h.showWorkflow(w, r, "")
}

// workflowVersion shows one version of a workflow.
func (h *Pages) workflowVersion(w http.ResponseWriter, r *http.Request) error {
	return h.showWorkflow(w, r, request.PathValue(r, "version"))
}

func (h *Pages) showWorkflow(w http.ResponseWriter, r *http.Request, versionName string) error {
	ctx, clock := r.Context(), h.Page.Clock(r)
	flow, err := h.Workflows.Get(ctx, request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	version, err := h.Workflows.Version(ctx, flow.ID.String(), versionName)
	if err != nil {
		return err
	}
	recent, err := h.Executions.Recent(ctx, []uuid.UUID{flow.ID}, executions.TrendLength)
	if err != nil {
		return err
	}
	ref := request.WorkflowRef(ctx, flow.Name, flow.ID)
	m := views.Workflow{
		Page: h.Page.Base(r, flow.Name, views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()}),
		Name: flow.Name, Description: version.Definition.Description, Version: version.Version, Latest: version.Version == flow.Latest,
		Notices:  version.Definition.Notices,
		Archived: flow.Status == workflow.Archived, Team: flow.OwnerTeam, Tags: tagLinks(flow.Tags),
		Author: orSystem(version.CreatedByName), Created: clock.Moment(version.CreatedAt), LaunchURL: views.LaunchURL(ref), URL: views.WorkflowURL(ref), SchedulesURL: views.SchedulesURL(url.Values{"workflow": {ref}}), Tab: r.URL.Query().Get("tab"),
	}
	if !m.Archived {
		m.NewScheduleURL = views.ScheduleWorkflowURL(ref)
	}
	if !m.Latest {
		m.LaunchURL = views.LaunchVersionURL(ref, version.Version)
	}
	if s, ok := auth.SubjectOf(ctx); ok && s.May(auth.WorkflowArchive, flow.ProjectID) {
		m.ArchiveURL = views.ArchiveURL(flow.ID.String())
	}
	if python, found := version.Definition.Python(); found {
		m.FromPython, m.Commit, m.PackageURL = true, gitText(python.Git), views.PackageURL(ref, version.Version)
	}
	m.Tabs = executions.WorkflowTabs(flow, ref, version.Version, versionName, m.Tab)
	latest := recent[flow.ID]
	m.Trend, m.TrendLabel = trendOf(h.Now(), latest)
	if len(latest) == 0 {
		m.Trend = nil
	}
	m.History = historyFacts(h.Now(), latest)
	switch m.Tab {
	case "executions":
		if m.Executions, err = h.Rows.OfWorkflow(ctx, clock, flow.ID); err != nil {
			return err
		}
	case "versions":
		err = h.versionHistory(ctx, &m, clock, flow, ref)
	case "source":
		err = h.sourceTab(r, &m, ref, version)
	default:
		h.overview(&m, version)
		if err := h.schedulesOf(ctx, &m, flow.ID); err != nil {
			return err
		}
		if python, found := version.Definition.Python(); found {
			h.showFunction(ctx, &m, ref, version, python)
			showSignature(&m, python.Written)
		}
	}
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.WorkflowPage(m))
}

func versionRows(clock ui.Clock, flow workflow.Workflow, list []workflow.VersionHead, ref, current string) []views.VersionRow {
	var rows []views.VersionRow
	for _, v := range list {
		rows = append(rows, views.VersionRow{
			Version: v.Version, URL: views.VersionURL(ref, v.Version), LaunchURL: views.LaunchVersionURL(ref, v.Version),
			Latest: v.Version == flow.Latest, Current: v.Version == current, By: orSystem(v.CreatedByName),
			Created: clock.Moment(v.CreatedAt),
		})
	}
	return rows
}

// historyFacts summarizes the durations and the success rate of executions.
func historyFacts(now time.Time, list []query.Execution) []ui.Fact {
	var took []time.Duration
	ended, succeeded := 0, 0
	for _, e := range list {
		if e.Status.Ended() && e.Status != query.Cancelled {
			ended++
		}
		if e.Status == query.Succeeded {
			succeeded++
			took = append(took, label.TookSoFar(now, e))
		}
	}
	var facts []ui.Fact
	if len(took) > 0 {
		slices.Sort(took)
		f := ui.Fact{Name: "Usually takes", Value: units.Duration(took[len(took)/2])}
		if len(took) > 2 {
			f.Note = "(" + units.Duration(took[0]) + " to " + units.Duration(took[len(took)-1]) + ")"
		}
		facts = append(facts, f)
	}
	if ended > 0 {
		facts = append(facts, ui.Fact{Name: "Succeeded", Value: fmt.Sprintf("%d of %d", succeeded, ended), Note: fmt.Sprintf("(%d %%)", succeeded*100/ended)})
	}
	return facts
}

// archiveWorkflow archives a workflow, or restores an archived one.
func (h *Pages) archiveWorkflow(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "name")
	flow, err := h.Workflows.Get(r.Context(), name)
	if err != nil {
		return err
	}
	change := h.Workflows.Archive
	if flow.Status == workflow.Archived {
		change = h.Workflows.Unarchive
	}
	if err := change(r.Context(), name); err != nil {
		return err
	}
	http.Redirect(w, r, views.WorkflowURL(request.WorkflowRef(r.Context(), flow.Name, flow.ID)), http.StatusSeeOther)
	return nil
}

func orSystem(name string) string {
	if name == "" {
		return "FlowForge"
	}
	return name
}

const schedulesShown = 5

// schedulesOf adds the first schedules of a workflow, with their next runs.
func (h *Pages) schedulesOf(ctx context.Context, m *views.Workflow, id uuid.UUID) error {
	found, err := h.Schedules.Reader().Search(ctx, schedule.Search{Workflow: id.String(), Limit: schedulesShown})
	if err != nil {
		return err
	}
	m.MoreSchedules = found.Next != ""
	for _, sc := range found.Schedules {
		m.Schedules = append(m.Schedules, views.ScheduleLink{Name: sc.Name, URL: views.ScheduleURL(sc.ID.String()), Note: label.NextFire(sc)})
	}
	return nil
}
