package executions

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
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

// node shows everything about one node of an execution.
func (h *Pages) node(w http.ResponseWriter, r *http.Request) error {
	e, v, err := h.executionAndVersion(r)
	if err != nil {
		return err
	}
	name := request.PathValue(r, "node")
	d, err := h.Executions.Node(r.Context(), e.ID, name)
	if err != nil {
		return err
	}
	ctx, id, clock := r.Context(), e.ID.String(), h.Page.Clock(r)
	x := &executionView{h: h, clock: clock, query: r.URL.Query(), Execution: e, version: v, names: h.artifactNames()}
	crumbs, err := x.crumbs(ctx, d.Node)
	if err != nil {
		return err
	}
	m := views.Node{Page: h.Page.Base(r, shortName(d.Name), views.SectionExecutions, crumbs...)}
	m.Title = ui.Word(shownState(d.Node)) + ": " + d.Name
	if x.becomes(d.Node) {
		return x.groupPage(w, r, d, m.Page)
	}
	m.Head, m.Attempts = x.nodeHead(d), x.attempts(d)
	if op := d.Operator; op != nil {
		m.Runs = op.Type.Runs()
		m.Code = x.code(ctx, op)
		m.Resources, m.Policy, m.Environment = resourceFacts(op.Resources), policyFacts(op), environmentFacts(op.Environment)
		m.Resources = append(m.Resources, podSettingFacts(op)...)
	}
	if m.Place, err = x.nodePlace(ctx, d.Node); err != nil {
		return err
	}
	m.Metrics, m.Usage = x.nodeMetrics(ctx, d), x.usage(ctx, d)
	f := logFilter{node: d.Name}
	if m.Wait, err = x.wait(ctx, d); err != nil {
		return err
	}
	if m.Wait.Shown() {
		m.Head.Summary = ""
	}
	if m.Pods, err = x.pods(ctx, d); err != nil {
		return err
	}
	if m.Pods.Waits() || repeatsAttempt(m.Attempts, m.Head.Summary) { // another card shows the reason
		m.Head.Summary = ""
	}
	still := x.frozenRow(ctx, d)
	m.Facts, m.Inputs, m.Outputs = still.Facts, still.Inputs, still.Outputs
	m.Logs = h.logsOf(ctx, clock, e, v, f, "", logLinesInline)
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
func (x *executionView) frozenRow(ctx context.Context, d query.NodeDetail) views.NodeStill {
	said := []string{"Requests", "CPU used", "Memory, peak", "Failed with", "Why"}
	facts := slices.DeleteFunc(x.nodeFacts(d), func(f ui.Fact) bool { return slices.Contains(said, f.Name) })
	if plan, _ := x.planned(d.Node); plan != nil && d.Graph == "" {
		facts = append(facts, ui.Fact{Name: "Level", Value: fmt.Sprintf("%d of %d", d.Level+1, len(plan.Levels))})
	}
	return views.NodeStill{
		Facts:  facts,
		Inputs: x.inputsWithTransport(ctx, d), Outputs: x.names.resolve(ctx, operatorOutputs(d)),
	}
}

// nodeMetrics draws the metrics that the node's task reports.
func (x *executionView) nodeMetrics(ctx context.Context, d query.NodeDetail) views.Metrics {
	return x.h.metricsOf(ctx, x.clock, telemetry.MetricQuery{ExecutionID: x.ID, Node: d.Name, Source: telemetry.FromTask},
		x.query, views.NodeURL(x.ID.String(), d.Name), !d.State.Ended())
}

// nodeHead is the head of the page.
func (x *executionView) nodeHead(d query.NodeDetail) views.NodeHead {
	head := views.NodeHead{Name: d.Name, State: shownState(d.Node), GraphURL: views.ExecutionNodeURL(x.ID.String(), d.Name), Summary: x.nodeSummary(d), Commands: commandsOf(x.Execution, d)}
	head.Origin, head.Cache = originLine(d), cacheLine(d)
	if d.State == dag.Ready && d.ReadyAt != nil {
		head.Since, head.Waits = d.ReadyAt.Format(time.RFC3339), units.Duration(x.clock.Now.Sub(*d.ReadyAt))
	}
	return head
}

// nodeSummary describes the state of a node in a sentence.
func (x *executionView) nodeSummary(d query.NodeDetail) string {
	took := units.Duration(nodeTook(x.clock.Now, d.Node))
	why := ""
	if d.Reason != nil {
		why = label.ReasonText(d.Reason)
	}
	switch d.State {
	case dag.Pending:
		after := x.dependencies(d.Node)
		switch {
		case d.Reason != nil && (d.Reason.Code == execution.ReasonParallelism || d.Reason.Code == execution.ReasonStream):
			return "Not started: " + why
		case after == 0:
			return "Not started."
		}
		return "Not started: it depends on " + units.Plural(after, "node", "nodes") + "."
	case dag.Ready, dag.Queued:
		return cmp.Or(why, "Ready to start.")
	case dag.Running:
		return cmp.Or(why, "In attempt "+x.attemptOf(d.Node)+".")
	case dag.Retrying:
		return cmp.Or(why, "Retrying shortly.")
	case dag.Succeeded:
		if d.OriginUse == query.OriginReused || d.OriginUse == query.OriginCached {
			return "Reused: it did not run here."
		}
		if d.Reason != nil && (d.Reason.Code == execution.ReasonApproval || d.Reason.Code == execution.ReasonByHand) {
			return why
		}
		return "Succeeded after " + took + "."
	case dag.Failed:
		if d.Error != nil {
			return d.Error.Message
		}
	case dag.Skipped, dag.Cancelled:
		return why
	}
	return ""
}

// codeText is the code or command of an operator for pages.
func codeText(op *workflow.Operator) (text, kind string) {
	c := op.Code
	switch {
	case op.HTTP != nil:
		text = op.HTTP.Method + " " + op.HTTP.URL
		for _, k := range label.SortedKeys(op.HTTP.Headers) {
			text += "\n" + k + ": " + op.HTTP.Headers[k]
		}
		if op.HTTP.Body != "" {
			text += "\n\n" + op.HTTP.Body
		}
		return text, "request"
	case c.Script != "":
		return c.Script, "script"
	case len(c.Command) > 0:
		return strings.Join(slices.Concat(c.Command, c.Args), " "), "command"
	case c.File != "":
		return strings.TrimSpace("python3 " + c.File + " " + strings.Join(c.Args, " ")), "file of the package"
	}
	return "No code: this node only orders other nodes.", string(op.Type)
}

func resourceFacts(r workflow.Resources) []ui.Fact {
	var facts []ui.Fact
	if r.CPUMillis > 0 {
		facts = append(facts, ui.Fact{Name: "CPU", Value: strings.TrimSuffix(ui.CPU(r.CPUMillis), " CPU")})
	}
	if r.MemoryMiB > 0 {
		facts = append(facts, ui.Fact{Name: "Memory", Value: ui.Memory(r.MemoryMiB)})
	}
	if r.GPUs > 0 {
		facts = append(facts, ui.Fact{Name: "GPUs", Value: fmt.Sprint(r.GPUs), Note: r.GPUType})
	}
	if r.StorageMiB > 0 {
		facts = append(facts, ui.Fact{Name: "Storage", Value: ui.Memory(r.StorageMiB)})
	}
	if len(facts) == 0 {
		facts = append(facts, ui.Fact{Name: "Resources", Value: "launcher default"})
	}
	return facts
}

func policyFacts(op *workflow.Operator) []ui.Fact {
	facts := []ui.Fact{{Name: "Timeout", Value: planview.TimeoutText(op)}}
	retry := ui.Fact{Name: "Retries", Value: planview.RetriesText(op)}
	if r := op.Retry; r.Limit > 0 {
		retry.Note = fmt.Sprintf("after %s, then × %g, at most %s", units.Duration(r.InitialDelay), r.Factor, units.Duration(r.MaxDelay))
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

// streamQuery contains the parameters with which the stream draws the same pieces as the
// page.
func (x *executionView) streamQuery(cursor string) url.Values {
	q := url.Values{}
	for _, k := range []string{"node", "view", "state", "nodes", "from", "to", "stem", "after", "x", "scale", "smooth"} {
		if v := x.query.Get(k); v != "" {
			q.Set(k, v)
		}
	}
	q.Set("seen", x.clock.Now.UTC().Format(time.RFC3339Nano))
	if cursor != "" {
		q.Set("last-event-id", cursor)
	}
	return q
}
