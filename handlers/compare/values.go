package compare

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// exactShown is the length from which the tooltip of a value is cut.
const exactShown = 2000

// manyDigits is the length from which whole numbers are shown as they are, as a floating-point
// number may not have all their digits.
const manyDigits = 16

func tableRow(r sheet.Row) views.CompareRow {
	row := views.CompareRow{Name: r.Path, Differs: r.Differs}
	if r.Section == sheet.Summary {
		row.Name = sentence(r.Path)
	}
	if r.Better != "" && r.Section == sheet.Metrics {
		row.Better = string(r.Better) + " is better"
	}
	row.SideURL = sideBySide(r)
	for _, c := range r.Cells {
		if !c.Present {
			row.Cells = append(row.Cells, views.CompareCell{Missing: true, Changed: c.Changed})
			continue
		}
		cell := views.CompareCell{Text: cellText(r, c.Value), Exact: ui.Short(exact(c.Value), exactShown), Changed: c.Changed, Best: c.Best}
		_, cell.Number = sheet.Number(c.Value)
		if r.Section == sheet.Summary && r.Path == "state" {
			cell.State = cell.Text
		}
		if c.Artifact != "" {
			cell.URL = views.ArtifactURL(c.Artifact)
		}
		if c.Delta != nil && *c.Delta != 0 {
			cell.Delta = delta(r.Unit, *c.Delta)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// sideBySide links the artifacts of a row that differ, the first ones of many.
func sideBySide(r sheet.Row) string {
	var ids []string
	for _, c := range r.Cells {
		if c.Artifact != "" && !slices.Contains(ids, c.Artifact) && len(ids) < views.MostArtifactsCompared {
			ids = append(ids, c.Artifact)
		}
	}
	if len(ids) < 2 || !r.Differs {
		return ""
	}
	return views.ArtifactCompareURL(ids)
}

func sentence(path string) string {
	if path == "" {
		return path
	}
	return string(path[0]-'a'+'A') + path[1:]
}

// cellText is a value for readers.
func cellText(r sheet.Row, v any) string {
	if n, ok := v.(json.Number); ok && len(n) >= manyDigits && !strings.ContainsAny(n.String(), ".eE") {
		return n.String() // seeds that differ look different
	}
	if f, ok := sheet.Number(v); ok {
		return number(r.Unit, f)
	}
	if m, ok := v.(map[string]any); ok {
		if sum, ok := m["sha256"].(string); ok && len(sum) > 8 {
			size, _ := sheet.Number(m["size_bytes"])
			return units.Bytes(int64(size)) + " · " + sum[:8]
		}
	}
	text := sheet.Text(v)
	if r.Path == "SHA-256" || r.Path == "commit" || r.Path == "package" {
		return ui.Short(text, 12)
	}
	return ui.Short(text, 300)
}

// exact is a value with all its digits.
func exact(v any) string {
	if m, ok := v.(map[string]any); ok {
		if sum, ok := m["sha256"].(string); ok {
			return "SHA-256 " + sum
		}
	}
	return sheet.Text(v)
}

func number(unit sheet.Unit, f float64) string {
	switch unit {
	case sheet.Seconds:
		return units.Duration(time.Duration(f * float64(time.Second)))
	case sheet.Bytes:
		return units.Bytes(int64(f))
	}
	return ui.Float(f)
}

// delta is a distance from the baseline, with its sign.
func delta(unit sheet.Unit, d float64) string {
	sign := "+"
	if d < 0 {
		sign = "−"
	}
	return sign + number(unit, math.Abs(d))
}
