package datasets

import (
	"strings"

	"github.com/flowforge/flowforge/data/dataset/drift"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// tiles are the figures of the version.
func (x *shown) tiles() []views.DatasetTile {
	tiles := []views.DatasetTile{x.rowTile(), x.columnTile(), x.sizeTile()}
	if x.change.NowStats.Profile != nil {
		tiles = append(tiles, x.missingTile())
	}
	if x.change.Report != nil {
		tiles = append(tiles, x.driftTile())
	}
	return tiles
}

func (x *shown) rowTile() views.DatasetTile {
	t := views.DatasetTile{Name: "Rows", Value: "–", Note: "not known"}
	if rows := x.change.Now.Facts.Rows; rows != nil {
		t.Value, t.Note = units.Number(*rows), "as declared"
	}
	if p := x.change.NowStats.Profile; p != nil {
		if t.Value, t.Note = units.Number(p.Rows), "counted"; !p.All {
			t.Value, t.Note = "more than "+t.Value, "read in ten minutes"
		}
	}
	if r := x.change.Report; r != nil {
		sign := "+"
		if r.RowsNow < r.RowsBefore {
			sign = "−"
		}
		t.Note = "same as version " + x.change.Before.Version
		if n := r.RowsNow - r.RowsBefore; n != 0 {
			t.Note = sign + units.Number(max(n, -n)) + " since version " + x.change.Before.Version
		}
	}
	return t
}

func (x *shown) columnTile() views.DatasetTile {
	t := views.DatasetTile{Name: "Columns", Value: units.Number(int64(len(x.declared()))), Note: "as declared"}
	if p := x.change.NowStats.Profile; p != nil {
		t.Value, t.Note = units.Number(int64(p.AllColumns)), ""
	} else if len(x.declared()) == 0 {
		t.Value, t.Note = "–", "not known"
	}
	if r := x.change.Report; r != nil {
		var notes []string
		for _, kind := range []struct {
			verdict drift.Verdict
			word    string
		}{{drift.Added, "new"}, {drift.Removed, "gone"}, {drift.Retyped, "of another type"}} {
			if n := r.Count(kind.verdict); n > 0 {
				notes = append(notes, units.Number(int64(n))+" "+kind.word)
			}
		}
		t.Note = strings.Join(notes, ", ")
		if len(notes) == 0 {
			t.Note = "same schema as version " + x.change.Before.Version
		}
	}
	return t
}

func (x *shown) sizeTile() views.DatasetTile {
	t := views.DatasetTile{Name: "Size", Value: "–", Note: "stored elsewhere"}
	if b := x.change.Now.Blob; b != nil {
		t.Note = format(x.change.Now)
		t.Value, t.Unit, _ = strings.Cut(units.Bytes(b.Size), " ")
	}
	return t
}

func (x *shown) missingTile() views.DatasetTile {
	var nulls, all, most int64
	where := ""
	for _, c := range x.change.NowStats.Profile.Columns {
		nulls += c.Nulls
		all += c.Nulls + c.Count + c.Other
		if c.Nulls > most {
			most, where = c.Nulls, c.Name
		}
	}
	t := views.DatasetTile{Name: "Missing", Note: "no value is missing"}
	if where != "" {
		t.Note = "most in " + where
	}
	t.Value, t.Unit = strings.TrimSuffix(drift.Percent(ratio(nulls, all)), " %"), "%"
	return t
}

func (x *shown) driftTile() views.DatasetTile {
	r := x.change.Report
	t := views.DatasetTile{Name: "Drift", Value: units.Number(int64(r.Count(drift.Moved))), Unit: "of " + units.Plural(len(r.Columns), "column", "columns"), Note: "no column drifted"}
	var names []string
	for _, c := range r.Columns {
		if c.Verdict == drift.Moved {
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		t.Note = strings.Join(names[:min(len(names), 3)], ", ")
		if len(names) > 3 {
			t.Note += " and others"
		}
	}
	return t
}
