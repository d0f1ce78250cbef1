package execution

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/units"
)

// Codes of the reasons of sensors.
const (
	ReasonSensor        = query.ReasonSensor // waits for its next poll, or for a time
	ReasonSensorTimeout = "SENSOR_TIMEOUT"   // skipped: its condition was not met in time
)

// sensors lets nodes wait for a condition. A poll is an attempt. Between two polls, a node is
// RETRYING and holds no resources. A node whose sensor has no attempts is RUNNING, like one that
// waits for a user. Everything that a later loop needs is in the rows: the beginning of the
// wait, the number of polls and, for nodes with attempts, the time of the next one.
type sensors struct{ loop *loop }

func (sn *sensors) sensor(i int) *workflow.Sensor {
	if sn.loop.groups.fansOut(i) {
		return nil
	}
	return sn.loop.operator(i).Sensor
}

// skipsInTurn reports whether a node that was skipped with this code lets its dependents skip, too, as
// after a false condition. Other skipped nodes could not run.
func skipsInTurn(code string) bool {
	return code == ReasonCondition || code == ReasonSkipped || code == ReasonSensorTimeout
}

// polling returns the record of node i, and creates it when the wait begins.
func (sn *sensors) polling(i int) *query.Polling {
	n := &sn.loop.nodes[i]
	if n.polling == nil {
		since := sn.loop.driver.now()
		if n.readyAt != nil {
			since = *n.readyAt
		}
		n.polling = &query.Polling{Since: since}
	}
	return n.polling
}

// deadline is when the wait of node i ends; zero before it begins.
func (sn *sensors) deadline(i int) time.Time {
	return sn.polling(i).Since.Add(sn.sensor(i).Timeout)
}

// watch sets the timer of the timeout of node i, which is READY or later.
func (sn *sensors) watch(i int) {
	if sn.sensor(i) != nil {
		sn.loop.timers.add(i, sn.deadline(i))
	}
}

// late reports whether the wait of node i ends because of its timeout, when an attempt ended like e
// without success.
func (sn *sensors) late(i int, e ending, again bool) bool {
	if sn.sensor(i) == nil || sn.loop.nodes[i].cancelled != nil || sn.loop.progress.Halted(i) {
		return false
	}
	return (e.Outcome == notYet || e.Outcome.outside() || again) && !sn.loop.driver.now().Before(sn.deadline(i))
}

// answered records the end of a poll of node i that received a response, whether the condition
// was met or not.
func (sn *sensors) answered(i int, e ending) {
	p := sn.polling(i)
	at := sn.loop.ends.endTime(e)
	p.Polls, p.At, p.Next, p.Attempt = p.Polls+1, &at, nil, sn.loop.nodes[i].attempt
	p.Last = clean(e.Message, maxMessage)
	if e.Outcome == succeeded {
		p.Last = ""
	}
}

// again makes node i wait for its next poll, after one whose condition was not met.
func (sn *sensors) again(i int, e ending) {
	n := &sn.loop.nodes[i]
	sn.loop.batch.touch(i)
	n.retries, n.failure = 0, nil // retry.limit counts the failed polls in a row
	p := n.polling
	at := sn.loop.ends.endTime(e)
	delay := min(sn.sensor(i).Pause(p.Polls), max(sn.deadline(i).Sub(at), 0))
	next := at.Add(delay).Truncate(time.Microsecond)
	p.Next = &next
	sn.loop.ends.repeat(i, at, delay, &query.Reason{Code: ReasonSensor, Message: sn.waitText(i)})
}

func (sn *sensors) waitText(i int) string {
	p := sn.polling(i)
	text := "Not yet after " + units.Plural(p.Polls, "poll", "polls") + "."
	if p.Last != "" {
		text += " " + p.Last
	}
	return text
}

// expire ends the wait of node i, which has no live attempt.
func (sn *sensors) expire(i int, now time.Time) {
	s, n := sn.sensor(i), &sn.loop.nodes[i]
	text := "The condition was not met within " + units.Compact(s.Timeout)
	if p := sn.polling(i); s.Until != "" {
		text = "The time was not reached within " + units.Compact(s.Timeout) + "."
	} else {
		text += " (" + units.Plural(p.Polls, "poll", "polls") + ")."
		if p.Last != "" {
			text += " " + p.Last
		}
	}
	if sn.loop.progress.State(i) == dag.Ready {
		sn.loop.admission.withdraw(i)
	}
	sn.loop.batch.touch(i)
	sn.polling(i).Next = nil
	if s.SkipLate {
		sn.loop.endWithout(i, dag.Skipped, now, &query.Reason{Code: ReasonSensorTimeout, Message: clean(text, maxMessage)})
		return
	}
	failure := &query.Failure{Code: "timeout", Message: clean(text, maxMessage), Node: n.name, Attempt: n.attempt}
	sn.loop.ends.failNode(i, now, failure)
	if n.attempt > 0 {
		sn.loop.deadLetters.add(i, now, failure)
	}
}

// fire handles a timer of node i. It reports false when the timer is not one of a sensor.
func (sn *sensors) fire(ctx context.Context, i int, now time.Time) bool {
	if sn.sensor(i) == nil {
		return false
	}
	state, late := sn.loop.progress.State(i), !now.Before(sn.deadline(i))
	switch {
	case state == dag.Running && sn.loop.operator(i).Awaits():
		sn.look(ctx, i, now)
	case state.Active() && late: // the end of the attempt ends the wait
		sn.loop.stop(i, now)
	case late && (state == dag.Ready || state == dag.Retrying):
		sn.expire(i, now)
	case state == dag.Retrying && sn.loop.nodes[i].reason != nil && sn.loop.nodes[i].reason.Code == ReasonSensor && !sn.loop.nodes[i].retryAt.After(now):
		sn.loop.ready.makeReady(ctx, i, now)
	default:
		return state != dag.Retrying // the retry policy decides after a poll that failed
	}
	return true
}

// begin makes node i wait without attempts.
func (sn *sensors) begin(ctx context.Context, i int, now time.Time) {
	sn.loop.move(i, dag.Running)
	sn.polling(i).Since = now
	sn.watch(i)
	sn.look(ctx, i, now)
	if sn.loop.progress.State(i) == dag.Running {
		sn.loop.batch.nodeEvent(i, now, query.EventNodeWaiting, sn.loop.nodes[i].reason.Message, map[string]any{"code": ReasonSensor})
	}
}

// look decides whether node i, whose sensor has no attempts, still waits.
func (sn *sensors) look(ctx context.Context, i int, now time.Time) {
	s, n := sn.sensor(i), &sn.loop.nodes[i]
	if p := sn.polling(i); p.Next != nil && p.Next.After(now) && now.Before(sn.deadline(i)) {
		sn.loop.timers.add(i, *p.Next)
		return
	}
	sn.loop.batch.touch(i)
	values, next, text, err := sn.check(ctx, i, now)
	p := sn.polling(i)
	if s.Until == "" {
		p.Polls, p.At, p.Last = p.Polls+1, &now, text
	}
	switch {
	case err != nil && isUnreadable(err):
		next, text = now.Add(s.Interval), "The values could not be read. FlowForge retries."
		p.Last = text
	case err != nil:
		sn.loop.ends.failNode(i, now, &query.Failure{Code: "sensor", Message: sentence(err), Node: n.name, Attempt: n.attempt})
		return
	case values != nil:
		p.Next = nil
		values[workflow.SensorPolls] = int64(p.Polls)
		sn.loop.ends.succeed(i, ending{FinishedAt: now, StartedAt: n.startedAt}, declaredOnly(n.op, values))
		return
	}
	if !now.Before(sn.deadline(i)) {
		sn.expire(i, now)
		return
	}
	next = next.Truncate(time.Microsecond)
	p.Next = &next
	n.reason = &query.Reason{Code: ReasonSensor, Message: text}
	sn.loop.timers.add(i, next)
}

// check returns the outputs of node i if its condition is met; otherwise, when to check again
// and the reason for the wait.
func (sn *sensors) check(ctx context.Context, i int, now time.Time) (values map[string]any, next time.Time, text string, err error) {
	s := sn.sensor(i)
	given, err := sn.loop.values.ofTags(ctx, i)
	if err != nil {
		return nil, now, "", err
	}
	if s.Until != "" {
		until, err := workflow.FillTime(s.Until, given)
		if err != nil {
			return nil, now, "", fmt.Errorf("until: %w", err)
		}
		if !now.Before(until) {
			return map[string]any{workflow.SensorTime: until.Format(time.RFC3339Nano)}, now, "", nil
		}
		return nil, until, "Waiting until " + until.Format("2006-01-02 15:04:05 UTC") + ".", nil
	}
	values, text, err = sn.execution(ctx, s.Execution, given)
	return values, now.Add(s.Pause(sn.polling(i).Polls + 1)), text, err
}

// execution looks for the execution that a node waits for.
func (sn *sensors) execution(ctx context.Context, w *workflow.WatchedExecution, given map[string]any) (map[string]any, string, error) {
	q, project := sn.loop.driver.queries, sn.loop.row.ProjectID
	if w.ID != "" {
		text, err := workflow.FillText(w.ID, given)
		if err != nil {
			return nil, "", fmt.Errorf("execution.id: %w", err)
		}
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, "", fmt.Errorf("execution.id: %q is not the ID of an execution", clean(text, 100))
		}
		rows, err := q.WatchedExecution(ctx, id, project)
		switch {
		case err != nil:
			return nil, "", &readError{err}
		case len(rows) == 0:
			return nil, "", fmt.Errorf("the project has no execution with the ID %s", id)
		}
		return found(w, rows[0].ID, rows[0].Status, stored.Object(rows[0].Outputs))
	}
	since := sn.loop.row.CreatedAt
	if w.Since != "" {
		var err error
		if since, err = workflow.FillTime(w.Since, given); err != nil {
			return nil, "", fmt.Errorf("execution.since: %w", err)
		}
	}
	states := []string{w.State}
	if w.State == workflow.AnyEnd {
		states = []string{string(query.Succeeded), string(query.Failed), string(query.Cancelled)}
	}
	rows, err := q.EndedSince(ctx, db.EndedSinceParams{ProjectID: project, Workflow: w.Workflow, Least: query.LeastID(since), Since: since, Self: sn.loop.id, States: states})
	switch {
	case err != nil:
		return nil, "", &readError{err}
	case len(rows) == 0:
		return nil, fmt.Sprintf("No execution of %s since %s has ended in the state %s.", w.Workflow, since.UTC().Format("2006-01-02 15:04:05 UTC"), strings.Join(states, " or ")), nil
	}
	return found(w, rows[0].ID, rows[0].Status, stored.Object(rows[0].Outputs))
}

// found returns the outputs for an execution in a state. One that has ended in another state will never
// meet the condition.
func found(w *workflow.WatchedExecution, id uuid.UUID, status string, outputs map[string]any) (map[string]any, string, error) {
	switch {
	case !query.State(status).Ended():
		return nil, fmt.Sprintf("The execution %s is %s.", id, status), nil
	case w.State != workflow.AnyEnd && w.State != status:
		return nil, "", fmt.Errorf("the execution %s ended in the state %s, not %s", id, status, w.State)
	}
	if outputs == nil {
		outputs = map[string]any{}
	}
	return map[string]any{workflow.SensorExecution: id.String(), workflow.SensorState: status, workflow.SensorOutputs: outputs}, "", nil
}

// declaredOnly returns the values that are outputs of op.
func declaredOnly(op *workflow.Operator, values map[string]any) map[string]any {
	out := map[string]any{}
	for _, declared := range op.Outputs {
		if v, ok := values[declared.Name]; ok {
			out[declared.Name] = v
		}
	}
	return out
}
