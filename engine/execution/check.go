package execution

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ForecastService predicts whether and when launches would begin.
type ForecastService struct{ *core }

// Forecast is what would happen to a launch now.
type Forecast struct {
	fair.Forecast

	Node      string             // the node that delays it; "" is the execution itself, or none
	Requested workflow.Resources // requested by that node
	Choices   []Choice           // alternatives for that node
	Duration  time.Duration      // of the whole execution once it has begun; 0: unknown
	GPUHours  float64            // estimated use; 0: none or unknown
	Basis     int                // earlier attempts of the operator with the fewest; 0: some have none
}

// Choice is another GPU type with the forecast of the same launch on it.
type Choice struct {
	GPUType  string
	Forecast fair.Forecast
}

// LaunchCheck is the result of a dry run: the problems of a launch, and its forecast.
type LaunchCheck struct {
	Version  workflow.Version
	Problems []apperr.Field
	Forecast Forecast
}

// Check is a dry run of Launch. It returns the errors of Launch, except that invalid values
// are Problems.
func (s *LaunchService) Check(ctx context.Context, r LaunchRequest) (LaunchCheck, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionLaunch); err != nil {
		return LaunchCheck{}, err
	}
	subject, version, err := s.launchable(ctx, r)
	if err != nil {
		return LaunchCheck{}, err
	}
	ctx = auth.WithSubject(ctx, subject)
	r.Priority = priorityOf(r.Priority, version.Definition)
	check := LaunchCheck{Version: version}
	if r.identity, err = s.newIdentity(); err != nil {
		return LaunchCheck{}, err
	}
	if _, err = s.checkLaunch(ctx, r, version, newCommon()); err != nil {
		if !apperr.Is(err, apperr.Invalid) {
			return LaunchCheck{}, err
		}
		check.Problems = apperr.FieldsOf(err)
	}
	check.Forecast, err = s.forecasts.Forecast(ctx, version.ID, r.Priority)
	return check, err
}

// Forecast reports whether an execution of a version would begin now, later, or never. It
// considers the first nodes and the nodes with the largest requests.
func (s *ForecastService) Forecast(ctx context.Context, versionID uuid.UUID, priority query.Priority) (Forecast, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Forecast{}, err
	}
	version, err := s.workflows.VersionByID(ctx, versionID)
	if err != nil {
		return Forecast{}, err
	}
	priority = priorityOf(priority, version.Definition)
	estimates, err := s.estimates.Of(ctx, version.WorkflowID)
	if err != nil {
		return Forecast{}, err
	}
	p := &hypotheticalLaunch{forecasts: s, project: version.ProjectID, version: version, estimates: estimates, priority: priority, id: uuid.New()}
	out := Forecast{Forecast: p.of(nil)}
	for _, i := range p.demanding() {
		f := p.of(new(i))
		if delaysLonger(f, out.Forecast) {
			op := &version.Definition.Operators[i]
			out.Forecast, out.Node, out.Requested = f, op.Name, op.Resources
		}
	}
	if out.Node != "" && out.Verdict != fair.FitsNow {
		out.Choices = p.choices(out.Node)
	}
	if out.Reason != nil {
		quota.HideHolders(subject, out.Reason)
	}
	p.summarize(&out)
	return out, nil
}

// FitAtOnce returns how many executions of a version could begin now concurrently, at most most.
// It considers the same nodes as Forecast, one kind at a time.
func (s *ForecastService) FitAtOnce(ctx context.Context, versionID uuid.UUID, priority query.Priority, most int) (int, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return 0, err
	}
	version, err := s.workflows.VersionByID(ctx, versionID)
	if err != nil {
		return 0, err
	}
	estimates, err := s.estimates.Of(ctx, version.WorkflowID)
	if err != nil {
		return 0, err
	}
	p := &hypotheticalLaunch{forecasts: s, project: version.ProjectID, version: version, estimates: estimates, priority: priorityOf(priority, version.Definition)}
	fits := func(n int, node *int) bool {
		var requests []fair.Request
		for range n {
			p.id = uuid.New()
			requests = append(requests, p.requests(node)...)
		}
		return s.quota.Forecast(requests).Verdict == fair.FitsNow
	}
	most = p.largest(most, nil, fits)
	for _, i := range p.demanding() {
		most = p.largest(most, &i, fits)
	}
	return most, nil
}

// largest returns the largest number up to most that fits.
func (p *hypotheticalLaunch) largest(most int, node *int, fits func(int, *int) bool) int {
	if most == 0 || fits(most, node) {
		return most
	}
	return sort.Search(most-1, func(n int) bool { return !fits(n+1, node) })
}

// hypotheticalLaunch is a hypothetical launch.
type hypotheticalLaunch struct {
	forecasts *ForecastService
	project   uuid.UUID
	version   workflow.Version
	estimates map[string]query.Estimate
	priority  query.Priority
	id        uuid.UUID // not the ID of an execution
}

// of returns the forecast of the execution together with the node of an index, if given.
func (p *hypotheticalLaunch) of(node *int) fair.Forecast {
	return p.forecasts.quota.Forecast(p.requests(node))
}

// requests are those of the execution and of the node of an index, if given.
func (p *hypotheticalLaunch) requests(node *int) []fair.Request {
	now := p.forecasts.now()
	requests := []fair.Request{{
		Key: fair.Key{Execution: p.id, Node: fair.ExecutionItself}, Project: p.project, Priority: int(p.priority), Since: now,
		Amount: fair.Amount{Executions: 1},
	}}
	if node != nil {
		requests = append(requests, p.request(*node, now))
	}
	return requests
}

func (p *hypotheticalLaunch) request(i int, now time.Time) fair.Request {
	op := &p.version.Definition.Operators[i]
	r := p.forecasts.requestOf(op, p.project)
	r.Key, r.Priority, r.Since, r.Attempt = fair.Key{Execution: p.id, Node: i}, int(p.priority), now, 1
	r.Workflow, r.Expected = p.version.Name, p.estimates[op.Name].Fair()
	return r
}

// maxDemanding limits how many nodes of a plan are forecast.
const maxDemanding = 8

// demanding returns the nodes that determine when an execution begins and continues: the
// first of the nodes that begin it, and for each kind of GPU, for CPU and for memory the
// node with the largest request.
func (p *hypotheticalLaunch) demanding() []int {
	most := map[string]int{}
	ops := p.version.Definition.Operators
	note := func(kind string, i int, of func(workflow.Resources) int) {
		best, ok := most[kind]
		if of(ops[i].Resources) > 0 && (!ok || of(ops[i].Resources) > of(ops[best].Resources)) {
			most[kind] = i
		}
	}
	for i := range ops {
		if !ops[i].Runs() || ops[i].Pool != "" {
			continue
		}
		note("gpu:"+ops[i].Resources.GPUType, i, func(r workflow.Resources) int { return r.GPUs })
		note("cpu", i, func(r workflow.Resources) int { return r.CPUMillis })
		note("memory", i, func(r workflow.Resources) int { return r.MemoryMiB })
	}
	for _, i := range p.version.Plan.Entry {
		if ops[i].Runs() && ops[i].Pool == "" {
			most["entry"] = i
			break
		}
	}
	var nodes []int
	for _, i := range most {
		if !slices.Contains(nodes, i) {
			nodes = append(nodes, i)
		}
	}
	slices.Sort(nodes)
	return nodes[:min(len(nodes), maxDemanding)]
}

// delaysLonger reports whether a delays a launch longer than b.
func delaysLonger(a, b fair.Forecast) bool {
	rank := func(v fair.Verdict) int {
		switch v {
		case fair.NeverFits:
			return 2
		case fair.WouldWait:
			return 1
		case fair.FitsNow:
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a.Verdict), rank(b.Verdict)), cmp.Compare(a.Wait, b.Wait)) > 0
}

// choices returns the forecasts of a node on every other type of GPU, the earliest start
// first.
func (p *hypotheticalLaunch) choices(node string) []Choice {
	i, ok := p.version.Plan.Lookup(node)
	if !ok || p.version.Definition.Operators[i].Resources.GPUType == "" {
		return nil
	}
	var choices []Choice
	for _, gpuType := range p.forecasts.gpuTypes() {
		r := p.request(i, p.forecasts.now())
		if gpuType == r.Amount.GPUType {
			continue
		}
		r.Amount.GPUType = gpuType
		choices = append(choices, Choice{gpuType, p.forecasts.quota.Forecast([]fair.Request{r})})
	}
	slices.SortStableFunc(choices, func(a, b Choice) int {
		switch {
		case delaysLonger(b.Forecast, a.Forecast):
			return -1
		case delaysLonger(a.Forecast, b.Forecast):
			return 1
		}
		return strings.Compare(a.GPUType, b.GPUType)
	})
	return choices
}

// gpuTypes are the types of GPUs that the installation has.
func (s *ForecastService) gpuTypes() []string {
	tree := s.quota.Scheduler().Tree()
	root, ok := tree.Level(auth.Installation)
	if !ok {
		return nil
	}
	var types []string
	for resource, n := range root.Limits.Limit {
		if t := resource.GPUType(); t != "" && n > 0 {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	return types
}

// summarize adds the expected duration and use, when every operator has estimates.
func (p *hypotheticalLaunch) summarize(f *Forecast) {
	plan, ops := p.version.Plan, p.version.Definition.Operators
	ends := make([]time.Duration, len(plan.Nodes))
	var total time.Duration
	hours, basis := 0.0, 0
	for _, level := range plan.Levels {
		for _, i := range level {
			e, known := p.estimates[ops[i].Name]
			if ops[i].Runs() {
				if !known {
					return
				}
				if basis == 0 || e.Count < basis {
					basis = e.Count
				}
			}
			for _, d := range plan.Nodes[i].Dependencies {
				ends[i] = max(ends[i], ends[d])
			}
			ends[i] += e.P50
			total = max(total, ends[i])
			hours += e.P50.Hours() * float64(ops[i].Resources.GPUs)
		}
	}
	f.Duration, f.GPUHours, f.Basis = total, hours, basis
}
