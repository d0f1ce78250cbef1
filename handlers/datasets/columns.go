package datasets

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/data/dataset/drift"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	columnRows   = 50 // on a page
	changesShown = 12
)

// declared are the columns or features that a version declares.
func (x *shown) declared() []typeregistry.Column {
	if x.kind == typeregistry.KindFeatureSet {
		return x.change.Now.Facts.Features
	}
	return x.change.Now.Facts.Columns
}

// beforeOf returns the statistics of a column in the other version; nil for none.
func (x *shown) beforeOf(name string) *preview.ColumnProfile {
	if x.change.BeforeStats.Profile == nil {
		return nil
	}
	return find(x.change.BeforeStats.Profile, name)
}

func find(p *preview.Profile, name string) *preview.ColumnProfile {
	i := slices.IndexFunc(p.Columns, func(c preview.ColumnProfile) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Columns[i]
}

// columns are the columns of the file, else those that the version declares. A declared column that
// the file lacks is listed, too.
func (x *shown) columns() views.DatasetColumns {
	out := views.DatasetColumns{Now: x.change.Now.Version}
	declared := x.declared()
	profile := x.change.NowStats.Profile
	var all []views.DatasetColumn
	if profile != nil {
		out.Read, out.Counted = read(profile), true
		if x.change.Report != nil {
			out.Before = x.change.Before.Version
		}
		for _, c := range profile.Columns {
			all = append(all, x.column(c))
		}
	}
	for _, d := range declared {
		i := slices.IndexFunc(all, func(c views.DatasetColumn) bool { return c.Name == d.Name })
		if i < 0 {
			all = append(all, views.DatasetColumn{Name: d.Name, Type: d.DType})
			if i = len(all) - 1; profile != nil {
				all[i].Range = "not in the file"
			}
		}
		all[i].Declared = declaredFigures(d)
		all[i].Description, _ = d.Attributes["description"].(string)
		out.Declared = out.Declared || len(all[i].Declared) > 0
	}
	from, _ := strconv.Atoi(x.q.Get("from"))
	from = min(max(from, 0), len(all))
	to := min(from+columnRows, len(all))
	out.Rows = all[from:to]
	if len(all) > columnRows {
		out.Pager = ui.Pager{InOrder: true, Text: fmt.Sprintf("Columns %s to %s of %s", units.Number(int64(from+1)), units.Number(int64(to)), units.Number(int64(len(all))))}
		if to < len(all) {
			out.Pager.Older = x.with("from", strconv.Itoa(to)) + "#columns"
		}
		if from > 0 {
			out.Pager.Newer = x.with("from", strconv.Itoa(max(from-columnRows, 0))) + "#columns"
		}
	}
	return out
}

// read describes what the statistics describe.
func read(p *preview.Profile) string {
	text := "Over all " + units.Plural(p.Rows, "row", "rows")
	if !p.All {
		text = "Over the first " + units.Plural(p.Rows, "row", "rows") + ", because statistics are limited to ten minutes"
	}
	text += ". Distributions are based on a sample of at most " + units.Number(preview.ProfileSample) + " values."
	if p.AllColumns > len(p.Columns) {
		text += " The first " + units.Number(int64(len(p.Columns))) + " of " + units.Number(int64(p.AllColumns)) + " columns are described."
	}
	return text
}

// declaredFigures are the default and the statistics that a feature declares.
func declaredFigures(c typeregistry.Column) []string {
	var list []string
	if v, ok := c.Attributes["default_value"]; ok {
		list = append(list, "default "+valueText(v))
	}
	if stats, ok := c.Attributes["statistics"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(stats)) {
			list = append(list, name+" "+valueText(stats[name]))
		}
	}
	return list
}

func (x *shown) column(c preview.ColumnProfile) views.DatasetColumn {
	row := views.DatasetColumn{
		Name: c.Name, Type: string(c.Type), Missing: drift.Percent(ratio(c.Nulls, c.Count+c.Nulls+c.Other)), Distinct: units.Number(c.Distinct), Range: ranges(c),
	}
	if c.Estimated {
		row.Distinct = "about " + row.Distinct
	}
	parts := drift.Shape(x.beforeOf(c.Name), c)
	row.Chart = picture(c.Name, parts, x.beforeOf(c.Name) != nil)
	if x.change.Report != nil {
		if d := x.change.Report.Find(c.Name); d != nil {
			row.Drift = mark(*d)
			row.URL = x.with("column", c.Name) + "#drift"
		}
	}
	return row
}

func ratio(n, of int64) float64 {
	return float64(n) / float64(max(of, 1))
}

func picture(name string, parts []drift.Part, compared bool) chart.Distribution {
	var now, was []float64
	var words []string
	for _, p := range parts {
		now = append(now, p.Now)
		if compared {
			was = append(was, p.Before)
		}
	}
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, func(a, b drift.Part) int { return cmp.Compare(b.Now, a.Now) })
	for _, p := range sorted[:min(len(sorted), 3)] {
		words = append(words, p.Name+" "+drift.Percent(p.Now))
	}
	return chart.NewDistribution(now, was, "Distribution of "+name+"; most common: "+strings.Join(words, ", "))
}

// ranges are the range of numbers and times, or the values of other columns.
func ranges(c preview.ColumnProfile) string {
	var text string
	switch {
	case c.Count == 0:
		return "no values"
	case c.Type.Numeric() && c.Mean != nil:
		text = c.Min + " to " + c.Max + ", mean " + figure(*c.Mean)
	case c.Type.Temporal():
		text = c.Min + " to " + c.Max
	case c.Complete && len(c.Top) <= 4:
		names := make([]string, len(c.Top))
		for i, v := range c.Top {
			names[i] = ui.Short(v.Value, 20)
		}
		text = strings.Join(names, ", ")
	case len(c.Top) > 0:
		text = "most frequent " + ui.Short(c.Top[0].Value, 30) + ", " + drift.Percent(ratio(c.Top[0].Count, c.Count))
	default:
		text = ui.Short(c.Min, 24) + " to " + ui.Short(c.Max, 24)
	}
	if c.Other > 0 {
		text += "; " + units.Plural(c.Other, "value is", "values are") + " not of this type"
	}
	return text
}

func figure(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func mark(c drift.Column) views.DriftMark {
	m := map[drift.Verdict]views.DriftMark{
		drift.Same: {Class: "drift-same", Icon: "check", Word: "same"}, drift.Little: {Class: "drift-little", Icon: "minus", Word: "a little"},
		drift.Moved: {Class: "drift-moved", Icon: "warn", Word: "moved"}, drift.Added: {Class: "drift-moved", Icon: "ADDED", Word: "new"},
		drift.Removed: {Class: "drift-moved", Icon: "REMOVED", Word: "gone"}, drift.Retyped: {Class: "drift-moved", Icon: "CHANGED", Word: "other type"},
		drift.Unknown: {Class: "drift-little", Icon: "info", Word: "unknown"},
	}[c.Verdict]
	if c.PSI != nil {
		m.PSI = strconv.FormatFloat(*c.PSI, 'f', 2, 64)
	}
	return m
}

// weight orders changes: schema first, then by the index.
func weight(c drift.Column) float64 {
	if c.PSI == nil {
		return math.Inf(1)
	}
	return *c.PSI
}

// drift is what changed since the other version; nil for the first version.
func (x *shown) drift() *views.DatasetDrift {
	if x.change.First {
		return nil
	}
	d := &views.DatasetDrift{Before: x.change.Before.Version, Lineage: x.lineage(), Nothing: "No column changed."}
	report := x.change.Report
	if report == nil {
		d.Problem, d.Nothing = x.uncompared(), "Not compared."
		return d
	}
	var changed []drift.Column
	for _, c := range report.Columns {
		if c.Verdict != drift.Same && c.Verdict != drift.Unknown {
			changed = append(changed, c)
		}
	}
	slices.SortStableFunc(changed, func(a, b drift.Column) int { return cmp.Compare(weight(b), weight(a)) })
	for _, c := range changed[:min(len(changed), changesShown)] {
		d.Changes = append(d.Changes, x.changed(c))
	}
	if n := len(changed) - len(d.Changes); n > 0 {
		d.More = units.Plural(n, "more column", "more columns") + " changed; the table has all."
	}
	chosen := report.Find(x.q.Get("column"))
	for i := 0; chosen == nil && i < len(changed); i++ {
		if changed[i].PSI != nil {
			chosen = &changed[i]
		}
	}
	if chosen == nil && len(report.Columns) > 0 {
		chosen = &report.Columns[0]
	}
	for _, c := range report.Columns {
		d.ChooseOf = append(d.ChooseOf, ui.Option{Value: c.Name, Name: c.Name, Selected: chosen != nil && c.Name == chosen.Name})
	}
	if chosen != nil {
		x.choice(d, *chosen)
	}
	return d
}

// uncompared explains why there is no comparison.
func (x *shown) uncompared() string {
	for _, side := range []struct {
		version string
		stats   dataset.Statistics
	}{{x.change.Now.Version, x.change.NowStats}, {x.change.Before.Version, x.change.BeforeStats}} {
		switch {
		case side.stats.State == dataset.Waiting:
			return "The statistics of " + side.version + " are being computed."
		case side.stats.Profile == nil:
			return side.version + " has no statistics. " + side.stats.Problem
		}
	}
	return ""
}

func (x *shown) changed(c drift.Column) views.DatasetChange {
	out := views.DatasetChange{Name: c.Name, Note: c.Note, Mark: mark(c)}
	if c.PSI != nil {
		out.URL = x.with("column", c.Name) + "#drift"
	}
	return out
}

// choice shows one column in detail.
func (x *shown) choice(d *views.DatasetDrift, c drift.Column) {
	chosen := x.changed(c)
	d.Chosen = &chosen
	now := find(x.change.NowStats.Profile, c.Name)
	if now == nil || c.PSI == nil {
		return
	}
	before := x.beforeOf(c.Name)
	parts := drift.Shape(before, *now)
	d.Chart = picture(c.Name, parts, before != nil)
	if len(parts) > 0 {
		d.Low, d.High = parts[0].Name, parts[len(parts)-1].Name
		if _, high, ok := strings.Cut(d.High, " to "); ok && len(now.Quantiles) > 0 {
			d.High = high
			d.Low, _, _ = strings.Cut(d.Low, " to ")
		}
	}
	d.Method = "PSI " + chosen.Mark.PSI + " over the deciles of " + d.Before
	if c.Method == drift.Values {
		d.Method = "PSI " + chosen.Mark.PSI + " over values"
	}
	d.Method += ", by chance up to " + strconv.FormatFloat(c.Chance, 'f', 2, 64)
	if c.KS != nil {
		d.Method += "; Kolmogorov–Smirnov " + strconv.FormatFloat(*c.KS, 'f', 2, 64)
	}
	for _, p := range c.Parts {
		d.Parts = append(d.Parts, views.DatasetPart{Name: p.Name, Before: drift.Percent(p.Before), Now: drift.Percent(p.Now)})
	}
}

// valueText is a declared value in one line.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return ui.Short(v, cellRunes)
	case float64:
		return figure(v)
	case nil:
		return "null"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return ui.Short(string(raw), cellRunes)
}
