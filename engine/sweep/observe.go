package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep/stopping"
)

// leastGrowth is the growth of a run's GPU-hours after which its row is written again.
const leastGrowth = 1.01

// observed contains the values of a run that change.
type observed struct {
	Number     int32              `json:"number"`
	State      RunState           `json:"state"`
	Objective  *float64           `json:"objective"`
	Step       *int64             `json:"step"`
	BestStep   *int64             `json:"best_step"`
	Rungs      map[string]float64 `json:"rungs"`
	Stop       string             `json:"stop"`
	Message    string             `json:"message"`
	GPUHours   float64            `json:"gpu_hours"`
	StartedAt  *time.Time         `json:"started_at"`
	FinishedAt *time.Time         `json:"finished_at"`
	Settled    bool               `json:"settled"`
}

// observer reads the progress of the runs of a sweep.
type observer struct {
	s       *Service
	sweep   Sweep
	rule    stopping.Rule
	rungs   map[string]map[int32]float64 // values of all runs by step
	metrics map[uuid.UUID]*telemetry.Progress
	partial bool // earlier points are missing
	hours   map[uuid.UUID]float64
}

// observe writes the states and objectives of the runs that have not settled, and stops
// unpromising runs early.
func (s advancer) observe(ctx context.Context, row db.InputSweep, sw Sweep) error {
	rows, err := s.queries.UnsettledSweepRuns(ctx, sw.ID)
	if err != nil {
		return fmt.Errorf("list the runs of sweep %s: %w", sw.ID, err)
	}
	rows = slices.DeleteFunc(rows, func(r db.UnsettledSweepRunsRow) bool { return r.ExecutionID == nil })
	if len(rows) == 0 {
		return nil
	}
	o := observer{s: s.Service, sweep: sw, rule: ruleOf(sw)}
	if err := o.read(ctx, row, rows); err != nil {
		return err
	}
	var changed []observed
	for _, r := range rows {
		before, err := fromObserved(r)
		if err != nil {
			return fmt.Errorf("run %d of sweep %s: %w", r.Number, sw.ID, err)
		}
		after, err := o.look(ctx, r, before)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(before, after) {
			changed = append(changed, after)
		}
	}
	if len(changed) > 0 {
		list, err := encode(changed)
		if err != nil {
			return fmt.Errorf("update the runs of sweep %s: %w", sw.ID, err)
		}
		if err := s.queries.UpdateSweepRuns(ctx, sw.ID, list); err != nil {
			return fmt.Errorf("update the runs of sweep %s: %w", sw.ID, err)
		}
		s.config.Crash("observe.committed")
	}
	return o.cancel(ctx, rows, changed)
}

func ruleOf(sw Sweep) stopping.Rule {
	e := sw.EarlyStopping
	if sw.Objective == nil || sw.Objective.Metric == "" || e.Rule == NoRule || e.Rule == "" {
		return stopping.Rule{}
	}
	return stopping.Rule{Kind: stopping.Kind(e.Rule), Lower: sw.Objective.Goal == Minimize, MinStep: e.MinStep, MinRuns: e.MinRuns, Factor: e.Factor}
}

// fromObserved returns the values in the row of a run.
func fromObserved(r db.UnsettledSweepRunsRow) (observed, error) {
	o := observed{
		Number: r.Number, State: RunState(r.State), Objective: r.Objective, Step: r.Step, BestStep: r.BestStep, Rungs: map[string]float64{},
		Stop: r.Stop, Message: r.Message, GPUHours: r.GpuHours, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
	return o, part("rungs", r.Rungs, &o.Rungs)
}

// read reads metrics, GPU-hours and the values of other runs.
func (o *observer) read(ctx context.Context, row db.InputSweep, rows []db.UnsettledSweepRunsRow) error {
	var ids []uuid.UUID
	var places []telemetry.Place
	for _, r := range rows {
		ids = append(ids, *r.ExecutionID)
		places = append(places, telemetry.Place{ExecutionID: *r.ExecutionID, ProjectID: row.ProjectID})
	}
	if m := o.sweep.Objective; m != nil && m.Metric != "" {
		q := telemetry.ProgressQuery{Places: places, Name: m.Metric, Lower: m.Goal == Minimize}
		if o.rule.Kind != "" {
			q.Steps = o.rule.Steps()
		}
		var err error
		if o.metrics, o.partial, err = o.s.config.Telemetry.Progress(ctx, q); err != nil {
			return fmt.Errorf("metrics of sweep %s: %w", o.sweep.ID, err)
		}
	}
	hours, err := o.s.queries.HoursOfExecutions(ctx, o.s.now(), ids)
	if err != nil {
		return fmt.Errorf("GPU-hours of sweep %s: %w", o.sweep.ID, err)
	}
	o.hours = map[uuid.UUID]float64{}
	for _, h := range hours {
		o.hours[h.ExecutionID] = h.GpuHours
	}
	if o.rule.Kind == "" {
		return nil
	}
	others, err := o.s.queries.SweepRungs(ctx, o.sweep.ID)
	if err != nil {
		return fmt.Errorf("values of the runs of sweep %s: %w", o.sweep.ID, err)
	}
	o.rungs = map[string]map[int32]float64{}
	for _, r := range others {
		var values map[string]float64
		if err := part("rungs", r.Rungs, &values); err != nil {
			return fmt.Errorf("values of run %d of sweep %s: %w", r.Number, o.sweep.ID, err)
		}
		for step, v := range values {
			o.note(step, r.Number, v)
		}
	}
	return nil
}

func (o *observer) note(step string, number int32, v float64) {
	if o.rungs[step] == nil {
		o.rungs[step] = map[int32]float64{}
	}
	o.rungs[step][number] = v
}

// look returns the current state of a run.
func (o *observer) look(ctx context.Context, r db.UnsettledSweepRunsRow, run observed) (observed, error) {
	if r.FoundID == nil || r.Status == nil {
		run.Settled = true
		if !run.State.Ended() {
			run.State, run.Message, run.FinishedAt = RunFailed, "The execution was deleted before it was read.", new(o.s.now())
		}
		return run, nil
	}
	if hours := o.hours[*r.ExecutionID]; hours >= run.GPUHours*leastGrowth || query.State(*r.Status).Ended() {
		run.GPUHours = max(run.GPUHours, hours)
	}
	run.StartedAt, run.FinishedAt = r.BegunAt, r.EndedAt
	if !o.partial { // what is missing may be better
		o.measure(r, &run)
		run = o.compare(*r.ExecutionID, run, query.State(*r.Status).Ended())
	}
	if status := query.State(*r.Status); status.Ended() {
		run.State, run.Message = endOf(status, r, run.Stop)
		settled, err := o.settled(ctx, r)
		run.Settled = settled
		return run, err
	}
	return run, nil
}

// endOf is the state of a run whose execution has ended.
func endOf(status query.State, r db.UnsettledSweepRunsRow, stop string) (RunState, string) {
	switch {
	case status == query.Succeeded:
		return RunSucceeded, ""
	case status == query.Cancelled && stop != "":
		return RunStoppedEarly, stop
	case status == query.Cancelled:
		return RunCancelled, r.Failure
	}
	return RunFailed, r.Failure
}

// settled reports whether no more points of the objective arrive.
func (o *observer) settled(ctx context.Context, r db.UnsettledSweepRunsRow) (bool, error) {
	if m := o.sweep.Objective; m == nil || m.Metric == "" {
		return true, nil
	}
	if o.partial || r.EndedAt == nil || o.s.now().Before(r.EndedAt.Add(o.s.config.Settle)) {
		return false, nil
	}
	follows, err := o.s.config.Executions.LogFollows(ctx, *r.ExecutionID)
	return !follows, err
}

// measure reads the objective.
func (o *observer) measure(r db.UnsettledSweepRunsRow, run *observed) {
	m := o.sweep.Objective
	switch {
	case m == nil:
	case m.Output != "":
		run.Objective = outputOf(r.Outputs, m.Output)
	case o.metrics[*r.ExecutionID] != nil:
		p := o.metrics[*r.ExecutionID]
		run.Objective, run.Step, run.BestStep = &p.Best, p.LastStep, p.BestStep
		if m.Value == LastValue {
			run.Objective, run.BestStep = &p.Last, p.LastStep
		}
	}
}

// outputOf returns an output that is a finite number, or nil.
func outputOf(outputs json.RawMessage, path string) *float64 {
	var v any
	if len(outputs) == 0 || decode(outputs, &v) != nil {
		return nil
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	x, err := n.Float64()
	if err != nil || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// compare applies the rule of early stopping at each step that the run has newly reached. The values of
// a run that has ended count for the others, but the rule does not apply to it.
func (o *observer) compare(id uuid.UUID, run observed, ended bool) observed {
	p := o.metrics[id]
	if o.rule.Kind == "" || p == nil {
		return run
	}
	known := run.Rungs
	run.Rungs = maps.Clone(known)
	steps := o.rule.Steps()
	for i, v := range p.At {
		step := strconv.FormatInt(steps[i], 10)
		if _, done := known[step]; done || math.IsNaN(v) {
			continue
		}
		run.Rungs[step] = v
		var others []float64
		for number, other := range o.rungs[step] {
			if number != run.Number {
				others = append(others, other)
			}
		}
		o.note(step, run.Number, v)
		if d, stop := o.rule.Decide(steps[i], v, others); stop && !ended && run.Stop == "" {
			run.Stop = d.Message()
		}
	}
	return run
}

// cancel cancels the executions of runs that are stopped early, unless their cancellation was
// requested already.
func (o *observer) cancel(ctx context.Context, rows []db.UnsettledSweepRunsRow, changed []observed) error {
	stops := map[int32]string{}
	for _, c := range changed {
		stops[c.Number] = c.Stop
	}
	for _, r := range rows {
		stop := r.Stop
		if now, ok := stops[r.Number]; ok {
			stop = now
		}
		if stop == "" || r.Status == nil || query.State(*r.Status).Ended() || r.CancelRequestedAt != nil {
			continue
		}
		err := o.s.config.Executions.Commands.Cancel(ctx, *r.ExecutionID, stop)
		if err != nil && !apperr.Is(err, apperr.Conflict) { // it has just ended
			return fmt.Errorf("stop run %d of sweep %s early: %w", r.Number, o.sweep.ID, err)
		}
		o.s.config.Crash("cancel.done")
	}
	return nil
}
