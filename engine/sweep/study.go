package sweep

import (
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

// Runs returns the runs that match, with their ranks among all, and how many match.
func (st Study) Runs(f Filter) ([]Run, int, error) {
	return selected(st.Sweep, slices.Clone(st.runs), f)
}
