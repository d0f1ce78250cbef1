package api

import (
	"context"
	"net/http"

	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web/contract"
)

// DatasetPath names a version of a dataset or feature set.
type DatasetPath struct {
	Ref string `path:"ref" doc:"Reference: name@version, name@alias, or name for the newest version" maxLength:"320"`
}

// DatasetNamePath names a dataset or feature set.
type DatasetNamePath struct {
	Name string `path:"ref" doc:"Name" maxLength:"200"`
}

// DatasetAliasPath names an alias.
type DatasetAliasPath struct {
	DatasetNamePath
	Alias string `path:"alias" doc:"Alias name" maxLength:"60"`
}

// datasetAPI serves statistics, drift and aliases of datasets and feature sets.
type datasetAPI struct {
	Datasets *dataset.Service
}

func (h *datasetAPI) mount(api *operations) {
	for _, s := range shelves() {
		if s.kind != typeregistry.KindModel {
			h.mountShelf(api, s)
		}
	}
}

func (h *datasetAPI) mountShelf(api *operations, s shelf) {
	const tag = "Catalogue"
	operation(api, get("list-"+s.id+"-versions", s.path+"/{ref}/versions", "List the versions and aliases of a "+s.noun, tag), func(ctx context.Context, in *struct {
		DatasetNamePath
		Page string `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"100"`
	},
	) (*body[contract.DatasetBody], error) {
		return h.apiDataset(ctx, s.kind, in.Name, in.Page)
	})
	operation(api, get("get-"+s.id+"-statistics", s.path+"/{ref}/statistics", "Get the statistics of the columns of a "+s.noun, tag), func(ctx context.Context, in *DatasetPath) (*body[contract.DatasetStatistics], error) {
		e, stats, err := h.Datasets.Statistics(ctx, s.kind, in.Ref)
		if err != nil {
			return nil, err
		}
		return reply(toStatistics(e.Ref(), stats)), nil
	})
	compute := post("compute-"+s.id+"-statistics", s.path+"/{ref}/statistics", "Compute the statistics of a "+s.noun+" again", tag)
	compute.DefaultStatus = http.StatusAccepted
	operation(api, compute, func(ctx context.Context, in *DatasetPath) (*body[contract.DatasetRequested], error) {
		if err := h.Datasets.Refresh(ctx, s.kind, in.Ref); err != nil {
			return nil, err
		}
		return reply(contract.DatasetRequested{State: string(dataset.Waiting)}), nil
	})
	operation(api, get("get-"+s.id+"-drift", s.path+"/{ref}/drift", "Compare a version of a "+s.noun+" with another one", tag), func(ctx context.Context, in *struct {
		DatasetPath
		Against string `query:"against" doc:"Version or alias to compare with; defaults to the previous version" maxLength:"100"`
	},
	) (*body[contract.DatasetDrift], error) {
		change, err := h.Datasets.Compare(ctx, s.kind, in.Ref, in.Against)
		if err != nil {
			return nil, err
		}
		return reply(toDrift(change)), nil
	})
	alias := post("set-"+s.id+"-alias", s.path+"/{ref}/aliases/{alias}", "Set an alias of a version of a "+s.noun, tag)
	alias.Method, alias.DefaultStatus = http.MethodPut, http.StatusNoContent
	operation(api, alias, func(ctx context.Context, in *struct {
		DatasetAliasPath
		Body contract.ModelAliasTarget
	},
	) (*struct{}, error) {
		return nil, h.Datasets.SetAlias(ctx, s.kind, in.Name, in.Alias, in.Body.Version)
	})
	remove := post("remove-"+s.id+"-alias", s.path+"/{ref}/aliases/{alias}", "Remove an alias of a "+s.noun, tag)
	remove.Method, remove.DefaultStatus = http.MethodDelete, http.StatusNoContent
	operation(api, remove, func(ctx context.Context, in *DatasetAliasPath) (*struct{}, error) {
		return nil, h.Datasets.RemoveAlias(ctx, s.kind, in.Name, in.Alias)
	})
}

func (h *datasetAPI) apiDataset(ctx context.Context, kind typeregistry.Kind, name, page string) (*body[contract.DatasetBody], error) {
	d, err := h.Datasets.Get(ctx, kind, name, page)
	if err != nil {
		return nil, err
	}
	out := contract.DatasetBody{
		Name: d.Name, Kind: string(kind), Next: d.More, Versions: []contract.DatasetVersion{}, Aliases: []contract.ModelAlias{}, URL: views.DatasetURL(string(kind), d.Name, ""),
	}
	for _, v := range d.Versions {
		row := contract.DatasetVersion{
			Ref: v.Ref(), Version: v.Version, Aliases: append([]string{}, v.Aliases...), Statistics: stateName(v.State), CreatedBy: v.CreatedBy, CreatedAt: v.CreatedAt,
		}
		if v.Rows >= 0 {
			row.Rows = &v.Rows
		}
		if v.Blob != nil {
			row.SizeBytes = v.Blob.Size
		}
		out.Versions = append(out.Versions, row)
	}
	for _, a := range d.Aliases {
		out.Aliases = append(out.Aliases, contract.ModelAlias{Alias: a.Name, Version: a.Version, SetBy: a.By, SetAt: a.At})
	}
	return reply(out), nil
}

func stateName(s dataset.State) string {
	if s == dataset.Absent {
		return "absent"
	}
	return string(s)
}

func toStatistics(ref string, s dataset.Statistics) contract.DatasetStatistics {
	out := contract.DatasetStatistics{Ref: ref, State: stateName(s.State), Problem: s.Problem, ComputedAt: s.At, Columns: []contract.DatasetColumn{}}
	if s.Profile == nil {
		return out
	}
	out.Rows, out.All, out.AllColumns = s.Profile.Rows, s.Profile.All, s.Profile.AllColumns
	for _, c := range s.Profile.Columns {
		out.Columns = append(out.Columns, toColumn(c))
	}
	return out
}

func toColumn(c preview.ColumnProfile) contract.DatasetColumn {
	out := contract.DatasetColumn{
		Name: c.Name, Type: string(c.Type), Count: c.Count, Nulls: c.Nulls, Other: c.Other, Distinct: c.Distinct, Estimated: c.Estimated, Min: c.Min, Max: c.Max,
		Mean: c.Mean, Deviation: c.Deviation, Quantiles: c.Quantiles, Sampled: c.Sampled, Complete: c.Complete, Error: c.Error,
	}
	for _, v := range c.Top {
		out.Top = append(out.Top, contract.DatasetValue(v))
	}
	return out
}

func toDrift(c dataset.Change) contract.DatasetDrift {
	out := contract.DatasetDrift{Ref: c.Now.Ref(), Columns: []contract.ColumnDrift{}}
	if !c.First {
		out.Against = c.Before.Ref()
	}
	if c.Report == nil {
		return out
	}
	out.Ready, out.RowsBefore, out.RowsNow, out.Moved = true, c.Report.RowsBefore, c.Report.RowsNow, c.Report.Count("moved")
	for _, k := range c.Report.Columns {
		column := contract.ColumnDrift{Name: k.Name, Verdict: string(k.Verdict), Method: string(k.Method), PSI: k.PSI, Chance: k.Chance, KS: k.KS, Note: k.Note}
		for _, p := range k.Parts {
			column.Parts = append(column.Parts, contract.PartDrift(p))
		}
		out.Columns = append(out.Columns, column)
	}
	return out
}
