package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/options"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/web/contract"
)

// OptionQuery selects options of an input.
type OptionQuery struct {
	WorkflowPath
	Input   string `path:"input" doc:"Input name; use dots for nested parts and * for list entries, such as layers.*.kind" maxLength:"500"`
	Version string `query:"version" doc:"Workflow version; defaults to the latest" maxLength:"100"`
	Query   string `query:"q" doc:"Text to find in the options" maxLength:"500"`
	After   string `query:"after" doc:"Cursor: next from the previous response" maxLength:"20"`
	Limit   int    `query:"limit" doc:"Number of options per page" minimum:"1" maximum:"200" default:"20"`
	Refresh bool   `query:"refresh" doc:"Fetch or compute the list again instead of using a cached one"`
}

// optionAPI serves the options of inputs.
type optionAPI struct {
	Workflows *workflow.Service
	Options   *options.Service
}

func (h *optionAPI) mount(api *operations) {
	operation(api, get("list-options", "/workflows/{workflow_id}/options/{input}", "List the options of an input, using the defaults of the other inputs", "Workflows"),
		func(ctx context.Context, in *OptionQuery) (*body[contract.OptionList], error) {
			return h.apiOptions(ctx, in, nil)
		})
	operation(api, post("list-options-for", "/workflows/{workflow_id}/options/{input}", "List the options of an input, given the values of other inputs", "Workflows"),
		func(ctx context.Context, in *struct {
			OptionQuery
			Body contract.OptionInputs
		}) (*body[contract.OptionList], error) {
			return h.apiOptions(ctx, &in.OptionQuery, in.Body.Inputs)
		})
}

func (h *optionAPI) apiOptions(ctx context.Context, in *OptionQuery, inputs map[string]any) (*body[contract.OptionList], error) {
	v, err := h.Workflows.Version(ctx, in.ID, in.Version)
	if err != nil {
		return nil, err
	}
	page, err := h.Options.List(ctx, v, options.Request{Input: in.Input, Inputs: inputs, Query: in.Query, After: in.After, Limit: in.Limit, Refresh: in.Refresh})
	if err != nil {
		return nil, err
	}
	out := contract.OptionList{Input: in.Input, Options: make([]contract.OptionBody, len(page.Options)), Next: page.Next, Free: page.Free, Stale: page.Stale, Note: page.Note}
	if !page.At.IsZero() {
		at := page.At.UTC()
		out.At = &at
	}
	if page.FailedRun != uuid.Nil {
		out.FailedExecution = &page.FailedRun
	}
	for i, o := range page.Options {
		out.Options[i] = contract.OptionBody{Value: o.Value, Label: o.Label, Description: o.Description}
		for _, f := range o.Preview {
			out.Options[i].Preview = append(out.Options[i].Preview, contract.OptionFact(f))
		}
	}
	return reply(out), nil
}
