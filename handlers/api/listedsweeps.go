package api

import (
	"context"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/web/contract"
)

// addSweeps adds the sweeps that executions of a list by sweep represent.
func (h *executionAPI) addSweeps(ctx context.Context, page query.Page, list []contract.ExecutionBody) error {
	sweeps, err := h.Sweeps.OfRuns(ctx, page.Executions)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].SweepID == nil {
			continue
		}
		if s, found := sweeps[*list[i].SweepID]; found {
			listed := &contract.ListedSweep{ID: s.ID, Name: s.Name, State: string(s.State), CreatedAt: s.CreatedAt, Runs: s.Counts.Created, Matching: s.Counts.Created}
			if n, counted := page.Runs[s.ID]; counted {
				listed.Matching = n
			}
			list[i].Sweep = listed
		}
	}
	return nil
}
