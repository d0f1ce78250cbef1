package api

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web/contract"
)

// PresetPath names a preset of a workflow.
type PresetPath struct {
	WorkflowPath
	Preset string `path:"preset" doc:"Preset ID or name" maxLength:"100"`
}

type presetDefaultInput struct {
	PresetPath
	For string `query:"for" doc:"Whose default to change: the caller's or the project's" enum:"me,project" default:"me"`
}

// presetAPI serves named inputs of workflows.
type presetAPI struct {
	Workflows  *workflow.Service
	Executions *execution.Service
	Presets    *preset.Service
}

func (h *presetAPI) mount(api *operations) {
	operation(api, get("list-presets", "/workflows/{workflow_id}/presets", "List the presets of a workflow that you can use", "Presets"), h.apiPresets)
	save := post("save-preset", "/workflows/{workflow_id}/presets", "Save workflow inputs as a preset", "Presets")
	save.DefaultStatus = http.StatusCreated
	operation(api, save, h.apiSavePreset)
	operation(api, get("get-preset", "/workflows/{workflow_id}/presets/{preset}", "Get a preset, including values that a version does not accept", "Presets"), h.apiPreset)
	change := post("change-preset", "/workflows/{workflow_id}/presets/{preset}", "Change a preset", "Presets")
	change.Method = http.MethodPatch
	operation(api, change, h.apiChangePreset)
	operation(api, huma.Operation{
		OperationID: "delete-preset", Method: http.MethodDelete, Path: "/workflows/{workflow_id}/presets/{preset}", Tags: []string{"Presets"},
		Summary: "Delete a preset", DefaultStatus: http.StatusNoContent,
	}, h.apiDeletePreset)
	begin := post("set-default-preset", "/workflows/{workflow_id}/presets/{preset}/default", "Make a preset your default or the project's default", "Presets")
	begin.Method = http.MethodPut
	operation(api, begin, func(ctx context.Context, in *presetDefaultInput) (*body[contract.PresetBody], error) {
		return h.apiDefaultPreset(ctx, in, true)
	})
	end := post("unset-default-preset", "/workflows/{workflow_id}/presets/{preset}/default", "Remove a preset as a default", "Presets")
	end.Method = http.MethodDelete
	operation(api, end, func(ctx context.Context, in *presetDefaultInput) (*body[contract.PresetBody], error) {
		return h.apiDefaultPreset(ctx, in, false)
	})
}

func (h *presetAPI) apiPresets(ctx context.Context, in *WorkflowPath) (*body[contract.PresetList], error) {
	list, err := h.Presets.List(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := contract.PresetList{Presets: make([]contract.PresetBody, 0, len(list))}
	for _, p := range list {
		out.Presets = append(out.Presets, toPresetBody(in.ID, p))
	}
	return reply(out), nil
}

func (h *presetAPI) apiPreset(ctx context.Context, in *struct {
	PresetPath
	Version string `query:"version" doc:"Version to check the inputs against; defaults to the latest" maxLength:"100"`
}) (*body[contract.PresetBody], error) {
	p, fitted, err := h.fittedPreset(ctx, in.ID, in.Version, in.Preset)
	if err != nil {
		return nil, err
	}
	out := toPresetBody(in.ID, p)
	out.Added = fitted.Added
	for _, m := range fitted.Incompatible {
		out.Incompatible = append(out.Incompatible, apperr.Field(m))
	}
	return reply(out), nil
}

// fittedPreset is a preset with the values that a version accepts from it.
func (h *presetAPI) fittedPreset(ctx context.Context, workflow, version, name string) (preset.Preset, preset.Fitted, error) {
	p, err := h.Presets.Get(ctx, workflow, name)
	if err != nil {
		return p, preset.Fitted{}, err
	}
	v, err := h.Workflows.Version(ctx, workflow, version)
	if apperr.Is(err, apperr.NotFound) && version == "" { // only development versions
		v, err = h.Workflows.Version(ctx, workflow, p.Version)
	}
	if err != nil {
		return p, preset.Fitted{}, err
	}
	fitted, err := h.Presets.For(ctx, p, v, h.checks(ctx))
	return p, fitted, err
}

// checks is the environment in which inputs are checked.
func (h *presetAPI) checks(ctx context.Context) typeregistry.Env {
	return h.Executions.Launches.Env(ctx)
}

// presetInputs adds the values of a preset to inputs, which take precedence. It returns the ID
// of the preset, or "" without one. A value that the version does not accept is an error unless
// inputs replace it.
func (h *presetAPI) presetInputs(ctx context.Context, workflow, version, name string, inputs map[string]any) (string, error) {
	if name == "" {
		return "", nil
	}
	p, err := h.Presets.Get(ctx, workflow, name)
	if err != nil {
		return "", err
	}
	v, err := h.Workflows.Version(ctx, workflow, version)
	if err != nil {
		return "", err
	}
	p.Inputs = maps.Clone(p.Inputs)
	maps.Copy(p.Inputs, inputs)
	fitted, err := h.Presets.For(ctx, p, v, h.checks(ctx))
	if err != nil {
		return "", err
	}
	var fields []apperr.Field
	for _, m := range fitted.Incompatible {
		name, _, _ := strings.Cut(m.Path, ".")
		if _, given := inputs[name]; !given {
			fields = append(fields, apperr.Field{Path: "preset." + m.Path, Message: m.Message})
		}
	}
	if len(fields) > 0 {
		return "", apperr.InvalidFields("The preset "+p.Name+", saved for version "+p.Version+", does not fit version "+v.Version+". Set other values for these inputs, or update the preset.", fields)
	}
	maps.Copy(inputs, p.Inputs)
	return p.ID.String(), nil
}

func (h *presetAPI) apiSavePreset(ctx context.Context, in *struct {
	WorkflowPath
	Body contract.PresetInput
}) (*body[contract.PresetBody], error) {
	inputs, err := decodeInputs(in.Body.Inputs)
	if err != nil {
		return nil, err
	}
	sharing := preset.Sharing(in.Body.Sharing)
	p, err := h.Presets.Save(ctx, in.ID, preset.Edit{
		Name: &in.Body.Name, Description: &in.Body.Description, Sharing: &sharing, Version: in.Body.Version, Inputs: inputs, Env: h.checks(ctx),
	})
	if err != nil {
		return nil, err
	}
	return reply(toPresetBody(in.ID, p)), nil
}

func (h *presetAPI) apiChangePreset(ctx context.Context, in *struct {
	PresetPath
	Body contract.PresetChange
}) (*body[contract.PresetBody], error) {
	edit := preset.Edit{Name: in.Body.Name, Description: in.Body.Description, Version: in.Body.Version, Env: h.checks(ctx), Based: in.Body.UpdatedAt}
	if in.Body.Sharing != nil {
		sharing := preset.Sharing(*in.Body.Sharing)
		edit.Sharing = &sharing
	}
	if len(in.Body.Inputs) > 0 {
		inputs, err := decodeInputs(in.Body.Inputs)
		if err != nil {
			return nil, err
		}
		edit.Inputs = inputs
	}
	p, err := h.Presets.Change(ctx, in.ID, in.Preset, edit)
	if err != nil {
		return nil, err
	}
	return reply(toPresetBody(in.ID, p)), nil
}

func (h *presetAPI) apiDeletePreset(ctx context.Context, in *PresetPath) (*struct{}, error) {
	if err := h.Presets.Delete(ctx, in.ID, in.Preset); err != nil {
		return nil, err
	}
	return nil, nil
}

func (h *presetAPI) apiDefaultPreset(ctx context.Context, in *presetDefaultInput, on bool) (*body[contract.PresetBody], error) {
	p, err := h.Presets.SetDefault(ctx, in.ID, in.Preset, preset.Whose(in.For), on)
	if err != nil {
		return nil, err
	}
	return reply(toPresetBody(in.ID, p)), nil
}

func toPresetBody(workflow string, p preset.Preset) contract.PresetBody {
	return contract.PresetBody{
		ID: p.ID, Name: p.Name, Description: p.Description, Sharing: string(p.Sharing), Version: p.Version, Inputs: p.Inputs,
		CreatedBy: p.OwnerName, CreatedAt: p.CreatedAt, UpdatedBy: p.UpdatedBy, UpdatedAt: p.UpdatedAt, Uses: p.Uses, UsedAt: p.UsedAt,
		Project: p.Project, MyDefault: p.MyDefault, ProjectDefault: p.OurDefault, LaunchURL: views.LaunchPresetURL(workflow, p.ID.String(), ""),
	}
}
