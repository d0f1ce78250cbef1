package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/sweep/optuna"
	"github.com/flowforge/flowforge/engine/sweep/sobol"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// source is the origin of the values of runs. Equal sources give equal values, so only the
// number of the next run must be stored, and for a grid the combinations of the runs.
type source struct {
	method Method
	space  space.Checked
	seed   int64
	from   int // number of the first run with this space
}

// at returns the values of a run, false if a grid has no more combinations. The number of a grid is
// that of a combination. TPE is not one of the methods.
func (s source) at(number int) (space.Combination, bool) {
	dimensions := len(s.space.Paths())
	switch s.method {
	case Grid:
		size, _ := s.space.Combinations()
		if number >= size {
			return nil, false
		}
		return s.space.Grid(number), true
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
func (s advancer) next(ctx context.Context, sw Sweep, src source, number, n int) ([]space.Combination, error) {
	switch src.method {
	case TPE:
		return s.suggest(ctx, sw, src, number, n)
	case Grid:
		return untried(ctx, s.queries, sw.ID, src, n)
	case Random, Sobol:
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

// untried returns up to n combinations of a grid that the sweep has not tried, in the order of the
// grid. When the space of a sweep grows, runs of the former space keep their results, so their
// combinations are not repeated unless the runs failed.
func untried(ctx context.Context, q *db.Queries, sweep uuid.UUID, src source, n int) ([]space.Combination, error) {
	rows, err := q.TriedCombinations(ctx, sweep, int32(src.from)) //nolint:gosec // at most MaxRuns
	if err != nil {
		return nil, fmt.Errorf("combinations of sweep %s: %w", sweep, err)
	}
	tried := map[string]bool{}
	for _, row := range rows {
		var c space.Combination
		if err := part("values", row, &c); err != nil {
			return nil, err
		}
		key, err := combinationKey(c)
		if err != nil {
			return nil, err
		}
		tried[key] = true
	}
	var out []space.Combination
	for i := 0; len(out) < n; i++ {
		c, ok := src.at(i)
		if !ok {
			break
		}
		key, err := combinationKey(c)
		if err != nil {
			return nil, err
		}
		if !tried[key] {
			out = append(out, c)
		}
	}
	return out, nil
}

// combinationKey is equal for equal values: those of a space and those that were read from JSON.
func combinationKey(c space.Combination) (string, error) {
	raw, err := encode(c)
	if err != nil {
		return "", err
	}
	var plain any
	if err := decode(raw, &plain); err != nil {
		return "", fmt.Errorf("decode values: %w", err)
	}
	raw, err = encode(canonical(plain))
	return string(raw), err
}

// canonical replaces the numbers in a decoded value by those of space.Canonical.
func canonical(v any) any {
	switch v := v.(type) {
	case json.Number:
		return space.Canonical(v)
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = canonical(v[name])
		}
	}
	return v
}

// suggest gets values from Optuna, which learns from the runs so far. It leaves out runs whose
// values came from another space, and failed runs.
func (s advancer) suggest(ctx context.Context, sw Sweep, src source, number, n int) ([]space.Combination, error) {
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
