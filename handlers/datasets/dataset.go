package datasets

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// typed contains the submitted values of a refused form.
type typed struct{ failed, alias string }

const (
	sampleRows    = 20
	sampleColumns = 20
	cellRunes     = 120
)

func (s shelf) one(w http.ResponseWriter, r *http.Request) error {
	return s.render(w, r, http.StatusOK, r.URL.Query().Get("version"), typed{})
}

// render shows a version; "" is the newest one.
func (s shelf) render(w http.ResponseWriter, r *http.Request, status int, version string, t typed) error {
	ctx, q := r.Context(), r.URL.Query()
	name := request.PathValue(r, "name")
	d, err := s.Datasets.Get(ctx, s.kind, name, q.Get("after"))
	if err != nil {
		return err
	}
	change, err := s.Datasets.Compare(ctx, s.kind, ref(name, version), q.Get("against"))
	if err != nil {
		return err
	}
	x := &shown{kind: s.kind, dataset: d, change: change, q: q, clock: s.Page.Clock(r)}
	e := change.Now
	m := views.Dataset{
		Page: s.Page.Base(r, name, views.SectionDatasets, views.Crumb{Name: s.title(), URL: views.DatasetsURL(string(s.kind))}),
		Kind: string(s.kind), Name: name, Version: e.Version, Description: e.Description, Failed: t.failed, Done: doneWords(q.Get("done")), Alias: t.alias,
		FormURL: views.DatasetURL(string(s.kind), name, ""), By: e.CreatedBy, At: x.clock.Moment(e.CreatedAt),
		Choose: x.choose(), Against: x.against(), Tiles: x.tiles(), Columns: x.columns(), Drift: x.drift(), Facts: x.facts(),
	}
	x.links(&m)
	x.versions(&m)
	s.status(&m, x)
	if err := s.neighbours(r, &m, x); err != nil {
		return err
	}
	if e.Blob != nil && change.NowStats.State != dataset.Failed {
		m.Preview = s.sample(r, e)
	}
	return web.Render(w, r, status, views.DatasetPage(m))
}

// status reports whether there are statistics.
func (s shelf) status(m *views.Dataset, x *shown) {
	stats := x.change.NowStats
	switch stats.State {
	case dataset.Waiting:
		m.Waiting = s.stateURL(m.Name, m.Version)
	case dataset.Failed, dataset.Absent:
		m.Problem = stats.Problem
		if x.dataset.MayChange && x.change.Now.Blob != nil {
			m.ComputeURL = views.DatasetFormURL(string(s.kind), m.Name, "statistics")
		}
	case dataset.Ready:
	}
}

func doneWords(done string) string {
	return map[string]string{"alias": "The aliases were changed.", "statistics": "The statistics are being recomputed."}[done]
}

// shown turns a version into what its page shows.
type shown struct {
	kind    typeregistry.Kind
	dataset dataset.Dataset
	change  dataset.Change
	q       url.Values
	clock   ui.Clock
}

func (x *shown) url(version string) string {
	return views.DatasetURL(string(x.kind), x.dataset.Name, version)
}

// with is the address of the version with one more value.
func (x *shown) with(key, value string) string {
	v := url.Values{"version": {x.change.Now.Version}}
	if against := x.q.Get("against"); against != "" {
		v.Set("against", against)
	}
	v.Set(key, value)
	return x.url("") + "?" + v.Encode()
}

// choose lists the versions that can be shown, including a selected one that is not among the
// newest.
func (x *shown) choose() []ui.Option {
	var options []ui.Option
	current := x.change.Now.Version
	known := false
	for i, v := range x.dataset.Versions {
		o := ui.Option{Value: v.Version, Name: "version " + v.Version, Selected: v.Version == current}
		if i == 0 && x.q.Get("after") == "" {
			o.Name += ", newest"
		}
		known = known || o.Selected
		options = append(options, o)
	}
	if !known {
		options = append(options, ui.Option{Value: current, Name: "version " + current, Selected: true})
	}
	return options
}

func (x *shown) against() []ui.Option {
	if len(x.dataset.Versions) < 2 {
		return nil
	}
	var options []ui.Option
	for _, v := range x.dataset.Versions {
		if v.Version != x.change.Now.Version {
			options = append(options, ui.Option{Value: v.Version, Name: "version " + v.Version, Selected: v.Version == x.change.Before.Version})
		}
	}
	return options
}

func (x *shown) links(m *views.Dataset) {
	e := x.change.Now
	m.Links = []ui.Action{{Name: "Lineage", Icon: "flow", URL: x.lineage()}}
	if x.kind == typeregistry.KindDataset {
		m.Python = fmt.Sprintf("import flowforge\n\ndata = flowforge.dataset(%q).load()\n", e.Ref())
	}
	if e.Blob != nil {
		shelf := "/api/v1/datasets/"
		if x.kind == typeregistry.KindFeatureSet {
			shelf = "/api/v1/feature-store/feature-sets/"
		}
		m.Links = append(m.Links, ui.Action{Name: "Download", Icon: "down", URL: shelf + url.PathEscape(e.Ref()) + "/download"})
	}
	if e.From != nil {
		m.MadeBy, m.MadeByURL = "an artifact", views.ArtifactURL(e.From.String())
	}
	for _, a := range x.dataset.Aliases {
		row := views.ModelAlias{Name: a.Name, Version: a.Version, URL: x.url(a.Version)}
		if x.dataset.MayChange {
			row.RemoveURL = views.DatasetFormURL(string(x.kind), m.Name, "aliases")
		}
		m.Aliases = append(m.Aliases, row)
	}
	if x.dataset.MayChange {
		m.AliasURL = views.DatasetFormURL(string(x.kind), m.Name, "aliases")
	}
}

func (x *shown) lineage() string {
	kind := "dataset:"
	if x.kind == typeregistry.KindFeatureSet {
		kind = "feature-set:"
	}
	return views.LineageURL(kind+x.change.Now.Ref(), nil)
}

func (x *shown) versions(m *views.Dataset) {
	for _, v := range x.dataset.Versions {
		row := views.DatasetVersionRow{
			Version: v.Version, URL: x.url(v.Version), Rows: rowCount(v.Rows), Size: "–", Statistics: stateWord(v.State), By: v.CreatedBy, Aliases: v.Aliases,
			At: x.clock.Moment(v.CreatedAt), Current: v.Version == x.change.Now.Version,
		}
		if v.Blob != nil {
			row.Size = units.Bytes(v.Blob.Size)
		}
		if !row.Current {
			row.CompareURL = x.url("") + "?" + url.Values{"version": {x.change.Now.Version}, "against": {v.Version}}.Encode()
		}
		m.Versions = append(m.Versions, row)
	}
	m.Older.Text = units.Plural(len(m.Versions), "version", "versions")
	if x.dataset.More != "" {
		m.Older.Older = x.with("after", x.dataset.More)
	}
	if x.q.Get("after") != "" {
		m.Older.Newer = x.url(x.change.Now.Version)
	}
}

func stateWord(s dataset.State) string {
	return map[dataset.State]string{dataset.Waiting: "Being computed", dataset.Ready: "Ready", dataset.Failed: "None", dataset.Absent: "None"}[s]
}

func (x *shown) facts() []ui.Fact {
	e := x.change.Now
	facts := []ui.Fact{{Name: "Reference", Value: e.Ref(), Mono: true, Copy: e.Ref()}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, ui.Fact{Name: name, Value: value})
		}
	}
	if e.Blob != nil {
		add("File", e.Blob.Filename)
		add("Size", units.Bytes(e.Blob.Size))
		facts = append(facts, ui.Fact{Name: "SHA-256", Value: ui.Short(e.Blob.SHA256, 16), Mono: true, Copy: e.Blob.SHA256})
	}
	add("Location", e.Facts.URI)
	add("Partitioned by", strings.Join(e.Facts.Partitioning, ", "))
	add("Entity key", e.Facts.EntityKey)
	add("Timestamp key", e.Facts.TimestampKey)
	add("Tags", strings.Join(e.Tags, ", "))
	for _, name := range slices.Sorted(maps.Keys(e.Facts.Metadata)) {
		add(name, valueText(e.Facts.Metadata[name]))
	}
	return facts
}

// format is the format of a version in words.
func format(e catalogue.Entry) string {
	ending := e.Format
	if ending == "" && e.Blob != nil {
		ending = strings.TrimPrefix(path.Ext(e.Blob.Filename), ".")
	}
	switch strings.ToLower(ending) {
	case "parquet", "pq":
		return "Parquet"
	case "csv", "tsv":
		return strings.ToUpper(ending)
	}
	return ending
}

// sample reads the first rows.
func (s shelf) sample(r *http.Request, e catalogue.Entry) *views.DataSample {
	t, err := s.Datasets.Rows(r.Context(), e, preview.Query{Limit: sampleRows, Columns: sampleColumns})
	if err != nil {
		if apperr.CodeOf(err) == apperr.Internal {
			s.Log.Error("a dataset cannot be previewed", "entry", e.ID, "error", err)
		}
		return &views.DataSample{Problem: apperr.MessageOf(err)}
	}
	p := &views.DataSample{Note: "First " + units.Plural(len(t.Rows), "row", "rows")}
	if len(t.Shown) < len(t.Columns) {
		p.Note += ", " + units.Number(int64(len(t.Shown))) + " of " + units.Plural(len(t.Columns), "column", "columns")
	}
	if e.From != nil {
		p.OpenURL = views.ArtifactURL(e.From.String())
	}
	for _, i := range t.Shown {
		c := t.Columns[i]
		p.Columns = append(p.Columns, views.DataColumn{Name: c.Name, Type: string(c.Type), Number: c.Type.Numeric()})
	}
	for _, row := range t.Rows {
		cells := make([]views.DataCell, len(row))
		for i, v := range row {
			cells[i] = views.DataCell{Text: ui.Short(preview.Text(v), cellRunes), Null: v == nil}
		}
		p.Rows = append(p.Rows, cells)
	}
	return p
}
