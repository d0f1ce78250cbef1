package model

import (
	"cmp"
	"context"
	"slices"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/lineage"
)

const sourceItems = 200 // above a version

// Sources are the datasets, feature sets, models and uploads that both versions were made from.
type Sources struct {
	Rows    []Source // those that differ
	Same    int      // the number of sources that both versions were made from
	Partial bool     // the lineage is too large to compare completely
	Note    string   // why there is nothing to compare, or ""
}

// Source is an entry of the catalogue or an upload, with its versions that the model was made from.
// An upload has no versions; Used stands for one.
type Source struct {
	Kind        lineage.Kind
	Name        string
	Before, Now []string
}

// Used is the version of a source that has none.
const Used = "used"

// sources compares what both versions of a model were made from, up to the beginning of their lineage.
func (s *Service) sources(ctx context.Context, model string, against, version registry.Version) (Sources, error) {
	var out Sources
	var all []*Source
	for side, v := range []registry.Version{against, version} {
		found, err := s.Lineage.Trace(ctx, lineage.Request{Of: "model:" + model + "@" + v.Version, Up: lineage.MaxSteps, Items: sourceItems})
		if apperr.Is(err, apperr.NotFound) {
			continue
		}
		if code := apperr.CodeOf(err); code == apperr.Forbidden || code == apperr.Unavailable {
			return Sources{Note: apperr.MessageOf(err)}, nil
		}
		if err != nil {
			return out, err
		}
		out.Partial = out.Partial || found.Cut || slices.ContainsFunc(found.Items, func(i lineage.Item) bool { return i.Before.Items > 0 })
		for _, item := range found.Items {
			if item.Key == found.Focus.Key || !slices.Contains([]lineage.Kind{lineage.KindDataset, lineage.KindFeatureSet, lineage.KindModel, lineage.KindFile}, item.Kind) {
				continue
			}
			i := slices.IndexFunc(all, func(one *Source) bool { return one.Kind == item.Kind && one.Name == item.Name })
			if i < 0 {
				i = len(all)
				all = append(all, &Source{Kind: item.Kind, Name: item.Name})
			}
			into := []*[]string{&all[i].Before, &all[i].Now}[side]
			*into = append(*into, cmp.Or(item.Version, Used))
		}
	}
	for _, one := range all {
		if slices.Equal(one.Before, one.Now) {
			out.Same++
		} else {
			out.Rows = append(out.Rows, *one)
		}
	}
	if len(all) == 0 {
		out.Note = "No upstream dataset, feature set, model or upload is recorded for these versions."
	}
	return out, nil
}
