package form

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// choices are the entries that match a type, best first.
func (h *Forms) choices(ctx context.Context, clock ui.Clock, t *typeregistry.Type, query string, limit int) ([]forms.Choice, error) {
	entries, err := h.Catalogue.Search(ctx, catalogue.Filter{
		Kind: t.Kind, Query: query, Format: t.Params.Format, Framework: t.Params.Framework, Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	results, err := h.results(ctx, entries)
	if err != nil {
		return nil, err
	}
	out := make([]forms.Choice, 0, len(entries))
	for _, e := range entries {
		choice := forms.Choice{Value: e.Ref(), Title: e.Ref(), Source: "catalogue", Note: strings.Join(entryFacts(e), " · ")}
		if e.ArtifactID != nil {
			choice.Title, choice.Source = e.Name+" "+label.ShortID(e.ExecutionID), "earlier output"
			choice.Note = strings.Join(outputFacts(clock, e, results[e.ExecutionID]), " · ")
		}
		out = append(out, choice)
	}
	return out, nil
}

// results returns one number for each execution that produced entries: an output, or else the best
// value of a metric. It distinguishes earlier outputs of the same name.
func (h *Forms) results(ctx context.Context, entries []catalogue.Entry) (map[uuid.UUID]string, error) {
	var ids []uuid.UUID
	for _, e := range entries {
		if e.ArtifactID != nil && !slices.Contains(ids, e.ExecutionID) {
			ids = append(ids, e.ExecutionID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	outputs, err := h.Executions.Outputs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]string, len(ids))
	var rest []uuid.UUID
	for _, id := range ids {
		numbers := map[string]float64{}
		for name, value := range outputs[id] {
			number, _ := value.(json.Number)
			if f, err := number.Float64(); err == nil {
				numbers[name] = f
			}
		}
		if out[id] = figure(numbers); out[id] == "" {
			rest = append(rest, id)
		}
	}
	return out, h.bestMetrics(ctx, rest, out)
}

// seriesRead limits the series of an execution among which results looks for a metric.
const seriesRead = 50

// bestMetrics adds the best value of one metric of each execution to out. Readers without access
// to metrics get none.
func (h *Forms) bestMetrics(ctx context.Context, ids []uuid.UUID, out map[uuid.UUID]string) error {
	subject, _ := auth.SubjectOf(ctx)
	if len(ids) == 0 || !subject.May(auth.LogRead, subject.ProjectID) {
		return nil
	}
	places := make([]telemetry.Place, len(ids))
	for i, id := range ids {
		places[i] = telemetry.Place{ExecutionID: id, ProjectID: subject.ProjectID}
	}
	totals, err := h.Telemetry.Totals(ctx, telemetry.TotalsQuery{Places: places, Limit: seriesRead})
	if err != nil {
		return err
	}
	best := map[uuid.UUID]map[string]float64{}
	for _, t := range totals.List {
		value, less := float64(t.Max), search.LowerIsBetter(t.Name)
		if less {
			value = float64(t.Min)
		}
		if best[t.ExecutionID] == nil {
			best[t.ExecutionID] = map[string]float64{}
		}
		if before, known := best[t.ExecutionID][t.Name]; !math.IsNaN(value) && (!known || less == (value < before)) {
			best[t.ExecutionID][t.Name] = value
		}
	}
	for id, metrics := range best {
		if text := figure(metrics); text != "" {
			out[id] = "best " + text
		}
	}
	return nil
}

// figure shows one of several numbers: a score before a loss, and else the first by name.
func figure(numbers map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(numbers), func(a, b string) int {
		if x, y := search.LowerIsBetter(a), search.LowerIsBetter(b); x != y {
			if x {
				return 1
			}
			return -1
		}
		return cmp.Compare(a, b)
	})
	if len(names) == 0 {
		return ""
	}
	return names[0] + " " + ui.Float(numbers[names[0]])
}

// outputFacts distinguish an earlier output from those of other executions: the result, the
// time and the size.
func outputFacts(clock ui.Clock, e catalogue.Entry, result string) []string {
	var facts []string
	if result != "" {
		facts = append(facts, result)
	}
	facts = append(facts, clock.Moment(e.CreatedAt).Text)
	if e.Blob != nil && e.Blob.Size > 0 {
		facts = append(facts, units.Bytes(e.Blob.Size))
	}
	return facts
}

// entryFacts help users to choose an entry.
func entryFacts(e catalogue.Entry) []string {
	var facts []string
	if text := figure(e.Facts.Metrics); text != "" {
		facts = append(facts, text)
	}
	if e.Facts.Rows != nil {
		facts = append(facts, units.Number(*e.Facts.Rows)+" rows")
	}
	if n := len(e.Facts.Columns); n > 0 {
		facts = append(facts, units.Plural(n, "column", "columns"))
	}
	if n := len(e.Facts.Features); n > 0 {
		facts = append(facts, units.Plural(n, "feature", "features"))
	}
	for _, text := range []string{e.Framework, e.Facts.Architecture, e.Format} {
		if text != "" {
			facts = append(facts, text)
		}
	}
	if e.Blob != nil && e.Blob.Size > 0 {
		facts = append(facts, units.Bytes(e.Blob.Size))
	}
	return append(facts, e.CreatedAt.Format("2 January 2006"))
}

// preview describes the target of a reference and compares its columns with those that the
// type declares.
func (h *Forms) preview(ctx context.Context, t *typeregistry.Type, ref string) (forms.Preview, error) {
	e, err := h.Catalogue.Get(ctx, t.Kind, ref)
	if apperr.Is(err, apperr.NotFound) {
		return forms.Preview{Ref: ref, Missing: true}, nil
	}
	if err != nil {
		return forms.Preview{}, err
	}
	p := forms.Preview{Ref: e.Ref(), Facts: entryFacts(e)}
	if e.ArtifactID != nil {
		p.Ref, p.URL = e.Name, views.ArtifactURL(e.ArtifactID.String())
	}
	if t.Kind == typeregistry.KindFeatureSet {
		for _, f := range e.Facts.Features {
			p.Columns = append(p.Columns, forms.PreviewColumn{Name: f.Name, Type: f.DType})
		}
		return p, nil
	}
	compareColumns(&p, e.Facts.Columns, t.Params.Columns)
	return p, nil
}

// compareColumns lists the existing columns, then the missing ones.
func compareColumns(p *forms.Preview, there, needed []typeregistry.Column) {
	wrong := 0
	for _, c := range there {
		column := forms.PreviewColumn{Name: c.Name, Type: c.DType}
		i := slices.IndexFunc(needed, func(n typeregistry.Column) bool { return n.Name == c.Name })
		switch {
		case i < 0 && len(needed) > 0:
			column.Need = "not used"
		case i >= 0 && needed[i].DType != "" && c.DType != "" && !strings.EqualFold(needed[i].DType, c.DType):
			column.Need, column.State = "needs "+needed[i].DType, "FAILED"
			wrong++
		case i >= 0:
			column.Need, column.State = "matches", "SUCCEEDED"
		}
		p.Columns = append(p.Columns, column)
	}
	if len(there) == 0 { // its columns are unknown
		return
	}
	for _, n := range needed {
		if !slices.ContainsFunc(there, func(c typeregistry.Column) bool { return c.Name == n.Name }) {
			p.Columns = append(p.Columns, forms.PreviewColumn{Name: n.Name, Type: n.DType, Need: "missing", State: "FAILED"})
			wrong++
		}
	}
	if len(needed) > 0 {
		p.Fits, p.Bad = "schema ok", wrong > 0
	}
	if wrong > 0 {
		p.Fits = units.Plural(wrong, "column does not match", "columns do not match")
	}
}

// Env is the environment for checking the values of a launch.
func (h *Forms) Env(r *http.Request) typeregistry.Env {
	return h.Executions.Launches.Env(r.Context())
}
