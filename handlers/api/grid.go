package api

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/web/contract"
)

func (h *executionAPI) apiGrid(ctx context.Context, in *struct {
	WorkflowPath
	Limit int    `query:"limit" doc:"Number of executions" minimum:"1" maximum:"100" default:"25"`
	Page  string `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"100"`
	First int    `query:"first" doc:"Index of the first node, counted from 0; a response has up to 100 nodes" minimum:"0" maximum:"1000000"`
}) (*body[contract.WorkflowGrid], error) {
	w, err := h.Workflows.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	grid, err := h.Executions.NodeGrid(ctx, query.Filter{Workflow: w.ID.String(), Limit: in.Limit, After: in.Page}, in.First)
	if err != nil {
		return nil, err
	}
	out := contract.WorkflowGrid{Executions: []contract.GridExecution{}, Nodes: []contract.GridNodes{}, More: grid.More, NextPage: grid.Next}
	for _, e := range grid.Executions {
		out.Executions = append(out.Executions, contract.GridExecution{
			ExecutionID: e.ID, Name: e.Name, Version: e.Version, Status: string(e.Status), CreatedAt: e.CreatedAt, StartedAt: e.StartedAt, FinishedAt: e.FinishedAt,
		})
	}
	for _, row := range grid.Rows {
		out.Nodes = append(out.Nodes, gridNodes(h.Now(), row))
	}
	return reply(out), nil
}

func gridNodes(now time.Time, row query.NodeGridRow) contract.GridNodes {
	one := contract.GridNodes{Name: row.Name, Executions: make([]*contract.GridNode, len(row.Cells))}
	if row.Median > 0 {
		one.MedianSeconds = new(row.Median.Seconds())
	}
	for i, c := range row.Cells {
		if c == nil {
			continue
		}
		one.Executions[i] = &contract.GridNode{State: string(c.State)}
		if c.StartedAt != nil {
			one.Executions[i].Seconds = new(c.Took(now).Seconds())
		}
	}
	return one
}
