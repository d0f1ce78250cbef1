package sweep

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
)

// Study is a sweep with all its runs at one moment, read once for a page that shows them in several
// ways.
type Study struct {
	Sweep      Sweep
	Importance Importances

	runs  []Run
	exist map[uuid.UUID]bool // the executions of runs that have not been deleted
}

// Study returns a sweep that the caller may read, or NotFound.
func (s *Service) Study(ctx context.Context, id uuid.UUID) (Study, error) {
	row, subject, err := s.readable(ctx, id)
	if err != nil {
		return Study{}, err
	}
	list, err := s.complete(ctx, subject, []db.InputSweep{row})
	if err != nil {
		return Study{}, err
	}
	st := Study{Sweep: list[0]}
	if st.runs, err = s.allRuns(ctx, st.Sweep); err != nil {
		return Study{}, err
	}
	if st.exist, err = s.existing(ctx, st.runs); err != nil {
		return Study{}, err
	}
	st.Importance = s.importance(st.Sweep, slices.Clone(st.runs))
	return st, nil
}

// Charted are the runs whose curves a chart draws.
type Charted struct {
	Executions []uuid.UUID // the best first, then the newest without a rank
	Of         int         // the number of runs whose executions exist
	All        []uuid.UUID // the executions of all runs, also of deleted ones
	Ended      bool        // the sweep launches no more runs, and all have ended
}

// Charted returns at most limit runs of a sweep whose curves a chart draws. It is NotFound for a sweep that
// does not exist or that the caller may not read.
func (s *Service) Charted(ctx context.Context, id uuid.UUID, limit int) (Charted, error) {
	row, _, err := s.readable(ctx, id)
	if err != nil {
		return Charted{}, err
	}
	sw := legible(row)
	runs, err := s.allRuns(ctx, sw)
	if err != nil {
		return Charted{}, err
	}
	exist, err := s.existing(ctx, runs)
	if err != nil {
		return Charted{}, err
	}
	return charted(sw, runs, exist, limit), nil
}

// existing are the executions of runs that have not been deleted. A sweep keeps the results of deleted
// ones.
func (s *Service) existing(ctx context.Context, runs []Run) (map[uuid.UUID]bool, error) {
	var ids []uuid.UUID
	for _, r := range runs {
		if r.ExecutionID != nil {
			ids = append(ids, *r.ExecutionID)
		}
	}
	found, err := s.queries.ExecutionEnds(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("find the executions of runs: %w", err)
	}
	exist := make(map[uuid.UUID]bool, len(found))
	for _, e := range found {
		exist[e.ID] = true
	}
	return exist, nil
}

// Charted are the runs whose curves a chart draws, at most limit.
func (st Study) Charted(limit int) Charted { return charted(st.Sweep, st.runs, st.exist, limit) }

func charted(sw Sweep, runs []Run, exist map[uuid.UUID]bool, limit int) Charted {
	c := Charted{Ended: sw.State.Ended()}
	var list []Run
	for _, r := range runs {
		if r.ExecutionID == nil {
			continue
		}
		c.All = append(c.All, *r.ExecutionID)
		if exist[*r.ExecutionID] {
			list = append(list, r)
		}
	}
	c.Of = len(list)
	slices.SortStableFunc(list, func(a, b Run) int {
		if a.Rank > 0 && b.Rank > 0 {
			return cmp.Compare(a.Rank, b.Rank)
		}
		return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(b.Index, a.Index))
	})
	for _, r := range list[:min(len(list), limit)] {
		c.Executions = append(c.Executions, *r.ExecutionID)
	}
	return c
}

// Runs returns the runs that match, with their ranks among all, and how many match.
func (st Study) Runs(f Filter) ([]Run, int, error) {
	return selected(st.Sweep, slices.Clone(st.runs), f)
}
