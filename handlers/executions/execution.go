package executions

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// execution shows the page of one execution.
func (h *Pages) execution(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadExecution(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	m := views.Execution{
		Page: h.Page.Base(r, x.title(), views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}),
		List: x.query.Get("view") == "list", Inputs: x.inputs(ctx), Outputs: x.outputs(ctx), Timeline: x.timeline(),
	}
	var telemetry sync.WaitGroup // read in parallel with the database
	telemetry.Go(func() { m.Metrics = x.metrics(ctx) })
	telemetry.Go(func() { m.Logs = x.logs(ctx) })
	defer telemetry.Wait()
	if m.Head, err = x.wholeHead(ctx); err != nil {
		return err
	}
	m.Title = ui.Word(m.Head.State) + ": " + x.title()
	m.Views = x.viewChoices()
	if m.List {
		if m.Nodes, err = x.nodeTable(ctx); err != nil {
			return err
		}
	} else {
		m.Graph = x.painter().Picture(x.graphLabel())
	}
	if m.Panel, err = x.panel(ctx); err != nil {
		return err
	}
	if m.Artifacts, err = x.artifacts(ctx); err != nil {
		return err
	}
	if m.Events, err = x.events(ctx); err != nil {
		return err
	}
	telemetry.Wait()
	if !x.Status.Ended() {
		m.StreamURL = views.StreamURL(x.ID.String(), x.streamQuery(m.Logs.Cursor))
	}
	return web.Render(w, r, http.StatusOK, views.ExecutionPage(m))
}

func (x *executionView) graphLabel() string {
	return fmt.Sprintf("Graph of %s: %s", x.title(), units.Plural(len(x.version.Plan.Nodes), "node", "nodes"))
}

func (x *executionView) viewChoices() []ui.Choice {
	list := x.query.Get("view") == "list"
	id := x.ID.String()
	graph := views.ExecutionURL(id) + "#graph"
	if node := x.query.Get("node"); node != "" {
		graph = views.ExecutionNodeURL(id, node)
	}
	return []ui.Choice{{Name: "Graph", URL: graph, Current: !list}, {Name: "List", URL: views.NodesURL(id, ""), Current: list}}
}

// wholeHead is the head with the reason for waiting. If all running nodes of an execution are
// awaiting approval, so is the execution.
func (x *executionView) wholeHead(ctx context.Context) (views.ExecutionHead, error) {
	head := x.head()
	if x.AwaitsApproval {
		head.State = ui.AwaitingApproval
	}
	var err error
	head.Wait, err = x.waitOfAll(ctx)
	return head, err
}

// head is the head of the page: state, actions, facts and progress.
func (x *executionView) head() views.ExecutionHead {
	id := x.ID.String()
	head := views.ExecutionHead{
		ID: id, Title: label.ExecutionTitle(x.Execution), Short: label.ShortID(x.ID), State: string(x.Status),
		RelaunchURL: views.RelaunchURL(x.workflow, id), LineageURL: views.LineageURL("execution:"+id, nil), Workflow: x.WorkflowName + " " + x.Version,
		WorkflowURL: views.VersionURL(x.workflow, x.Version), By: x.SubmittedBy.Name, Started: x.clock.Moment(x.CreatedAt),
		Took: units.Duration(label.TookSoFar(x.clock.Now, x.Execution)), Bar: executionBar(x.Execution, id),
		Levels: fmt.Sprintf("%d of %s", x.LevelsDone, units.Plural(x.Levels, "level", "levels")),
	}
	head.Progress = head.Bar.Percent
	if x.Status.Ended() && x.Status != query.Succeeded {
		head.Progress = label.SucceededOf(x.Counts)
	}
	head.Labels = x.labelled()
	head.GPUHours, head.Sweep, head.Trigger, head.Schedule = gpuHours(x.hours), x.sweep, x.trigger, x.schedule
	if p := x.Priority; p != query.Normal {
		head.Priority = strings.ToLower(p.String())
	}
	if x.RelaunchOf != nil {
		head.RelaunchOfID = x.RelaunchOf.String()
		head.RelaunchOf, head.RelaunchLink = label.ShortID(*x.RelaunchOf), views.ExecutionURL(x.RelaunchOf.String())
	}
	if x.ResumeOf != nil {
		head.ResumeOfID = x.ResumeOf.String()
		head.ResumeOf, head.ResumeLink, head.ResumeFrom = label.ShortID(*x.ResumeOf), views.ExecutionURL(x.ResumeOf.String()), x.ResumeFrom
	}
	if flow := x.version.Definition.Flow(); flow != "" && x.StartedAt != nil {
		head.Run, head.RunURL = flow, views.MetaflowRunURL(flow, metaflow.RunOf(x.ID))
	}
	head.Keeping = retentionOf(x.clock, x.Execution, x.mayKeep)
	if x.Status.Ended() {
		head.Failure, head.ResumeURL = x.failure(), views.ResumeURL(id, "")
		return head
	}
	if x.StartedAt != nil {
		head.Since = x.StartedAt.Format(time.RFC3339)
	}
	if x.CancelRequestedAt == nil {
		head.CancelURL, head.CancelText = views.CancelURL(id), cancelText(x.Counts)
		if head.PauseURL = views.PauseURL(id); x.Status == query.Paused {
			head.PauseURL, head.UnpauseURL, head.Left = "", views.UnpauseURL(id), "paused"
		}
	} else {
		head.Left = "stopping"
		if x.version.Definition.HasExitHandlers() {
			head.CancelURL, head.CancelText = views.CancelURL(id), "Exit handlers that are running are stopped."
		}
	}
	if x.EstimatedCompletion != nil && head.Left == "" {
		head.Left = timeLeft(x.EstimatedCompletion.Sub(x.clock.Now))
	}
	return head
}

// timeLeft estimates the remaining duration.
func timeLeft(left time.Duration) string {
	if left < 5*time.Second {
		return "about to end"
	}
	unit := time.Second
	if left > 2*time.Minute {
		unit = time.Minute
	}
	return "about " + units.Duration(left.Round(unit)) + " left"
}

// cancelText states the consequences with numbers.
func cancelText(c query.Counts) string {
	var parts []string
	if n := c.Running + c.Queued; n > 0 {
		parts = append(parts, units.Plural(n, "running node is stopped", "running nodes are stopped"))
	}
	if c.AwaitingApproval > 0 {
		parts = append(parts, units.Plural(c.AwaitingApproval, "approval is no longer needed", "approvals are no longer needed"))
	}
	if n := c.Pending + c.Ready + c.Retrying; n > 0 {
		parts = append(parts, units.Plural(n, "waiting node does not start", "waiting nodes do not start"))
	}
	const kept = "Results of succeeded nodes are kept."
	if len(parts) == 0 {
		return kept
	}
	return strings.Join(parts, " and ") + ". " + kept
}

func (x *executionView) failure() *views.FailureNotice {
	if x.Status != query.Failed || x.Error == nil {
		return nil
	}
	id := x.ID.String()
	n := &views.FailureNotice{Node: x.Error.Node, Message: x.Error.Message}
	if x.Error.Node != "" {
		n.NodeURL, n.LogURL = views.NodeURL(id, x.Error.Node), views.NodeLogsURL(id, x.Error.Node, 0)
	}
	return n
}

// inputs are the launch values of the execution in the order of the schema.
func (x *executionView) inputs(ctx context.Context) []views.Value {
	var values []views.Value
	for _, f := range x.version.Definition.Inputs.Fields {
		if v, ok := x.Inputs[f.Name]; ok {
			values = append(values, valueOf(f.Name, f.Type, v))
		}
	}
	return x.names.resolve(ctx, values)
}

// outputs are the results, or the operators that will produce them.
func (x *executionView) outputs(ctx context.Context) views.Outputs {
	var o views.Outputs
	if x.Status.Ended() && x.Status != query.Succeeded && len(x.Outputs) == 0 && len(x.version.Definition.Outputs) > 0 {
		o.None = "No outputs: the execution did not succeed."
		return o
	}
	for _, out := range x.version.Definition.Outputs {
		if v, ok := x.Outputs[out.Name]; ok {
			o.Values = append(o.Values, valueOf(out.Name, out.Type, v))
			continue
		}
		missing := "after " + out.From.Operator
		if out.Source.Kind != "" {
			missing = "at the end"
		}
		switch {
		case x.Status == query.Succeeded && out.Source.Kind == "":
			missing = "not produced: " + out.From.Operator + " did not succeed"
		case x.Status.Ended():
			missing = "none: the execution did not succeed"
		}
		o.Values = append(o.Values, views.Value{Name: out.Name, Type: out.Type.Name(), Missing: missing})
	}
	x.names.resolve(ctx, o.Values)
	return o
}

// cancelPage requests confirmation, for readers without JavaScript.
func (h *Pages) cancelPage(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadExecution(r)
	if err != nil {
		return err
	}
	id := x.ID.String()
	if x.Status.Ended() {
		http.Redirect(w, r, views.ExecutionURL(id), http.StatusSeeOther)
		return nil
	}
	head := x.head()
	head.CancelURL = views.CancelURL(id)
	return web.Render(w, r, http.StatusOK, views.CancelPage(views.CancelExecution{
		Page: h.Page.Base(r, "Cancel", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: x.title(), URL: views.ExecutionURL(id)}),
		Head: head, Back: views.ExecutionURL(id),
	}))
}

// cancel cancels an execution.
func (h *Pages) cancel(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ExecutionID(r)
	if err != nil {
		return err
	}
	if err := h.Executions.Commands.Cancel(r.Context(), id, strings.TrimSpace(r.PostFormValue("reason"))); err != nil {
		return err
	}
	http.Redirect(w, r, views.ExecutionURL(id.String()), http.StatusSeeOther)
	return nil
}

// artifacts are the first artifacts of the execution.
func (x *executionView) artifacts(ctx context.Context) (views.ExecutionArtifacts, error) {
	list := artifactLister(x.h.Artifacts.List)
	if x.shares && !x.Status.Ended() {
		list = x.h.shared.listArtifacts
	}
	return x.h.artifactsOf(ctx, x.clock, x.ID, x.Status.Ended(), list)
}
