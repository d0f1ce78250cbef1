package sweep

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// previewed is the number of combinations that a preview shows.
const previewed = 5

// Preview returns the effect of a sweep without creating anything. Its errors are those of
// Create, except that invalid values are Problems. Only the leader knows which runs fit now.
func (s *Service) Preview(ctx context.Context, spec Spec) (Preview, error) {
	p, problems, err := s.check(ctx, spec)
	if err != nil {
		return Preview{}, err
	}
	out := Preview{Version: p.version.Version, Problems: problems, Runs: p.spec.Runs, Parallelism: p.spec.Parallelism, Fits: FitUnknown}
	if len(p.space.Paths()) > 0 && p.check.Version.Version != "" { // the space was valid
		out.Combinations, out.Continuous = p.space.Combinations()
	}
	if len(problems) > 0 {
		return out, nil
	}
	ctx = auth.WithSubject(ctx, p.subject)
	if err := s.forecast(ctx, p, &out); err != nil {
		return Preview{}, err
	}
	if err := s.estimate(ctx, p, &out); err != nil {
		return Preview{}, err
	}
	if out.Seed = p.spec.Seed; out.Seed == 0 {
		out.Seed = newSeed()
	}
	out.First = p.first(out.Seed)
	out.Warnings = p.warnings(out)
	return out, nil
}

// first returns the values of the first runs. Those of TPE are unknown before the sweep is created.
func (p *plan) first(seed int64) []space.Combination {
	if p.spec.Method == TPE {
		return nil
	}
	src := source{method: p.spec.Method, space: p.space, seed: seed}
	var list []space.Combination
	for i := range min(previewed, p.spec.Runs) {
		if c, ok := src.at(i); ok {
			list = append(list, c)
		}
	}
	return list
}

// forecast adds which runs fit now.
func (s *Service) forecast(ctx context.Context, p *plan, out *Preview) error {
	f := p.check.Forecast
	switch f.Verdict {
	case fair.FitsNow:
		out.Fits = FitsNow
	case fair.WouldWait:
		out.Fits, out.StartsFrom = FitsLater, f.StartsFrom
	case fair.NeverFits:
		out.Fits = FitsNever
	}
	if out.Fits != FitsNow {
		out.Reason = f.Message
		return nil
	}
	most := min(out.Parallelism, out.Runs)
	n, err := s.config.Executions.Forecasts.FitAtOnce(ctx, p.version.ID, p.spec.Priority, most)
	if err != nil {
		return err
	}
	out.FitsNow = n
	if n < most {
		out.Reason = "The others wait for capacity."
	}
	return nil
}

// estimate adds the duration and GPU-hours, from the median of earlier executions of the workflow.
func (s *Service) estimate(ctx context.Context, p *plan, out *Preview) error {
	earlier, err := s.queries.EarlierDurations(ctx, p.version.WorkflowID)
	if err != nil {
		return fmt.Errorf("durations of workflow %s: %w", p.version.WorkflowID, err)
	}
	if out.Basis = int(earlier.Executions); out.Basis == 0 {
		return nil
	}
	one := time.Duration(earlier.Seconds * float64(time.Second))
	rounds := (out.Runs + out.Parallelism - 1) / out.Parallelism
	if out.Fits == FitsNow && out.FitsNow > 0 {
		rounds = (out.Runs + out.FitsNow - 1) / out.FitsNow
	}
	total := time.Duration(rounds) * one
	hours := earlier.GpuHours * float64(out.Runs)
	out.PerRun, out.Total, out.GPUHours = &one, &total, &hours
	out.OverBudget = p.spec.GPUHours > 0 && hours > p.spec.GPUHours
	return nil
}

func (p *plan) warnings(out Preview) []string {
	var list []string
	if p.spec.Method == Grid && p.spec.Runs < out.Combinations {
		list = append(list, fmt.Sprintf("Only the first %d of %d combinations run.", p.spec.Runs, out.Combinations))
	}
	if p.spec.Method != Grid && out.Combinations > 0 && p.spec.Runs > out.Combinations {
		list = append(list, fmt.Sprintf("There are %d combinations for %d runs, so some run more than once. A grid runs each combination once.", out.Combinations, p.spec.Runs))
	}
	if out.OverBudget {
		list = append(list, fmt.Sprintf("The sweep needs about %.3g GPU-hours, and the budget is %.3g. No run starts after the budget is used up.", *out.GPUHours, p.spec.GPUHours))
	}
	if p.spec.Objective == nil {
		list = append(list, "Without an objective, runs are not compared.")
	}
	return list
}
