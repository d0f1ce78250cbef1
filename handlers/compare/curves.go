package compare

import (
	"encoding/csv"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/curve"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	chartsShown    = 48
	curvePoints    = 1000
	exportedPoints = 10_000
)

// curves are the charts of the page. The script reads their points.
func curves(c choice, compared comparison.Comparison) views.CompareCurves {
	m := label.Curves(c.q, func(axis string) string { return c.with("x", axis) + "#curves" })
	m.Live = compared.Live
	group := c.q.Get("group")
	_, paths := comparison.Groups(compared.Rows, group)
	m.Groups = append(m.Groups, ui.Option{Name: "Each execution", Selected: group == ""})
	for _, p := range paths {
		_, name, _ := strings.Cut(p, ":")
		m.Groups = append(m.Groups, ui.Option{Value: p, Name: name, Selected: p == group})
	}
	for _, key := range []string{"executions", "baseline", "all", "stat", "x", "objective"} {
		if v := c.next("", "").Get(key); v != "" {
			m.Hidden = append(m.Hidden, [2]string{key, v})
		}
	}
	for i, name := range compared.Metrics {
		if i == chartsShown {
			m.Note = fmt.Sprintf("%d of %s metrics", chartsShown, units.Number(int64(len(compared.Metrics))))
			break
		}
		q := c.next("", "")
		q.Set("metric", name)
		m.Charts = append(m.Charts, views.CompareChart{Name: name, DataURL: views.ComparePartURL("/curves", q), CSVURL: views.ComparePartURL("/curves.csv", q)})
	}
	return m
}

// frameBody is a chart for the script. Values without a number are null.
type frameBody struct {
	X       []float64  `json:"x"`
	Exact   bool       `json:"exact"`
	Axis    string     `json:"axis"`
	Lines   []lineBody `json:"lines"`
	Of      int        `json:"of"` // how many curves there are
	Live    bool       `json:"live"`
	Partial bool       `json:"partial"` // earlier points cannot be read
	Zone    string     `json:"zone,omitempty"`
}

type lineBody struct {
	Name  string   `json:"name"`
	Run   string   `json:"run,omitempty"` // the ID of the execution; "" for a group
	Color int      `json:"color"`         // from 0; -1 is gray
	Dash  int      `json:"dash"`
	Y     figures  `json:"y"`
	Low   figures  `json:"low,omitempty"`
	High  figures  `json:"high,omitempty"`
	Last  *float64 `json:"last,omitempty"` // of all values, which y can lack
}

// figures are values with six digits, so that charts of many curves stay small.
type figures []float64

// MarshalJSON implements json.Marshaler.
func (f figures) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 10*len(f)+2)
	b = append(b, '[')
	for i, v := range f {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(b, "null"...)
			continue
		}
		b = strconv.AppendFloat(b, v, 'g', 6, 64)
	}
	return append(b, ']'), nil
}

// read reads the curves that the address selects.
func (h *Pages) read(r *http.Request, points int) (choice, comparison.Curves, error) {
	if r.URL.Query().Get(sweepKey) != "" {
		return h.readSweep(r, points)
	}
	c, err := h.choose(r)
	if err != nil {
		return c, comparison.Curves{}, err
	}
	if len(c.ids) == 0 || c.q.Get("metric") == "" {
		return c, comparison.Curves{}, apperr.New(apperr.Invalid, "Name executions and a metric.")
	}
	read, err := h.Comparison.Curves(r.Context(), comparison.CurvesRequest{
		Executions: c.texts(), Metric: c.q.Get("metric"), Axis: label.Axis(c.q.Get("x")), Points: points,
	})
	return c, read, err
}

// sweepKey is the parameter that selects the best runs of a sweep in place of executions.
const sweepKey = "sweep"

// readSweep reads the curves of the best runs of a sweep. The address stays the same while runs start and
// end. It has curves as long as the sweep can have more runs.
func (h *Pages) readSweep(r *http.Request, points int) (choice, comparison.Curves, error) {
	c := choice{q: r.URL.Query()}
	id, err := uuid.Parse(c.q.Get(sweepKey))
	if err != nil {
		return c, comparison.Curves{}, apperr.New(apperr.NotFound, "There is no sweep %q.", c.q.Get(sweepKey))
	}
	if c.q.Get("metric") == "" {
		return c, comparison.Curves{}, apperr.New(apperr.Invalid, "Name a metric.")
	}
	charted, err := h.Sweeps.Charted(r.Context(), id, comparison.Most)
	if err != nil {
		return c, comparison.Curves{}, err
	}
	c.ids = charted.Executions
	if len(c.ids) == 0 {
		return c, comparison.Curves{Live: !charted.Ended}, nil
	}
	read, err := h.Comparison.Curves(r.Context(), comparison.CurvesRequest{
		Executions: c.texts(), Metric: c.q.Get("metric"), Axis: label.Axis(c.q.Get("x")), Points: points,
	})
	read.Together, read.Live = charted.All, read.Live || !charted.Ended
	return c, read, err
}

// curves sends the curves of one metric to the script of the page.
func (h *Pages) curves(w http.ResponseWriter, r *http.Request) error {
	c, read, err := h.read(r, curvePoints)
	if err != nil {
		return err
	}
	var keys []string
	if group := c.q.Get("group"); group != "" {
		if keys, err = h.Comparison.Keys(r.Context(), c.texts(), group); err != nil {
			return err
		}
	}
	web.WriteJSON(w, http.StatusOK, "application/json", bodyOf(read.Frame(curvePoints, keys), read, c, h.Page.Clock(r).Zone))
	return nil
}

func bodyOf(f curve.Frame, read comparison.Curves, c choice, zone *time.Location) frameBody {
	b := frameBody{X: f.X, Exact: f.Exact, Axis: string(label.Axis(c.q.Get("x"))), Of: read.Of, Live: read.Live, Partial: read.Partial, Lines: make([]lineBody, 0, len(f.Lines)), Zone: zone.String()}
	if b.X == nil {
		b.X = []float64{}
	}
	for _, l := range f.Lines {
		line := lineBody{Name: l.Name, Color: l.Color, Dash: l.Dash, Y: l.Y, Low: l.Low, High: l.High}
		if !math.IsNaN(l.Last) && !math.IsInf(l.Last, 0) {
			line.Last = &l.Last
		}
		if l.High == nil {
			line.Run = c.ids[l.Index].String()
		}
		b.Lines = append(b.Lines, line)
	}
	return b
}

// curvesCSV sends the points of the curves of one metric.
func (h *Pages) curvesCSV(w http.ResponseWriter, r *http.Request) error {
	c, read, err := h.read(r, exportedPoints)
	if err != nil {
		return err
	}
	axis := string(label.Axis(c.q.Get("x")))
	if axis != "step" {
		axis += "_seconds"
	}
	rows := [][]string{{"execution", "node", "attempt", "tags", axis, "value"}}
	name := "curves.csv"
	for _, one := range read.Curves {
		if len(one.Points) >= exportedPoints {
			name = "curves-downsampled.csv"
		}
		var tags []string
		for _, k := range label.SortedKeys(one.Tags) {
			tags = append(tags, k+"="+one.Tags[k])
		}
		for _, p := range one.Points {
			rows = append(rows, []string{
				one.Execution.String(), content.CSVText(one.Node), strconv.Itoa(one.Attempt), content.CSVText(strings.Join(tags, " ")),
				strconv.FormatFloat(p.X, 'f', -1, 64), strconv.FormatFloat(p.Y, 'g', -1, 64),
			})
		}
	}
	return sendCSV(w, name, rows)
}

// tableCSV sends the table; the executions are its columns.
func (h *Pages) tableCSV(w http.ResponseWriter, r *http.Request) error {
	c, err := h.choose(r)
	if err != nil {
		return err
	}
	compared, err := h.Comparison.Compare(r.Context(), c.refs, c.baseline)
	if err != nil {
		return err
	}
	head := []string{"section", "path", "statistic", "differs"}
	for _, e := range compared.Executions {
		head = append(head, e.ID.String())
	}
	rows := [][]string{head}
	for _, row := range compared.Rows {
		if c.q.Get("all") == "" && !row.Differs {
			continue
		}
		line := []string{string(row.Section), content.CSVText(row.Path), string(row.Statistic), strconv.FormatBool(row.Differs)}
		for _, cell := range row.Cells {
			text := ""
			if cell.Present {
				text = exportText(cell)
			}
			line = append(line, text)
		}
		rows = append(rows, line)
	}
	return sendCSV(w, "comparison.csv", rows)
}

// exportText is a value in a file.
func exportText(c sheet.Cell) string {
	text := sheet.Text(c.Value)
	if m, ok := c.Value.(map[string]any); ok && m["sha256"] != nil {
		text = fmt.Sprint(m["sha256"])
	}
	if _, isNumber := sheet.Number(c.Value); isNumber {
		return text
	}
	return content.CSVText(text)
}

func sendCSV(w http.ResponseWriter, name string, rows [][]string) error {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment; filename="+name)
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("send %s: %w", name, err)
	}
	return nil
}
