package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/web/contract"
)

// lineageAPI serves what items were made from and what was made from them.
type lineageAPI struct {
	Lineage *lineage.Service
}

func (h *lineageAPI) mount(api *operations) {
	operation(api, get("get-lineage", "/lineage", "Get the upstream and downstream lineage of an item", "Lineage"), h.apiLineage)
}

func (h *lineageAPI) apiLineage(ctx context.Context, in *struct {
	Of     string   `query:"of" required:"true" doc:"Item: artifact:ID, execution:ID, dataset:NAME@VERSION, feature-set:NAME@VERSION, model:NAME@VERSION, or an item's key" minLength:"1" maxLength:"400"`
	Up     int      `query:"up" doc:"Number of steps upstream, to what the item was made from" minimum:"0" maximum:"20" default:"2"`
	Down   int      `query:"down" doc:"Number of steps downstream, to what was made from the item" minimum:"0" maximum:"20" default:"2"`
	Fan    int      `query:"neighbours" doc:"Maximum number of neighbours per item" minimum:"1" maximum:"100" default:"12"`
	Limit  int      `query:"limit" doc:"Maximum number of items in the response" minimum:"1" maximum:"1000" default:"200"`
	Expand []string `query:"expand" doc:"Keys of items to expand to up to 200 neighbours" maxItems:"50"`
}) (*body[contract.LineageBody], error) {
	l, err := h.Lineage.Trace(ctx, lineage.Request{Of: in.Of, Up: in.Up, Down: in.Down, Fan: in.Fan, Items: in.Limit, Expand: in.Expand})
	if err != nil {
		return nil, err
	}
	out := contract.LineageBody{
		Focus: string(l.Focus.Key), Items: toLineageItems(l.Items), Edges: []contract.LineageEdge{}, Cut: l.Cut,
		Production: contract.LineageProduction{Models: toLineageItems(l.Production.Models), Complete: l.Production.Complete},
	}
	for _, e := range l.Edges {
		out.Edges = append(out.Edges, contract.LineageEdge{From: string(e.From), To: string(e.To), Relation: string(e.Relation), Label: e.Label})
	}
	return reply(out), nil
}

func toLineageItems(items []lineage.Item) []contract.LineageItem {
	out := make([]contract.LineageItem, 0, len(items))
	for _, i := range items {
		item := contract.LineageItem{
			Key: string(i.Key), Kind: string(i.Kind), Step: i.Step, Name: i.Name, Version: i.Version, Type: i.Type, Stage: i.Stage,
			WorkflowName: i.Workflow, Node: i.Node, Status: i.State, CreatedBy: i.By, Removed: i.Removed, URL: label.LineageItemURL(i),
			MoreBefore: i.Before.Items, MoreAfter: i.After.Items, AtLeast: i.Before.AtLeast || i.After.AtLeast,
			HiddenBefore: i.Before.Hidden, HiddenAfter: i.After.Hidden,
		}
		if i.Execution != uuid.Nil {
			item.ExecutionID = &i.Execution
		}
		if !i.At.IsZero() {
			item.CreatedAt = &i.At
		}
		out = append(out, item)
	}
	return out
}
