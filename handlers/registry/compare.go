package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/comparison/model"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const differencesShown = 40 // of one kind

// inputs shows the differences between the executions that produced both versions.
func inputs(in model.Inputs) views.ModelDifferences {
	d := views.ModelDifferences{Title: "Inputs and code", Note: in.Note}
	for _, row := range in.Rows {
		one := views.ModelDifference{Name: row.Path, Before: differenceText(row.Cells[0]), Now: differenceText(row.Cells[1])}
		if row.Section != sheet.Inputs {
			one.Kind = label.SentenceCase(string(row.Section))
		}
		d.Rows = append(d.Rows, one)
	}
	if in.Note == "" {
		d.Note = limitRows(&d) + units.Plural(in.Same, "value is", "values are") + " the same."
	}
	return d
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

// sources shows what only one of both versions was made from.
func sources(found model.Sources) views.ModelDifferences {
	d := views.ModelDifferences{Title: "Lineage"}
	for _, one := range found.Rows {
		d.Rows = append(d.Rows, views.ModelDifference{
			Name: one.Name, Kind: kindName(one.Kind), Before: cmp.Or(strings.Join(one.Before, ", "), "–"), Now: cmp.Or(strings.Join(one.Now, ", "), "–"),
		})
	}
	d.Note = limitRows(&d)
	if found.Partial {
		d.Note += "The lineage is too large to compare completely. "
	}
	switch {
	case found.Note != "":
		d.Note += found.Note
	case found.Same > 0:
		d.Note += units.Plural(found.Same, "source is", "sources are") + " the same."
	}
	d.Note = strings.TrimSpace(d.Note)
	return d
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

// comparison shows the metrics of the version and of the one that it is compared with, and what else
// differs.
func (x *shown) comparison() views.ModelComparison {
	c := views.ModelComparison{Title: "Metrics of " + x.version.Version, Now: x.version.Version, FormURL: x.url("")}
	against := x.compared.Against
	if p := against; p != nil {
		c.Before = p.Version
		c.Title = x.version.Version + " against " + p.Version
		if p.Stage == registry.Production {
			c.Title = x.version.Version + " against production"
		}
		c.Foot = "Measured on " + cmp.Or(x.version.TestSet(), "an unknown test set") + "; " + p.Version + " was measured on " + cmp.Or(p.TestSet(), "an unknown test set") + "."
		switch {
		case x.version.TestSet() == "" && p.TestSet() == "":
			c.Foot = "The test sets of both versions are unknown."
		case x.version.TestSet() == p.TestSet():
			c.Foot = "Both versions were measured on " + p.TestSet() + "."
		}
		c.Differences = []views.ModelDifferences{inputs(x.compared.Inputs), sources(x.compared.Sources)}
		c.Links = x.otherComparisons()
	}
	if len(x.model.Versions) > 1 || x.model.More != "" {
		c.Versions = x.choices(*x.version)
		if against != nil {
			c.Choose = x.choices(*against)
		} else {
			c.Choose = append([]ui.Option{{Name: "No version", Selected: true}}, x.choices(registry.Version{})...)
		}
	}
	for _, r := range x.compared.Metrics {
		row := views.ModelMetric{Name: r.Name, Before: figure(r.Before), Now: figure(r.Now), Verdict: r.Verdict()}
		if d := r.Difference(); d != nil {
			row.Difference = difference(*d)
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// difference is a number with its sign, and 0 without one.
func difference(d float64) string {
	if d == 0 {
		return "0"
	}
	return fmt.Sprintf("%+.4g", d)
}

// otherComparisons are the pages that compare the artifacts and the executions of both versions.
func (x *shown) otherComparisons() []ui.Action {
	var links []ui.Action
	if p := x.compared.Against; p.From != nil && x.version.From != nil && *p.From != *x.version.From {
		links = append(links, ui.Action{Name: "Compare the artifacts", Icon: "table", URL: views.ArtifactCompareURL([]string{p.From.String(), x.version.From.String()})})
	}
	if made := x.compared.MadeBy; made[0] != uuid.Nil && made[1] != uuid.Nil && made[0] != made[1] {
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
