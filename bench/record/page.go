package record

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed page.html
var pageSource string

// Size of the charts, in units of their view boxes.
const (
	chartLeft, chartRight = 48.0, 302.0
	chartTop, chartBottom = 12.0, 100.0
)

// page is the data of page.html.
type page struct {
	Last   Run
	Slower []Change
	Cases  []pageCase
	Rows   []pageRow // latest first
}

// pageCase is a case of the last run with its curve.
type pageCase struct {
	Case
	Least, Greatest float64 // of the last run
	Most            float64 // of the axis
	Points          []point
}

// point is the median of a run, and its range from Top to Bottom.
type point struct {
	X, Y, Top, Bottom float64
	Title             string
}

type pageRow struct {
	Run     Run
	Medians []string // one of each case of the last run; "–" if the run did not measure it
}

// WritePage draws the runs on the kind of machine of the last one.
func WritePage(w io.Writer, runs []Run) error {
	if len(runs) == 0 {
		return fmt.Errorf("there are no runs to draw")
	}
	last := runs[len(runs)-1]
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool {
		return r.Benchmark != last.Benchmark || !r.Machine.Same(last.Machine)
	})
	p := page{Last: last}
	if before, ok := Previous(runs, last); ok {
		p.Slower = slices.DeleteFunc(Compare(before, last), func(c Change) bool { return !c.Slower() })
	}
	for _, c := range last.Cases {
		p.Cases = append(p.Cases, curve(c, runs))
	}
	for _, r := range slices.Backward(runs) {
		row := pageRow{Run: r}
		for _, c := range last.Cases {
			text := "–"
			if earlier, ok := r.Case(c.Name); ok && earlier.Unit == c.Unit && len(earlier.Values) > 0 {
				text = formatValue(earlier.Median())
			}
			row.Medians = append(row.Medians, text)
		}
		p.Rows = append(p.Rows, row)
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"time":    formatTime,
		"value":   formatValue,
		"percent": func(part float64) string { return fmt.Sprintf("%.1f %%", part*100) },
	}).Parse(pageSource)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}

// curve places the medians of a case in the chart, from 0 to the largest value of all runs.
func curve(c Case, runs []Run) pageCase {
	drawn := pageCase{Case: c}
	drawn.Least, drawn.Greatest = c.Range()
	for _, r := range runs {
		if earlier, ok := r.Case(c.Name); ok && earlier.Unit == c.Unit {
			_, most := earlier.Range()
			drawn.Most = max(drawn.Most, most)
		}
	}
	y := func(v float64) float64 {
		if drawn.Most == 0 {
			return chartBottom
		}
		return chartBottom - (chartBottom-chartTop)*v/drawn.Most
	}
	for i, r := range runs {
		earlier, ok := r.Case(c.Name)
		if !ok || earlier.Unit != c.Unit || len(earlier.Values) == 0 {
			continue
		}
		x := (chartLeft + chartRight) / 2
		if len(runs) > 1 {
			x = chartLeft + (chartRight-chartLeft)*float64(i)/float64(len(runs)-1)
		}
		least, most := earlier.Range()
		drawn.Points = append(drawn.Points, point{
			X: x, Y: y(earlier.Median()), Top: y(most), Bottom: y(least),
			Title: fmt.Sprintf("%s, %s: %s %s", formatTime(r.At), r.Commit, formatValue(earlier.Median()), c.Unit),
		})
	}
	return drawn
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func formatValue(v float64) string { return fmt.Sprintf("%.4g", v) }
