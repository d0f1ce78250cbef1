package sweep

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
)

// Study is a sweep with all its runs at one moment, read once for a page that shows them in several
// ways.
type Study struct {
	Sweep      Sweep
	Importance Importances

	runs []Run
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
	st.Importance = s.importance(st.Sweep, slices.Clone(st.runs))
	return st, nil
}

// Charted are the runs whose curves a chart draws.
type Charted struct {
	Executions []uuid.UUID // the best first, then the newest without a rank
	All        []uuid.UUID // the executions of all runs
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
	return charted(sw, runs, limit), nil
}

// Charted are the runs whose curves a chart draws, at most limit.
func (st Study) Charted(limit int) Charted { return charted(st.Sweep, st.runs, limit) }

func charted(sw Sweep, runs []Run, limit int) Charted {
	c := Charted{Ended: sw.State.Ended()}
	var list []Run
	for _, r := range runs {
		if r.ExecutionID != nil {
			list = append(list, r)
			c.All = append(c.All, *r.ExecutionID)
		}
	}
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
