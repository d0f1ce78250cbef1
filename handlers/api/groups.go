package api

import (
	"context"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/web/contract"
)

func (h *tableAPI) apiGroups(ctx context.Context, in *struct {
	Group string `query:"group" doc:"Name to group by, such as inputs.optimizer; defaults to the view's group" maxLength:"300"`
	TableQuery
}) (*body[contract.ExecutionGroups], error) {
	q, err := h.views.inView(ctx, in.TableQuery)
	if err != nil {
		return nil, err
	}
	if in.Group == "" && in.View != "" {
		v, err := h.views.Views.Get(ctx, in.View)
		if err != nil {
			return nil, err
		}
		in.Group = v.Table.Group
	}
	found, err := h.Table.Index.Groups(ctx, q.index(), in.Group)
	if err != nil {
		return nil, err
	}
	out := contract.ExecutionGroups{Group: found.By.Path, Groups: []contract.ExecutionGroup{}, Total: found.All}
	for _, g := range found.Groups {
		one := contract.ExecutionGroup{Value: g.Value, Executions: g.Count, Where: g.Where(found.By), Columns: map[string]contract.GroupStats{}}
		for i, s := range g.Stats {
			if s != nil {
				one.Columns[found.Columns[i].Path] = statsBody(found.Columns[i], s)
			}
		}
		out.Groups = append(out.Groups, one)
	}
	return reply(out), nil
}

func statsBody(c index.Column, s *index.Stats) contract.GroupStats {
	b := contract.GroupStats{Count: s.Count, Min: s.Least, Max: s.Most, Mean: s.Mean, Median: s.Median, Sum: s.Sum}
	switch {
	case c.Part == search.Metrics && search.LowerIsBetter(c.Path):
		b.Best = &s.Least
	case c.Part == search.Metrics:
		b.Best = &s.Most
	}
	return b
}
