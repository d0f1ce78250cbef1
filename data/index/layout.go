package index

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/search"
)

// Bounds of the layout of a table.
const (
	MinWidth  = 64 // pixels
	MaxWidth  = 960
	MaxPinned = 4
)

// chart is the layout of a metric that is a chart.
const (
	chart        = "chart"
	metricPrefix = string(search.Metrics) + "."
)

// Layout is how a table shows a column.
type Layout struct {
	Pinned bool // it stays in place while the table scrolls
	Width  int  // in pixels; 0: as wide as its values
	Chart  bool // a chart beside the table, instead of a column
}

// ColumnName is the name of an entry of [Query.Columns] without its layout.
func ColumnName(entry string) string {
	name, _, _ := strings.Cut(entry, "~")
	return name
}

// ParseColumn reads an entry of [Query.Columns]: a name, and after "~" its layout: "pin", a width
// in pixels, or both, such as "metrics.accuracy~pin~240". A metric can be a chart:
// "metrics.accuracy~chart".
func ParseColumn(entry string) (string, Layout, error) {
	parts := strings.Split(entry, "~")
	var l Layout
	for _, part := range parts[1:] {
		width, err := strconv.Atoi(part)
		switch {
		case part == "pin":
			l.Pinned = true
		case part == chart && len(parts) == 2 && len(parts[0]) > len(metricPrefix) && strings.HasPrefix(parts[0], metricPrefix):
			l.Chart = true
		case err == nil && width >= MinWidth && width <= MaxWidth:
			l.Width = width
		default:
			message := fmt.Sprintf("%q is not the layout of a column. Enter pin, or a width from %d to %d.", part, MinWidth, MaxWidth)
			if part == chart {
				message = "Only a metric can be a chart, and a chart has no other layout: metrics.accuracy~chart."
			}
			return parts[0], l, apperr.InvalidFields(message, []apperr.Field{{Path: "columns", Message: message}})
		}
	}
	return parts[0], l, nil
}

// Entry writes what ParseColumn reads.
func (l Layout) Entry(name string) string {
	if l.Chart {
		return name + "~" + chart
	}
	if l.Pinned {
		name += "~pin"
	}
	if l.Width > 0 {
		name += "~" + strconv.Itoa(l.Width)
	}
	return name
}

// Charts returns the names of the metrics that are charts among entries of [Query.Columns], and the
// other entries. It keeps entries that ParseColumn rejects.
func Charts(entries []string) (metrics, columns []string) {
	for _, entry := range entries {
		name, layout, err := ParseColumn(entry)
		metric := strings.TrimPrefix(name, metricPrefix)
		switch {
		case err != nil || !layout.Chart:
			columns = append(columns, entry)
		case !slices.Contains(metrics, metric):
			metrics = append(metrics, metric)
		}
	}
	return metrics, columns
}

// ChartEntry is the entry of [Query.Columns] for a chart of a metric. It is false for a name that an
// entry cannot contain.
func ChartEntry(metric string) (string, bool) {
	return Layout{Chart: true}.Entry(metricPrefix + metric), metric != "" && !strings.ContainsAny(metric, ",~")
}

// arrange moves pinned columns to the front.
func arrange(columns []Column) error {
	pinned := 0
	for _, c := range columns {
		if c.Layout.Pinned {
			pinned++
		}
	}
	if pinned > MaxPinned {
		message := fmt.Sprintf("A table can have at most %d pinned columns.", MaxPinned)
		return apperr.InvalidFields(message, []apperr.Field{{Path: "columns", Message: message}})
	}
	slices.SortStableFunc(columns, func(a, b Column) int {
		switch {
		case a.Layout.Pinned == b.Layout.Pinned:
			return 0
		case a.Layout.Pinned:
			return -1
		}
		return 1
	})
	return nil
}
