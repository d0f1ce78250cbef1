package sweep

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/sweep/importance"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// ranked is an importance in memory, valid for the runs that it was computed from.
type ranked struct {
	runs  int
	space int
	at    time.Time // the latest end of a run
	sum   float64   // of the objectives: the last values of a run can arrive after its end
	found Importances
}

// maxRanked limits how many importances are in memory.
const maxRanked = 200

// Importance returns how much each parameter of a sweep matters for the objective, from the runs that
// have ended with one and have a value for every parameter of the current space.
func (s *Service) Importance(ctx context.Context, id uuid.UUID) (Importances, error) {
	row, _, err := s.readable(ctx, id)
	if err != nil {
		return Importances{}, err
	}
	sw := legible(row)
	runs, err := s.allRuns(ctx, sw)
	if err != nil {
		return Importances{}, err
	}
	return s.importance(sw, runs), nil
}

// importance removes from runs those that do not count.
func (s *Service) importance(sw Sweep, runs []Run) Importances {
	if sw.Objective == nil {
		return Importances{Method: importance.Method, Message: "The sweep has no objective."}
	}
	key := ranked{space: sw.SpaceVersion}
	runs = slices.DeleteFunc(runs, func(r Run) bool {
		use := r.State.Ended() && r.comparable() && hasAll(sw.Space, r.Values)
		if use && r.FinishedAt != nil && r.FinishedAt.After(key.at) {
			key.at = *r.FinishedAt
		}
		return !use
	})
	for _, r := range runs {
		key.sum += *r.Objective
	}
	key.runs = len(runs)
	if known, ok := s.known(sw.ID, key); ok {
		return known
	}
	key.found = compute(sw.Space, runs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ranked) >= maxRanked {
		clear(s.ranked)
	}
	s.ranked[sw.ID] = key
	return key.found
}

func (s *Service) known(id uuid.UUID, key ranked) (Importances, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.ranked[id]
	return k.found, ok && k.runs == key.runs && k.space == key.space && k.at.Equal(key.at) && k.sum == key.sum
}

func hasAll(parameters []space.Parameter, values space.Combination) bool {
	return !slices.ContainsFunc(parameters, func(p space.Parameter) bool {
		_, ok := values[p.Path]
		return !ok
	})
}

func compute(parameters []space.Parameter, runs []Run) Importances {
	out := Importances{Method: importance.Method, Runs: min(len(runs), importance.MaxRuns)}
	if len(runs) < importance.MinRuns {
		out.Message = fmt.Sprintf("Importance needs %d runs that have ended with an objective; there are %d.", importance.MinRuns, len(runs))
		return out
	}
	rows, objective := make([][]float64, len(runs)), make([]float64, len(runs))
	for i := range rows {
		rows[i], objective[i] = make([]float64, len(parameters)), *runs[i].Objective
	}
	ordered := make([]bool, len(parameters))
	for j, p := range parameters {
		ordered[j] = fillColumn(rows, runs, j, p.Path)
	}
	for j, r := range importance.Of(rows, objective) {
		one := Importance{Path: parameters[j].Path, Share: r.Share, Deviation: r.Deviation}
		if ordered[j] && !math.IsNaN(r.Correlation) {
			one.Correlation = &r.Correlation
		}
		out.Parameters = append(out.Parameters, one)
	}
	slices.SortStableFunc(out.Parameters, func(a, b Importance) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// fillColumn fills a column with the values of a parameter, and reports whether they are numbers.
// Other values have the index of their text.
func fillColumn(rows [][]float64, runs []Run, j int, path string) (numbers bool) {
	numbers = true
	for i, r := range runs {
		rows[i][j] = number(r.Values[path])
		numbers = numbers && !math.IsNaN(rows[i][j])
	}
	if numbers {
		return true
	}
	var texts []string
	for _, r := range runs {
		texts = append(texts, space.Text(r.Values[path]))
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	for i, r := range runs {
		index, _ := slices.BinarySearch(texts, space.Text(r.Values[path]))
		rows[i][j] = float64(index)
	}
	return false
}
