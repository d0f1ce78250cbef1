package home

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/executions"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	homeOpen       = 3
	homeRunning    = 6
	homeWaiting    = 6
	homeExecutions = 6
	homeWorkflows  = 6
	homeCounted    = 500 // executions of the last day that are counted
)

// home is the first page: running and waiting nodes, the reader's own executions, and
// workflows to launch.
func (h *Pages) home(w http.ResponseWriter, r *http.Request) error {
	ctx, clock := r.Context(), h.Page.Clock(r)
	live, err := h.homeLive(ctx, clock)
	if err != nil {
		return err
	}
	flows, err := h.Workflows.List(ctx, workflow.Filter{Status: workflow.Active, Limit: 100})
	if err != nil {
		return err
	}
	subject, _ := auth.SubjectOf(ctx)
	mine, err := h.Executions.List(ctx, query.Filter{
		User: subject.ID.String(), Limit: homeExecutions, BySweep: true, Status: []query.State{query.Succeeded, query.Failed, query.Cancelled},
	})
	if err != nil {
		return err
	}
	m := views.Home{
		Page: h.Page.Base(r, "Home", views.SectionHome), Greeting: greeting(clock, subject.Name), Live: live, Total: flows.Total,
		StreamURL: views.HomeStreamURL(),
	}
	if m.Workflows, err = h.homeTiles(ctx, flows.Items); err != nil {
		return err
	}
	if m.Recent, err = h.homeRecent(ctx, clock, mine.Executions); err != nil {
		return err
	}
	if len(mine.Executions) > 0 {
		last := mine.Executions[0]
		m.Again = ui.Action{Name: "Launch again: " + last.WorkflowName, URL: views.RelaunchURL(last.WorkflowName, last.ID.String())}
	}
	if len(mine.Executions) == 0 && len(live.Running) == 0 {
		if m.First, err = h.nothingLaunched(ctx); err != nil {
			return err
		}
		m.Example = exampleTile(flows.Items)
	}
	return web.Render(w, r, http.StatusOK, views.HomePage(m))
}

// greeting fits the reader's time of day.
func greeting(clock ui.Clock, name string) string {
	zone := clock.Zone
	if zone == nil {
		zone = time.UTC
	}
	part := "evening"
	switch hour := clock.Now.In(zone).Hour(); {
	case hour >= 5 && hour < 12:
		part = "morning"
	case hour >= 12 && hour < 18:
		part = "afternoon"
	}
	first, _, _ := strings.Cut(name, " ")
	return strings.TrimSuffix("Good "+part+", "+first, ", ")
}

// homeLive is the part of the page that changes.
func (h *Pages) homeLive(ctx context.Context, clock ui.Clock) (views.HomeLive, error) {
	running, err := h.Executions.List(ctx, query.Filter{Status: label.LiveStates(), Limit: homeRunning, BySweep: true})
	if err != nil {
		return views.HomeLive{}, err
	}
	waiting, err := h.Executions.Waits.Nodes(ctx, homeWaiting)
	if err != nil {
		return views.HomeLive{}, err
	}
	var live views.HomeLive
	if live.Running, err = h.Rows.BySweep(ctx, clock, running, url.Values{"state": {"live"}}); err != nil {
		return live, err
	}
	if live.Approvals, err = h.homeApprovals(ctx, clock); err != nil {
		return live, err
	}
	if running.Next != "" {
		total, err := h.Executions.Live(ctx)
		if err != nil {
			return views.HomeLive{}, err
		}
		live.More = max(total-shown(running), 1)
	}
	for _, n := range waiting {
		id := n.ExecutionID.String()
		row := views.WaitingRow{
			Node: n.Node, NodeURL: views.NodeURL(id, n.Node), Execution: label.ShortID(n.ExecutionID), ExecutionURL: views.ExecutionURL(id),
			Reason: n.Reason.Message, Since: clock.Ago(n.Since),
		}
		if n.Others > 0 {
			row.Reason += fmt.Sprintf(" %s.", units.Plural(n.Others, "other node of this execution waits", "other nodes of this execution wait"))
		}
		live.Waiting = append(live.Waiting, row)
	}
	if err := h.addWaitingInCluster(ctx, clock, &live); err != nil {
		return live, err
	}
	live.Figures, err = h.lastDay(ctx, clock)
	return live, err
}

// addWaitingInCluster adds the nodes that have capacity and wait for the cluster or for a worker of a pool.
func (h *Pages) addWaitingInCluster(ctx context.Context, clock ui.Clock, live *views.HomeLive) error {
	room := homeWaiting - len(live.Waiting)
	if room <= 0 {
		return nil
	}
	waits, err := h.Executions.Waits.InCluster(ctx, uuid.Nil, room)
	if err != nil {
		return err
	}
	for _, w := range waits.Entries {
		id := w.Key.Execution.String()
		live.Waiting = append(live.Waiting, views.WaitingRow{
			Node: w.Name.Node, NodeURL: views.NodeURL(id, w.Name.Node), Execution: label.ShortID(w.Key.Execution), ExecutionURL: views.ExecutionURL(id),
			Reason: w.Reason.Message, Since: clock.Ago(w.Since),
		})
	}
	return nil
}

// shown is the number of executions that the rows of a page stand for.
func shown(page query.Page) int {
	n := len(page.Executions)
	for _, runs := range page.Runs {
		n += runs - 1
	}
	return n
}

// homeApprovals are the first pending approvals and their total number.
func (h *Pages) homeApprovals(ctx context.Context, clock ui.Clock) (views.HomeApprovals, error) {
	open, err := h.Executions.Approvals.List(ctx, executions.MaxApprovals)
	if err != nil {
		return views.HomeApprovals{}, err
	}
	approvals := views.HomeApprovals{Total: len(open)}
	for _, q := range open[:min(len(open), homeOpen)] {
		approvals.Pending = append(approvals.Pending, executions.ApprovalOf(clock, q))
	}
	return approvals, nil
}

// lastDay counts how executions of the last 24 hours ended.
func (h *Pages) lastDay(ctx context.Context, clock ui.Clock) ([]ui.Fact, error) {
	page, err := h.Executions.List(ctx, query.Filter{From: clock.Now.Add(-24 * time.Hour), Limit: homeCounted})
	if err != nil || len(page.Executions) == 0 {
		return nil, err
	}
	succeeded, failed, nodes := 0, 0, 0
	for _, e := range page.Executions {
		nodes += e.Counts.Ended()
		switch e.Status {
		case query.Succeeded:
			succeeded++
		case query.Failed:
			failed++
		case query.Pending, query.Running, query.Paused, query.Cancelled:
		}
	}
	note := ""
	if page.Next != "" {
		note = fmt.Sprintf("of the last %d", homeCounted)
	}
	return []ui.Fact{
		{Name: "Succeeded", Value: units.Number(int64(succeeded)), Note: note}, {Name: "Failed", Value: units.Number(int64(failed))}, {Name: "Nodes ended", Value: units.Number(int64(nodes))},
	}, nil
}

// homeRecent are rows of a list by sweep, newest first.
func (h *Pages) homeRecent(ctx context.Context, clock ui.Clock, list []query.Execution) ([]views.HomeRecent, error) {
	sweeps, err := h.Sweeps.OfRuns(ctx, list)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names its context
	}
	rows := make([]views.HomeRecent, len(list))
	for i, e := range list {
		rows[i] = recentExecution(clock, e)
		if e.SweepID != nil {
			if s, found := sweeps[*e.SweepID]; found {
				rows[i] = recentSweep(clock, s)
			}
		}
	}
	return rows, nil
}

// recentSweep is the row of a sweep of which runs have ended.
func recentSweep(clock ui.Clock, s sweep.Sweep) views.HomeRecent {
	recent := views.HomeRecent{
		State: label.SweepState(s.State).Icon, Title: s.Name, Short: units.Plural(s.Counts.Ended(), "run", "runs"), URL: views.SweepURL(s.ID.String()),
	}
	if s.Objective != nil && s.Best != nil && s.Best.Objective != nil {
		recent.Note, recent.Long = "best "+s.Objective.Name()+" "+ui.Float(*s.Best.Objective), true
	}
	if s.EndedAt != nil {
		recent.Ended = clock.Moment(*s.EndedAt)
	}
	return recent
}

func recentExecution(clock ui.Clock, e query.Execution) views.HomeRecent {
	recent := views.HomeRecent{
		State: string(e.Status), Title: label.ExecutionTitle(e), Short: label.ShortID(e.ID), URL: views.ExecutionURL(e.ID.String()), Note: units.Duration(label.TookSoFar(clock.Now, e)),
	}
	if e.Error != nil {
		recent.Note, recent.Long = ui.Short(label.ExecutionSummary(e), 70), true
	}
	if e.FinishedAt != nil {
		recent.Ended = clock.Moment(*e.FinishedAt)
	}
	return recent
}

// homeTiles offers the most recently launched workflows, then the others.
func (h *Pages) homeTiles(ctx context.Context, flows []workflow.Summary) ([]views.WorkflowTile, error) {
	recent, err := h.Rows.Recent(ctx, flows)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(flows, func(a, b workflow.Summary) int {
		ra, rb := recent[a.ID], recent[b.ID]
		switch {
		case len(ra) == 0 && len(rb) == 0:
			return 0
		case len(ra) == 0:
			return 1
		case len(rb) == 0:
			return -1
		}
		return strings.Compare(rb[0].ID.String(), ra[0].ID.String())
	})
	var tiles []views.WorkflowTile
	for _, f := range flows[:min(len(flows), homeWorkflows)] {
		tile := views.WorkflowTile{Name: f.Name, URL: views.WorkflowURL(f.Name), LaunchURL: views.LaunchURL(f.Name), Version: f.Latest, Sub: ui.Short(f.Description, 90)}
		if tile.Sub == "" {
			tile.Sub = "Version " + f.Latest
		}
		var took []float64
		for _, e := range slices.Backward(recent[f.ID]) {
			if e.Status == query.Succeeded {
				took = append(took, label.TookSoFar(h.Now(), e).Seconds())
			}
		}
		if len(took) > 2 {
			tile.Spark, tile.SparkLabel = chart.Spark(took), "Durations of the last executions"
		}
		tiles = append(tiles, tile)
	}
	return tiles, nil
}

// nothingLaunched reports whether the project has no executions.
func (h *Pages) nothingLaunched(ctx context.Context) (bool, error) {
	page, err := h.Executions.List(ctx, query.Filter{Limit: 1})
	return err == nil && len(page.Executions) == 0, err
}

// firstExample is the example that runs at once: it needs no packages, images or GPUs.
const firstExample = "digits.train"

// exampleTile is the workflow that the page recommends to new users: the example that runs at
// once, or the first workflow of a project without it.
func exampleTile(flows []workflow.Summary) views.WorkflowTile {
	if len(flows) == 0 {
		return views.WorkflowTile{}
	}
	at := max(slices.IndexFunc(flows, func(f workflow.Summary) bool { return f.Name == firstExample }), 0)
	f := flows[at]
	return views.WorkflowTile{Name: f.Name, URL: views.WorkflowURL(f.Name), LaunchURL: views.LaunchURL(f.Name), Version: f.Latest, Sub: f.Description}
}

// homeStream sends the live part of the home page whenever it changed.
func (h *Pages) homeStream(w http.ResponseWriter, r *http.Request) error {
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	clock, sent := h.Page.Clock(r), page.SentPieces{}
	h.Page.OnHints(r, stream, h.Executions.Watches.WatchAll(r.Context()), page.ListInterval, func(ctx context.Context) error {
		clock.Now = h.Now()
		live, err := h.homeLive(ctx, clock)
		if err != nil {
			return err
		}
		same := live
		same.Running = nil
		for _, row := range live.Running {
			same.Running = append(same.Running, label.FrozenRow(row))
		}
		if !sent.Changed("live", same) {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.HomeUpdate(live))
	})
	return nil
}
