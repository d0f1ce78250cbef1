package execution

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// metrics emits the metrics of the definition. The values of a batch are computed before the
// transaction, which then writes them (series.go).
type metrics struct {
	feature
	noPart

	startReported bool       // the realtime metrics of the execution itself have begun
	emissions     []emission // of the current flush, in the order in which nodes ended
	refused       int        // series of the current flush that exceed the project's maximum

	firstBegins map[int]time.Time // of nodes
	reopened    map[int]struct{}  // nodes that a user let run again, until they have begun
	restored    bool              // firstBegins includes the begins before this loop
}

func (me *metrics) committed(context.Context, map[int]*nodeRow) {
	me.loop.driver.countRefused(me.refused)
	me.refused = 0
}

// emission is the value of one metric of a node, or of the execution itself.
type emission struct {
	metric *workflow.Metric
	node   int // or fair.ExecutionItself
	at     time.Time
	name   string
	help   string
	labels json.RawMessage
	key    string // of the series
	value  float64
	since  *time.Time // when its running node began, for a realtime metric; nil: the node has ended
}

// gather computes the emissions of the batch: realtime metrics of nodes that begin with it,
// all metrics of nodes that end with it permanently. A metric that fails adds an event and
// changes nothing else; only a temporary read failure is an error.
func (me *metrics) gather(ctx context.Context) error {
	me.emissions = nil
	me.noteBegins()
	for _, i := range me.nodesWithMetrics() {
		row, state, n := me.loop.batch.nodes[i], me.loop.progress.State(i), &me.loop.nodes[i]
		var began time.Time
		if n.startedAt != nil {
			var err error
			if began, err = me.firstBegin(ctx, i); err != nil {
				return err
			}
		}
		inputs, err := me.ownInputs(ctx, i)
		if err != nil {
			return err
		}
		scope := me.loop.values.within(ctx, i, inputs)
		switch {
		case state.Ended():
			me.addEnd(scope, i, began)
			err = me.emit(scope, n.op.Metrics, i, *n.finishedAt, nil)
			delete(me.firstBegins, i)
		case row.FromState != dag.Running && n.startedAt != nil:
			err = me.emit(scope, n.op.Metrics, i, began, &began)
		}
		if err != nil {
			return err
		}
	}
	own := me.loop.version.Definition.Metrics
	if len(own) == 0 {
		return nil
	}
	switch {
	case me.loop.batch.finished:
		return me.emit(me.atRunEnd(ctx), own, fair.ExecutionItself, *me.loop.row.FinishedAt, nil)
	case !me.startReported && me.loop.status == query.Running && me.loop.row.StartedAt != nil:
		me.startReported = true
		return me.emit(me.loop.values.inScope(ctx, dag.Root), own, fair.ExecutionItself, *me.loop.row.StartedAt, me.loop.row.StartedAt)
	}
	return nil
}

// nodesWithMetrics returns the nodes of the batch that may emit metrics, in the order in
// which they ended. A fan-out emits none itself: its items do. Nodes that were left out,
// never began, or were reused from an execution that emitted them already emit none.
func (me *metrics) nodesWithMetrics() []int {
	var list []int
	for i, row := range me.loop.batch.nodes {
		n := &me.loop.nodes[i]
		if len(n.op.Metrics) == 0 || me.loop.groups.fansOut(i) || n.origin != nil && n.origin.use == useReused {
			continue
		}
		state := me.loop.progress.State(i)
		over := state == dag.Succeeded || state == dag.Failed || state == dag.Cancelled && n.attempt > 0
		if over && !row.FromState.Ended() || state == dag.Running {
			list = append(list, i)
		}
	}
	when := func(i int) time.Time {
		if at := me.loop.nodes[i].finishedAt; at != nil {
			return *at
		}
		return time.Time{}
	}
	slices.SortFunc(list, func(a, b int) int {
		if c := when(a).Compare(when(b)); c != 0 {
			return c
		}
		return a - b
	})
	return list
}

// ownInputs returns the inputs of the template that node i runs.
func (me *metrics) ownInputs(ctx context.Context, i int) (map[string]any, error) {
	if n := &me.loop.nodes[i]; n.op.Graph != "" && n.inputs != nil {
		return n.inputs, nil
	}
	return me.loop.values.inputValues(ctx, i)
}

// noteBegins records when nodes with metrics first began: a retried node has run since its
// first attempt, a node that a user let run again since that.
func (me *metrics) noteBegins() {
	if me.firstBegins == nil {
		me.firstBegins, me.reopened = map[int]time.Time{}, map[int]struct{}{}
	}
	for _, i := range me.loop.deadLetters.part.reopened {
		delete(me.firstBegins, int(i))
		me.reopened[int(i)] = struct{}{}
	}
	for i := range me.loop.batch.nodes {
		n := &me.loop.nodes[i]
		if len(n.op.Metrics) == 0 || n.startedAt == nil {
			continue
		}
		_, known := me.firstBegins[i]
		if _, anew := me.reopened[i]; !known && (anew || n.attempt == 1) {
			me.firstBegins[i] = *n.startedAt
			delete(me.reopened, i)
		}
	}
}

// firstBegin returns when node i, which has begun, first began. Begins that another process
// handled are read once.
func (me *metrics) firstBegin(ctx context.Context, i int) (time.Time, error) {
	if at, ok := me.firstBegins[i]; ok {
		return at, nil
	}
	if !me.restored {
		rows, err := me.loop.driver.queries.FirstBegins(ctx, me.loop.id)
		if err != nil {
			return time.Time{}, fmt.Errorf("read when nodes began: %w", err)
		}
		for _, r := range rows {
			node := int(r.NodeIndex)
			if _, known := me.firstBegins[node]; !known {
				me.firstBegins[node] = r.At
			}
		}
		me.restored = true
	}
	if at, ok := me.firstBegins[i]; ok {
		return at, nil
	}
	return *me.loop.nodes[i].startedAt, nil
}

// addEnd adds to the scope of node i, which has ended, how it ended. The zero time means that it
// never began.
func (me *metrics) addEnd(p *tagScope, i int, began time.Time) {
	n := &me.loop.nodes[i]
	var ran time.Duration
	if !began.IsZero() {
		ran = n.finishedAt.Sub(began)
	}
	p.ended = map[string]string{"status": me.loop.values.phase(i), "duration": secondsText(ran)}
	if me.loop.progress.State(i) == dag.Succeeded && n.op.Runs() {
		p.ended["exitCode"] = "0"
	} else if code, ok := exitCodeOf(n.failure); ok {
		p.ended["exitCode"] = code
	}
	for name, v := range me.loop.values.outputs[i] {
		switch {
		case v == nil:
		case name == ResultPort:
			p.ended[ResultPort] = textOf(v)
		case !strings.Contains(name, "."): // artifacts have no text
			p.ended["outputs.parameters."+name] = textOf(v)
		}
	}
}

// atRunEnd is the scope of the metrics of the execution, which ends with the batch.
func (me *metrics) atRunEnd(ctx context.Context) *tagScope {
	p := me.loop.values.inScope(ctx, dag.Root)
	phase := "Failed"
	switch {
	case me.loop.status == query.Succeeded:
		phase = "Succeeded"
	case me.loop.status == query.Failed && me.loop.groups.rootErrs():
		phase = "Error"
	}
	var ran time.Duration
	if me.loop.row.StartedAt != nil {
		ran = me.loop.row.FinishedAt.Sub(*me.loop.row.StartedAt)
	}
	p.ended = map[string]string{"workflow.status": phase, "workflow.duration": secondsText(ran)}
	return p
}

func secondsText(d time.Duration) string {
	return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 6, 64)
}

// emit evaluates the metrics of a node at p. since is the begin of a node that still runs;
// then only realtime metrics are evaluated.
func (me *metrics) emit(p *tagScope, metrics []workflow.Metric, node int, at time.Time, since *time.Time) error {
	for k := range metrics {
		m := &metrics[k]
		if since != nil && !m.Live {
			continue
		}
		e, holds, err := p.emission(m, since != nil)
		switch {
		case isUnreadable(err) || p.broken != nil:
			return fmt.Errorf("report the metric %s: %w", m.Name, err)
		case err != nil:
			me.failed(m, node, at, sentence(err))
		case holds:
			e.node, e.at, e.since = node, at, since
			me.emissions = append(me.emissions, e)
		}
	}
	return nil
}

// emission evaluates m at p; false when its condition is false.
func (p *tagScope) emission(m *workflow.Metric, begins bool) (e emission, holds bool, err error) {
	e.metric = m
	if m.When != "" {
		text, err := p.text(m.When, false)
		if err != nil {
			return e, false, err
		}
		if holds, err = expression.When(text); err != nil || !holds {
			return e, false, err
		}
	}
	if e.name, err = p.checked(m.Name, workflow.MetricNameProblem); err != nil {
		return e, false, err
	}
	if e.help, err = p.checked(m.Help, workflow.MetricTextProblem); err != nil {
		return e, false, err
	}
	labels := make(map[string]string, len(m.Labels))
	for _, label := range m.Labels {
		if labels[label.Key], err = p.checked(label.Value, workflow.MetricTextProblem); err != nil {
			return e, false, fmt.Errorf("label %s: %w", label.Key, err)
		}
	}
	e.labels = mustJSON(labels)
	sum := sha256.Sum256(slices.Concat([]byte(e.name), []byte{0}, e.labels))
	e.key = hex.EncodeToString(sum[:])
	if begins {
		return e, true, nil
	}
	text, err := p.text(m.Value, true)
	if err != nil {
		return e, false, err
	}
	value, problem := workflow.MetricValue(text, m.Kind)
	if problem != "" {
		return e, false, fmt.Errorf("%s", problem)
	}
	e.value = value
	return e, true, nil
}

// checked replaces the tags of a text, all of which must be known, and returns an error when
// problem does. Invalid UTF-8 becomes question marks.
func (p *tagScope) checked(text string, problem func(string) string) (string, error) {
	text, err := p.text(text, true)
	if err != nil {
		return "", err
	}
	if why := problem(text); why != "" {
		return "", fmt.Errorf("%s", why)
	}
	return clean(text, len(text)), nil
}

// failed adds an event that a metric was not emitted, and why. It changes nothing else.
func (me *metrics) failed(m *workflow.Metric, node int, at time.Time, why string) {
	text := fmt.Sprintf("The metric %s (%s) was not reported: %s", m.Name, m.At, why)
	data := map[string]any{"metric": m.Name, "at": m.At}
	if node == fair.ExecutionItself {
		me.loop.batch.event(eventRow{At: at, Kind: query.EventMetricFailed, Message: clean(text, maxMessage), Data: mustJSON(data)})
		return
	}
	me.loop.batch.nodeEvent(node, at, query.EventMetricFailed, text, data)
}
