package api

import (
	"context"

	"github.com/flowforge/flowforge/web/contract"
)

// apiVersionDiff compares two versions of a workflow.
func (h *workflowAPI) apiVersionDiff(ctx context.Context, in *struct {
	WorkflowPath
	From string `query:"from" required:"true" doc:"Earlier version, or latest" minLength:"1" maxLength:"100"`
	To   string `query:"to" doc:"Later version; defaults to the latest one" default:"latest" maxLength:"100"`
}) (*body[contract.VersionDiffBody], error) {
	before, err := h.Workflows.Version(ctx, in.ID, versionPath{Version: in.From}.version())
	if err != nil {
		return nil, err
	}
	after, err := h.Workflows.Version(ctx, in.ID, versionPath{Version: in.To}.version())
	if err != nil {
		return nil, err
	}
	d, err := h.Packages.Diff(ctx, before, after)
	if err != nil {
		return nil, err
	}
	out := contract.VersionDiffBody{
		WorkflowName: after.Name, From: before.Version, To: after.Version, Breaking: d.Breaking(),
		Changes: make([]contract.DiffChange, 0, len(d.Changes)), Files: make([]contract.ChangedFile, 0, len(d.Files)), Notes: d.Notes,
	}
	for _, c := range d.Changes {
		item := contract.DiffChange{Section: string(c.Section), Name: c.Name, Change: string(c.Kind), Breaks: c.Breaks}
		for _, detail := range c.Details {
			change := contract.DiffDetail{Path: detail.Path, Before: detail.Before, After: detail.After}
			if detail.Patch != nil {
				change.Patch = detail.Patch.String()
			}
			item.Details = append(item.Details, change)
		}
		out.Changes = append(out.Changes, item)
	}
	for _, f := range d.Files {
		out.Files = append(out.Files, contract.ChangedFile{
			Name: f.Name, Change: string(f.Kind), Added: f.Patch.Added, Removed: f.Patch.Removed, Patch: f.Patch.String(), Note: f.Note,
		})
	}
	return reply(out), nil
}
