package sweep

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/sweep/optuna"
	"github.com/flowforge/flowforge/engine/sweep/sobol"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// source is where the values of runs come from. Equal sources give equal values, so nothing must be
// remembered but the number of the next run.
type source struct {
	method Method
	space  space.Checked
	seed   int64
	from   int // number of the first run with this space
}

// at returns the values of a run, false if a grid has no more combinations. TPE is not one of the
// methods.
func (s source) at(number int) (space.Combination, bool) {
	dimensions := len(s.space.Paths())
	switch s.method {
	case Grid:
		size, _ := s.space.Combinations()
		if number-s.from >= size {
			return nil, false
		}
		return s.space.Grid(number - s.from), true
	case Sobol:
		return s.space.At(sobol.New(dimensions, s.seed).Point(uint32(number - s.from))), true //nolint:gosec // at most MaxRuns
	case Random, TPE:
	}
	random := rand.New(rand.NewPCG(uint64(s.seed), uint64(number))) //nolint:gosec // values of a search, not secrets
	u := make([]float64, dimensions)
	for i := range u {
		u[i] = random.Float64()
	}
	return s.space.At(u), true
}

// next returns the values of up to n runs from a number on, fewer at the end of a grid.
func (s *Service) next(ctx context.Context, sw Sweep, src source, number, n int) ([]space.Combination, error) {
	if src.method == TPE {
		return s.suggest(ctx, sw, src, number, n)
	}
	var out []space.Combination
	for i := range n {
		c, ok := src.at(number + i)
		if !ok {
			break
		}
		out = append(out, c)
	}
	return out, nil
}

// suggest gets values from Optuna, which learns from the runs so far. Runs whose values another
// space gave, and those that failed, are left out.
func (s *Service) suggest(ctx context.Context, sw Sweep, src source, number, n int) ([]space.Combination, error) {
	rows, err := s.queries.SweepHistory(ctx, sw.ID)
	if err != nil {
		return nil, fmt.Errorf("history of sweep %s: %w", sw.ID, err)
	}
	request := optuna.Request{Seed: uint32(sw.Seed) + uint32(number), Goal: string(sw.Objective.Goal), N: n, Parameters: parametersOf(src.space)} //nolint:gosec // any seed does
	for _, row := range rows {
		trial, ok, err := trialOf(row, src.space)
		if err != nil {
			return nil, fmt.Errorf("run %d of sweep %s: %w", row.Number, sw.ID, err)
		}
		if ok {
			request.Trials = append(request.Trials, trial)
		}
	}
	points, err := s.config.Optuna.Suggest(ctx, request)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names what to do
	}
	out := make([]space.Combination, len(points))
	for i, x := range points {
		out[i] = src.space.FromNumbers(x)
	}
	return out, nil
}

func trialOf(row db.SweepHistoryRow, c space.Checked) (optuna.Trial, bool, error) {
	var values space.Combination
	if err := part("values", row.Chosen, &values); err != nil {
		return optuna.Trial{}, false, err
	}
	x, ok := c.ToNumbers(values)
	trial := optuna.Trial{Values: x}
	switch RunState(row.State) {
	case RunProposed, RunRunning:
		trial.State = optuna.Running
		return trial, ok, nil
	case RunSucceeded:
		trial.State = optuna.Complete
	case RunStoppedEarly:
		trial.State = optuna.Pruned
		if row.Step == nil {
			return trial, false, nil
		}
		trial.Step = *row.Step
	case RunFailed, RunCancelled, RunRefused:
		return trial, false, nil
	}
	if row.Objective == nil {
		return trial, false, nil
	}
	trial.Objective = *row.Objective
	return trial, ok, nil
}

func parametersOf(c space.Checked) []optuna.Parameter {
	kinds := map[space.DimensionKind]string{space.Category: optuna.Categorical, space.Whole: optuna.Int, space.Real: optuna.Float}
	var out []optuna.Parameter
	for _, d := range c.Dimensions() {
		out = append(out, optuna.Parameter{Kind: kinds[d.Kind], Count: d.Count, Low: d.Low, High: d.High, Log: d.Log})
	}
	return out
}

// compact returns tags without spaces around them, sorted, each once.
func compact(tags []string) []string {
	out := make([]string, 0, len(tags))
	for _, tag := range tags {
		out = append(out, strings.TrimSpace(tag))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
