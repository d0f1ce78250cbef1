package registry

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	sourceItems      = 200 // above a version
	differencesShown = 40  // of one kind
)

// versus selects the version to compare with: the one in the address, or else the one in production,
// or else the one before.
func (h *Pages) versus(r *http.Request, x *shown) error {
	name := r.URL.Query().Get("against")
	switch {
	case name != "":
		v, err := h.versionOf(r.Context(), x, name)
		if err != nil {
			return err
		}
		x.against = v
	case x.model.Production != nil:
		x.against = x.model.Production
	}
	if x.against != nil && x.against.ID == x.version.ID {
		x.against = nil
	}
	if x.against == nil && name == "" {
		older := slices.IndexFunc(x.model.Versions, func(v registry.Version) bool { return v.ID == x.version.ID }) + 1
		if older > 0 && older < len(x.model.Versions) {
			x.against = &x.model.Versions[older]
		}
	}
	if x.against == nil {
		return nil
	}
	for i, e := range []catalogue.Entry{x.against.Entry, x.version.Entry} {
		id, err := h.Registry.MadeBy(r.Context(), e)
		if err != nil {
			return err
		}
		x.madeBy[i] = id
	}
	var err error
	if x.inputs, err = h.inputs(r.Context(), x); err != nil {
		return err
	}
	x.sources, err = h.sources(r.Context(), x)
	return err
}

// versionOf is a version by its name, on any page of the list.
func (h *Pages) versionOf(ctx context.Context, x *shown, name string) (*registry.Version, error) {
	if i := slices.IndexFunc(x.model.Versions, func(v registry.Version) bool { return v.Version == name }); i >= 0 {
		return &x.model.Versions[i], nil
	}
	if p := x.model.Production; p != nil && p.Version == name {
		return p, nil
	}
	v, err := h.Registry.Version(ctx, x.model.Name, name)
	return &v, err
}

// inputs are the differences between the executions that made both versions: inputs, the version of
// the workflow, and code. There are none without two executions that the reader may see.
func (h *Pages) inputs(ctx context.Context, x *shown) (views.ModelDifferences, error) {
	d := views.ModelDifferences{Title: "Inputs and code"}
	before, now := x.madeBy[0], x.madeBy[1]
	switch {
	case before == uuid.Nil || now == uuid.Nil:
		d.Note = "At least one version does not name the execution that produced it."
		return d, nil
	case before == now:
		d.Note = "The same execution produced both versions."
		return d, nil
	}
	compared, err := h.Comparison.Compare(ctx, []string{before.String(), now.String()}, "")
	if code := apperr.CodeOf(err); err != nil && (code == apperr.NotFound || code == apperr.Forbidden || code == apperr.Unavailable) {
		d.Note = apperr.MessageOf(err)
		return d, nil
	}
	if err != nil {
		return d, err
	}
	same := 0
	for _, row := range compared.Rows {
		if !slices.Contains([]sheet.Section{sheet.Inputs, sheet.Definition, sheet.Code}, row.Section) {
			continue
		}
		if !row.Differs {
			same++
			continue
		}
		one := views.ModelDifference{Name: row.Path, Before: differenceText(row.Cells[0]), Now: differenceText(row.Cells[1])}
		if row.Section != sheet.Inputs {
			one.Kind = label.SentenceCase(string(row.Section))
		}
		d.Rows = append(d.Rows, one)
	}
	d.Note = limitRows(&d) + units.Plural(same, "value is", "values are") + " the same."
	return d, nil
}

// limitRows keeps the first differences. It returns a note about the others, which ends with a space.
func limitRows(d *views.ModelDifferences) string {
	of := len(d.Rows)
	if of <= differencesShown {
		return ""
	}
	d.Rows = d.Rows[:differencesShown]
	return fmt.Sprintf("%d of %d differences are shown. ", differencesShown, of)
}

func differenceText(c sheet.Cell) string {
	if !c.Present {
		return "–"
	}
	if f, ok := sheet.Number(c.Value); ok {
		return ui.Float(f)
	}
	return ui.Short(sheet.Text(c.Value), 80)
}

// sources are the datasets, feature sets, models and uploads that both versions were made from.
func (h *Pages) sources(ctx context.Context, x *shown) (views.ModelDifferences, error) {
	d := views.ModelDifferences{Title: "Lineage"}
	var order []string
	rows := map[string]*views.ModelDifference{}
	partial := false
	for side, v := range []*registry.Version{x.against, x.version} {
		found, err := h.Lineage.Trace(ctx, lineage.Request{Of: "model:" + x.model.Name + "@" + v.Version, Up: lineage.MaxSteps, Items: sourceItems})
		if apperr.Is(err, apperr.NotFound) {
			continue
		}
		if code := apperr.CodeOf(err); err != nil && (code == apperr.Forbidden || code == apperr.Unavailable) {
			return views.ModelDifferences{Title: d.Title, Note: apperr.MessageOf(err)}, nil
		}
		if err != nil {
			return d, err
		}
		partial = partial || found.Cut || slices.ContainsFunc(found.Items, func(i lineage.Item) bool { return i.Before.Items > 0 })
		for _, item := range found.Items {
			if item.Key == found.Focus.Key || !slices.Contains([]lineage.Kind{lineage.KindDataset, lineage.KindFeatureSet, lineage.KindModel, lineage.KindFile}, item.Kind) {
				continue
			}
			key := string(item.Kind) + " " + item.Name
			row := rows[key]
			if row == nil {
				row = &views.ModelDifference{Name: item.Name, Kind: kindName(item.Kind)}
				rows[key] = row
				order = append(order, key)
			}
			text := cmp.Or(item.Version, "used")
			if into := []*string{&row.Before, &row.Now}[side]; *into == "" {
				*into = text
			} else {
				*into += ", " + text
			}
		}
	}
	same := 0
	for _, key := range order {
		row := rows[key]
		if row.Before == row.Now {
			same++
			continue
		}
		row.Before, row.Now = cmp.Or(row.Before, "–"), cmp.Or(row.Now, "–")
		d.Rows = append(d.Rows, *row)
	}
	d.Note = limitRows(&d)
	if partial {
		d.Note += "The lineage is too large to compare completely. "
	}
	switch {
	case len(order) == 0:
		d.Note += "No dataset, feature set, model or upload is known above these versions."
	case same > 0:
		d.Note += units.Plural(same, "source is", "sources are") + " the same."
	}
	d.Note = strings.TrimSpace(d.Note)
	return d, nil
}

func kindName(k lineage.Kind) string {
	switch k {
	case lineage.KindFeatureSet:
		return "Feature set"
	case lineage.KindFile:
		return "Upload"
	}
	return label.SentenceCase(string(k))
}

// compared are the metrics of the version and of the one that it is compared with, and what else
// differs.
func (x *shown) compared() views.ModelComparison {
	c := views.ModelComparison{Title: "Metrics of " + x.version.Version, Now: x.version.Version, FormURL: x.url("")}
	var before catalogue.Entry
	if p := x.against; p != nil {
		before, c.Before = p.Entry, p.Version
		c.Title = x.version.Version + " against " + p.Version
		if p.Stage == registry.Production {
			c.Title = x.version.Version + " against production"
		}
		c.Foot = "Measured on " + cmp.Or(x.version.TestSet(), "an unknown test set") + "; " + p.Version + " was measured on " + cmp.Or(p.TestSet(), "an unknown test set") + "."
		c.Differences = []views.ModelDifferences{x.inputs, x.sources}
		c.Links = x.otherComparisons()
	}
	if len(x.model.Versions) > 1 || x.model.More != "" {
		c.Versions = x.choices(*x.version)
		if x.against != nil {
			c.Choose = x.choices(*x.against)
		} else {
			c.Choose = append([]ui.Option{{Name: "No version", Selected: true}}, x.choices(registry.Version{})...)
		}
	}
	for _, r := range registry.Compare(before, x.version.Entry, x.model.Policy.Rules) {
		row := views.ModelMetric{Name: r.Name, Before: figure(r.Before), Now: figure(r.Now)}
		if r.Before != nil && r.Now != nil {
			row.Difference = fmt.Sprintf("%+.4g", *r.Now-*r.Before)
		}
		switch {
		case r.Improved:
			row.Verdict = "better"
		case r.Worse:
			row.Verdict = "worse"
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// otherComparisons are the pages that compare the artifacts and the executions of both versions.
func (x *shown) otherComparisons() []ui.Action {
	var links []ui.Action
	if p := x.against; p.From != nil && x.version.From != nil && *p.From != *x.version.From {
		links = append(links, ui.Action{Name: "Compare the artifacts", Icon: "table", URL: views.ArtifactCompareURL([]string{p.From.String(), x.version.From.String()})})
	}
	if made := x.madeBy; made[0] != uuid.Nil && made[1] != uuid.Nil && made[0] != made[1] {
		links = append(links, ui.Action{Name: "Compare the executions", Icon: "runs", URL: views.CompareURL(made[0].String(), made[1].String())})
	}
	return links
}

// choices are the versions that can be compared. The selected one is among them, whatever page of
// the list has it.
func (x *shown) choices(selected registry.Version) []ui.Option {
	list := x.model.Versions
	if selected.ID != uuid.Nil && !slices.ContainsFunc(list, func(v registry.Version) bool { return v.ID == selected.ID }) {
		list = append(slices.Clone(list), selected)
	}
	options := make([]ui.Option, len(list))
	for i, v := range list {
		options[i] = ui.Option{Value: v.Version, Name: v.Version, Selected: v.ID == selected.ID}
		if v.Stage != registry.None {
			options[i].Name += ", " + string(v.Stage)
		}
	}
	return options
}
