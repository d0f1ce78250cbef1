package executions

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// nodeView is a node of an execution with the data of its page.
type nodeView struct {
	*snapshot

	node query.NodeDetail
}

// loadNode reads the node that r names.
func (h *Pages) loadNode(r *http.Request) (*nodeView, error) {
	s, err := h.loadSnapshot(r)
	if err != nil {
		return nil, err
	}
	d, err := h.Executions.Nodes.Get(r.Context(), s.ID, request.PathValue(r, "node"))
	return &nodeView{snapshot: s, node: d}, err
}

// refresh reads the execution and the node again.
func (x *nodeView) refresh(ctx context.Context) error {
	if err := x.snapshot.refresh(ctx); err != nil {
		return err
	}
	d, err := x.h.Executions.Nodes.Get(ctx, x.ID, x.node.Name)
	if err != nil {
		return err
	}
	x.node = d
	return nil
}

// node shows everything about one node of an execution.
func (h *Pages) node(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadNode(r)
	if err != nil {
		return err
	}
	ctx, id, d := r.Context(), x.ID.String(), x.node
	crumbs, err := x.crumbs(ctx)
	if err != nil {
		return err
	}
	m := views.Node{Page: h.Page.Base(r, shortName(d.Name), views.SectionExecutions, crumbs...)}
	m.Title = ui.Word(shownState(d.Node)) + ": " + d.Name
	if x.becomes(d.Node) {
		group := groupView{*x}
		return group.groupPage(w, r, m.Page)
	}
	m.Head, m.Attempts = x.head(), x.attempts()
	if m.Traceback, err = x.traceback(ctx); err != nil {
		return err
	}
	if op := d.Operator; op != nil {
		m.Runs = op.Runs()
		m.Code = x.code(ctx, op)
		markCode(&m.Code, m.Traceback)
		m.Resources, m.Policy, m.Variables = x.resourceFacts(op), policyFacts(op), environmentFacts(op.Environment)
		m.Resources = append(m.Resources, podSettingFacts(op)...)
		m.Python = x.environment(ctx)
	}
	if m.Place, err = x.place(ctx); err != nil {
		return err
	}
	m.Metrics, m.Usage = x.metrics(ctx), x.usage(ctx)
	f := logFilter{node: d.Name}
	if m.Wait, err = x.wait(ctx); err != nil {
		return err
	}
	if m.Wait.Shown() {
		m.Head.Summary = ""
	}
	if m.Pods, err = x.pods(ctx); err != nil {
		return err
	}
	if m.Pods.Waits() || m.Traceback.Shown() && d.State == dag.Failed || repeatsAttempt(m.Attempts, m.Head.Summary) { // another card shows the reason
		m.Head.Summary = ""
	}
	still := x.frozenRow(ctx)
	m.Facts, m.Inputs, m.Outputs = still.Facts, still.Inputs, still.Outputs
	m.Logs = h.logsOf(ctx, x.clock, x.Execution, x.version, f, logPlace{}, logLinesInline)
	m.Logs.Follow = !d.State.Ended()
	m.Logs.PageURL = views.LogsURL(id, f.values())
	if m.Logs.Follow {
		m.StreamURL = views.NodeStreamURL(id, d.Name, x.streamQuery(m.Logs.Cursor))
	}
	return web.Render(w, r, http.StatusOK, views.NodePage(m))
}

// repeatsAttempt reports whether the last attempt already contains summary.
func repeatsAttempt(attempts []views.AttemptLine, summary string) bool {
	return len(attempts) > 0 && attempts[len(attempts)-1].Sentence == summary
}

// frozenRow contains the parts of the page that change only with the state of the node. It
// omits facts that another card of the page shows.
func (x *nodeView) frozenRow(ctx context.Context) views.NodeStill {
	hidden := []string{"Requests", "CPU used", "Memory, peak", "Failed with", "Why"}
	facts := slices.DeleteFunc(x.facts(), func(f ui.Fact) bool { return slices.Contains(hidden, f.Name) })
	if plan, _ := x.planned(x.node.Node); plan != nil && x.node.Graph == "" {
		facts = append(facts, ui.Fact{Name: "Level", Value: fmt.Sprintf("%d of %d", x.node.Level+1, len(plan.Levels))})
	}
	return views.NodeStill{
		Facts:  facts,
		Inputs: x.inputsWithTransport(ctx), Outputs: x.names.resolve(ctx, operatorOutputs(x.node)),
	}
}

// metrics draws the metrics that the node's task reports.
func (x *nodeView) metrics(ctx context.Context) views.Metrics {
	return x.h.metricsOf(ctx, x.clock, telemetry.MetricQuery{ExecutionID: x.ID, Node: x.node.Name, Source: telemetry.FromTask}, x.h.bestSeries,
		x.query, views.NodeURL(x.ID.String(), x.node.Name), !x.node.State.Ended())
}

// head is the head of the page.
func (x *nodeView) head() views.NodeHead {
	head := views.NodeHead{Name: x.node.Name, State: shownState(x.node.Node), GraphURL: views.ExecutionNodeURL(x.ID.String(), x.node.Name), Summary: x.summary(), Commands: commandsOf(x.Execution, x.node)}
	head.Origin, head.Cache = originLine(x.node), cacheLine(x.node)
	if x.node.State == dag.Ready && x.node.ReadyAt != nil {
		head.Since, head.Waits = x.node.ReadyAt.Format(time.RFC3339), units.Duration(x.clock.Now.Sub(*x.node.ReadyAt))
	}
	return head
}

// summary describes the state of a node in a sentence.
func (x *nodeView) summary() string {
	took := units.Duration(nodeTook(x.clock.Now, x.node.Node))
	why := ""
	if x.node.Reason != nil {
		why = label.ReasonText(x.node.Reason)
	}
	switch x.node.State {
	case dag.Pending:
		after := x.dependencies(x.node.Node)
		switch {
		case x.node.Reason != nil && (x.node.Reason.Code == execution.ReasonParallelism || x.node.Reason.Code == execution.ReasonStream):
			return "Not started: " + why
		case after == 0:
			return "Not started."
		}
		return "Not started: it depends on " + units.Plural(after, "node", "nodes") + "."
	case dag.Ready, dag.Queued:
		return cmp.Or(why, "Ready to start.")
	case dag.Running:
		return cmp.Or(why, "In attempt "+x.attemptOf(x.node.Node)+".")
	case dag.Retrying:
		return cmp.Or(why, "Retrying shortly.")
	case dag.Succeeded:
		if x.node.OriginUse == query.OriginReused || x.node.OriginUse == query.OriginCached {
			return "Reused: it did not run here."
		}
		if x.node.Reason != nil && (x.node.Reason.Code == execution.ReasonApproval || x.node.Reason.Code == execution.ReasonByHand) {
			return why
		}
		return "Succeeded after " + took + "."
	case dag.Failed:
		if x.node.Error != nil {
			return x.node.Error.Message
		}
	case dag.Skipped, dag.Cancelled:
		return why
	}
	return ""
}

// crumbs lead from the list of executions to a node.
func (x *nodeView) crumbs(ctx context.Context) ([]views.Crumb, error) {
	id := x.ID.String()
	crumbs := []views.Crumb{{Name: "Executions", URL: views.ExecutionsURL()}, {Name: x.title(), URL: views.ExecutionURL(id)}}
	if x.node.Parent < 0 {
		return crumbs, nil
	}
	above, err := x.h.Executions.Nodes.Ancestors(ctx, x.ID, x.node.Index)
	if err != nil {
		return nil, err
	}
	const shown = 4
	if hidden := len(above) - shown; hidden > 0 {
		crumbs = append(crumbs, views.Crumb{Name: shortName(above[0].Name), URL: views.NodeURL(id, above[0].Name)},
			views.Crumb{Name: "…", URL: views.NodeURL(id, above[hidden].Name)})
		above = above[hidden+1:]
	}
	for _, a := range above {
		crumbs = append(crumbs, views.Crumb{Name: shortName(a.Name), URL: views.NodeURL(id, a.Name)})
	}
	return crumbs, nil
}

// codeText is the code or command of an operator for pages.
func codeText(op *workflow.Operator) (text, kind string) {
	c := op.Code
	switch {
	case op.Sensor != nil:
		return op.SensorText(), "sensor"
	case op.GRPC != nil:
		return op.GRPC.Text(), "call"
	case op.HTTP != nil:
		return op.HTTP.Text(), "request"
	case op.SQL != nil:
		return op.SQL.Query, "query"
	case c.Script != "":
		return c.Script, "script"
	case len(c.Command) > 0:
		return strings.Join(slices.Concat(c.Command, c.Args), " "), "command"
	case c.File != "":
		return strings.TrimSpace("python3 " + c.File + " " + strings.Join(c.Args, " ")), "file of the package"
	}
	return "This node has no code. It only defines the order of other nodes.", string(op.Type)
}

// resourceFacts are the requests of an operator, with the defaults of the project for CPU and memory.
func (x *nodeView) resourceFacts(op *workflow.Operator) []ui.Fact {
	var facts []ui.Fact
	r := op.Resources
	cpu, memory := 0, 0
	if op.Runs() {
		cpu, memory = x.h.Executions.Launches.DefaultRequests(x.ProjectID)
	}
	add := func(name string, own, standard int, text func(int) string) {
		switch {
		case own > 0:
			facts = append(facts, ui.Fact{Name: name, Value: text(own)})
		case standard > 0:
			facts = append(facts, ui.Fact{Name: name, Value: text(standard), Note: "default"})
		}
	}
	add("CPU", r.CPUMillis, cpu, func(millis int) string { return strings.TrimSuffix(ui.CPU(millis), " CPU") })
	add("Memory", r.MemoryMiB, memory, ui.Memory)
	if r.GPUs > 0 {
		facts = append(facts, ui.Fact{Name: "GPUs", Value: fmt.Sprint(r.GPUs), Note: r.GPUType})
	}
	if r.StorageMiB > 0 {
		facts = append(facts, ui.Fact{Name: "Storage", Value: ui.Memory(r.StorageMiB)})
	}
	if len(facts) == 0 {
		facts = append(facts, ui.Fact{Name: "Resources", Value: "none"})
	}
	return facts
}

// retryDelays describes the delays before the retries of a task.
func retryDelays(r workflow.Retry) string {
	first := "after " + units.Duration(r.InitialDelay)
	if r.Limit < 2 || r.Factor == 1 {
		return first
	}
	return fmt.Sprintf("%s, then %g times as long each time, up to %s", first, r.Factor, units.Duration(r.MaxDelay))
}

func policyFacts(op *workflow.Operator) []ui.Fact {
	facts := []ui.Fact{{Name: "Timeout", Value: planview.TimeoutText(op)}}
	retry := ui.Fact{Name: "Retries", Value: planview.RetriesText(op)}
	if r := op.Retry; r.Limit > 0 {
		retry.Note = retryDelays(r)
	}
	facts = append(facts, retry)
	facts = append(facts, protectionFacts(op)...)
	if op.AllowFailure {
		facts = append(facts, ui.Fact{Name: "When it fails", Value: "the execution continues"})
	} else if !op.Retry.FailFast {
		facts = append(facts, ui.Fact{Name: "When it fails", Value: "other branches continue"})
	}
	return facts
}

// protectionFacts describe the retry policy of an operator and its circuit breaker.
func protectionFacts(op *workflow.Operator) []ui.Fact {
	var facts []ui.Fact
	r := op.Retry
	if r.Limit > 0 && r.Policy != protect.Always && r.Policy != "" {
		facts = append(facts, ui.Fact{Name: "Retry policy", Value: string(r.Policy)})
	}
	if r.Limit > 0 && r.Condition != nil {
		facts = append(facts, ui.Fact{Name: "Retried if", Value: r.Condition.String(), Mono: true})
	}
	if r.Memory.Factor > 1 {
		facts = append(facts, ui.Fact{Name: "After out of memory", Value: fmt.Sprintf("× %g", r.Memory.Factor), Note: "up to " + ui.Memory(r.Memory.LimitMiB)})
	}
	if b := op.Breaker; b.On() {
		facts = append(facts, ui.Fact{
			Name: "Breaker opens after", Value: units.Plural(b.Failures, "failure", "failures") + " within " + units.Duration(b.Window), URL: views.BreakersURL(),
			Note: "for " + units.Duration(b.OpenFor),
		})
	}
	return facts
}

// environmentFacts lists variables. It hides values that look like secrets.
func environmentFacts(env map[string]string) []ui.Fact {
	var facts []ui.Fact
	for _, k := range label.SortedKeys(env) {
		value := env[k]
		if looksSecret(k) {
			value = "•••"
		}
		facts = append(facts, ui.Fact{Name: k, Value: value, Mono: true})
	}
	return facts
}

func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"SECRET", "TOKEN", "PASSWORD", "CREDENTIAL", "PRIVATE", "API_KEY"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
