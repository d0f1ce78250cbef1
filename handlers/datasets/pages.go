// Package datasets contains the pages of datasets and feature sets: the lists, one version, and the
// forms of both.
package datasets

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Log      *slog.Logger
	Datasets *dataset.Service
	Lineage  *lineage.Service
	Page     *page.Shell
}

// Pages are the pages of datasets and feature sets. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	for _, k := range []typeregistry.Kind{typeregistry.KindDataset, typeregistry.KindFeatureSet} {
		s := shelf{h, k}
		path := views.DatasetsURL(string(k))
		r.Get(path, h.Page.Serve(s.list))
		r.Get(path+"/{name}", h.Page.Serve(s.one))
		r.Get(path+"/{name}/state", h.Page.Serve(s.state))
		r.Post(path+"/{name}/aliases", h.Page.Serve(s.alias))
		r.Post(path+"/{name}/statistics", h.Page.Serve(s.compute))
	}
}

// shelf has the pages of one kind.
type shelf struct {
	*Pages

	kind typeregistry.Kind
}

// title is the kind in words.
func (s shelf) title() string {
	if s.kind == typeregistry.KindFeatureSet {
		return "Feature sets"
	}
	return "Datasets"
}

func (s shelf) noun() string {
	return strings.TrimSuffix(strings.ToLower(s.title()), "s")
}

func (s shelf) list(w http.ResponseWriter, r *http.Request) error {
	q, clock := r.URL.Query(), s.Page.Clock(r)
	list, next, err := s.Datasets.List(r.Context(), s.kind, q.Get("q"), q.Get("after"))
	if err != nil {
		return err
	}
	m := views.Datasets{
		Page: s.Page.Base(r, s.title(), views.SectionDatasets), Kind: string(s.kind), Query: q.Get("q"),
		Tabs: []ui.Tab{
			{Name: "Datasets", URL: views.DatasetsURL("Dataset"), Current: s.kind == typeregistry.KindDataset},
			{Name: "Feature sets", URL: views.DatasetsURL("FeatureSet"), Current: s.kind == typeregistry.KindFeatureSet},
		},
	}
	for _, d := range list {
		row := views.DatasetRow{
			Name: d.Name, URL: views.DatasetURL(string(s.kind), d.Name, ""), Newest: d.Newest, Versions: units.Number(int64(d.Versions)),
			Rows: rowCount(d.Rows), NewestAt: clock.Moment(d.NewestAt),
		}
		if row.Columns = "–"; d.Columns > 0 {
			row.Columns = units.Number(d.Columns)
		}
		m.Rows = append(m.Rows, row)
	}
	url := views.DatasetsURL(string(s.kind))
	m.Pager = ui.Pager{Text: units.Plural(len(m.Rows), s.noun(), strings.ToLower(s.title())), InOrder: true}
	if next != "" {
		m.Pager.Older = label.ListURL(url, q, "after", next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(url, q, "after", "")
	}
	return web.Render(w, r, http.StatusOK, views.DatasetsPage(m))
}

func rowCount(n int64) string {
	if n < 0 {
		return "–"
	}
	return units.Number(n)
}

// form reads a form.
func (s shelf) form(r *http.Request) (name string, sent url.Values, err error) {
	if err := r.ParseForm(); err != nil {
		return "", nil, apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	return request.PathValue(r, "name"), r.PostForm, nil
}

// answer redirects to the version, or shows it again with the values that were refused.
func (s shelf) answer(w http.ResponseWriter, r *http.Request, version, done string, err error, t typed) error {
	name := request.PathValue(r, "name")
	if err == nil {
		q := url.Values{"version": {version}, "done": {done}}
		http.Redirect(w, r, views.DatasetURL(string(s.kind), name, "")+"?"+q.Encode(), http.StatusSeeOther)
		return nil
	}
	code := apperr.CodeOf(err)
	if code != apperr.Invalid && code != apperr.Conflict {
		return err
	}
	t.failed = apperr.MessageOf(err)
	for _, f := range apperr.FieldsOf(err) {
		t.failed = f.Message
	}
	return s.render(w, r, web.Status(code), version, t)
}

func (s shelf) alias(w http.ResponseWriter, r *http.Request) error {
	name, sent, err := s.form(r)
	if err != nil {
		return err
	}
	version, alias := sent.Get("version"), sent.Get("alias")
	if sent.Has("remove") {
		return s.answer(w, r, version, "alias", s.Datasets.RemoveAlias(r.Context(), s.kind, name, alias), typed{})
	}
	return s.answer(w, r, version, "alias", s.Datasets.SetAlias(r.Context(), s.kind, name, alias, version), typed{alias: alias})
}

func (s shelf) compute(w http.ResponseWriter, r *http.Request) error {
	name, sent, err := s.form(r)
	if err != nil {
		return err
	}
	version := sent.Get("version")
	return s.answer(w, r, version, "statistics", s.Datasets.Refresh(r.Context(), s.kind, name+"@"+version), typed{})
}

// state responds to a page that waits for statistics: with the same state, or with the
// instruction to reload.
func (s shelf) state(w http.ResponseWriter, r *http.Request) error {
	name, version := request.PathValue(r, "name"), r.URL.Query().Get("version")
	e, stats, err := s.Datasets.Statistics(r.Context(), s.kind, ref(name, version))
	if err != nil {
		return err
	}
	m := views.Dataset{Version: e.Version, FormURL: views.DatasetURL(string(s.kind), name, "")}
	if stats.State != dataset.Waiting {
		w.Header().Set("HX-Refresh", "true")
		return web.Render(w, r, http.StatusOK, views.DatasetState(m))
	}
	m.Waiting = s.stateURL(name, e.Version)
	return web.Render(w, r, http.StatusOK, views.DatasetState(m))
}

func (s shelf) stateURL(name, version string) string {
	return views.DatasetFormURL(string(s.kind), name, "state") + "?" + url.Values{"version": {version}}.Encode()
}

// ref is a reference to a version; "" is the newest one.
func ref(name, version string) string {
	if version == "" {
		return name
	}
	return name + "@" + version
}
