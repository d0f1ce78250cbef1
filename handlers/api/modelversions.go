package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web/contract"
)

func (h *modelAPI) apiCompareVersions(ctx context.Context, in *struct {
	ModelPath
	Version string `query:"version" doc:"Version, alias or stage; defaults to the newest version" maxLength:"100"`
	Against string `query:"against" doc:"Version, alias or stage to compare with; defaults to the version in production, or else to the version registered before" maxLength:"100"`
}) (*body[contract.ModelComparison], error) {
	c, err := h.Models.Compare(ctx, in.Name, in.Version, in.Against)
	if err != nil {
		return nil, err
	}
	out := contract.ModelComparison{
		Model: in.Name, Version: contract.ComparedVersion{ModelVersion: toModelVersion(c.Version), ExecutionID: known(c.MadeBy[1])},
		Against: contract.ComparedVersion{ModelVersion: toModelVersion(*c.Against), ExecutionID: known(c.MadeBy[0])},
		Metrics: make([]contract.ComparedModelMetric, 0, len(c.Metrics)), Signature: append([]string{}, c.Signature...),
		Inputs:  contract.ComparedModelInputs{Rows: make([]contract.ComparedModelInput, 0, len(c.Inputs.Rows)), Same: c.Inputs.Same, Note: c.Inputs.Note},
		Sources: contract.ComparedModelSources{Rows: make([]contract.ComparedModelSource, 0, len(c.Sources.Rows)), Same: c.Sources.Same, Partial: c.Sources.Partial, Note: c.Sources.Note},
		URL:     views.ModelComparisonURL(in.Name, c.Version.Version, c.Against.Version),
	}
	for _, m := range c.Metrics {
		out.Metrics = append(out.Metrics, contract.ComparedModelMetric{
			Name: m.Name, Against: m.Before, Version: m.Now, Difference: m.Difference(), Better: m.Better, Verdict: m.Verdict(), SameTestSet: m.SameTestSet,
		})
	}
	for _, r := range c.Inputs.Rows {
		out.Inputs.Rows = append(out.Inputs.Rows, contract.ComparedModelInput{Section: string(r.Section), Path: r.Path, Against: r.Cells[0].Value, Version: r.Cells[1].Value})
	}
	for _, s := range c.Sources.Rows {
		out.Sources.Rows = append(out.Sources.Rows, contract.ComparedModelSource{
			Kind: string(s.Kind), Name: s.Name, Against: append([]string{}, s.Before...), Version: append([]string{}, s.Now...),
		})
	}
	return reply(out), nil
}

// known is an ID, or nil for none.
func known(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
