package metaflowruns

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const runPageSize = 50

// runs lists runs of all flows; its filters are all in the URL.
func (h *Pages) runs(w http.ResponseWriter, r *http.Request) error {
	q, clock := r.URL.Query(), h.Page.Clock(r)
	found, next, err := h.Records.FindRuns(r.Context(), runFilter(q))
	if err != nil {
		return err
	}
	m := views.MetaflowRuns{
		Page:  h.Page.Base(r, "Metaflow", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}),
		Query: q.Get("q"), User: q.Get("user"), Tag: q.Get("tag"), States: stateOptions(q.Get("status")), Chips: chips(q), ClearURL: views.MetaflowRunsURL(),
	}
	for _, run := range found {
		m.Rows = append(m.Rows, RowOf(clock, run))
	}
	m.Pager = ui.Pager{Text: units.Plural(len(m.Rows), "run", "runs")}
	if next != "" {
		m.Pager.Older = label.ListURL(views.MetaflowRunsURL(), q, "after", next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(views.MetaflowRunsURL(), q, "after", "")
	} else if len(found) > 0 {
		m.Stream = label.ListURL(views.MetaflowRunsURL()+"/stream", q, "top", m.Rows[0].Number)
	}
	return web.Render(w, r, http.StatusOK, views.MetaflowRunsPage(m))
}

func runFilter(q url.Values) metaflow.RunFilter {
	return metaflow.RunFilter{Text: q.Get("q"), User: q.Get("user"), Tag: q.Get("tag"), Status: q.Get("status"), After: q.Get("after"), Limit: runPageSize}
}

func stateOptions(chosen string) []ui.Option {
	options := []ui.Option{{Name: "Any state", Selected: chosen == ""}}
	for _, status := range []string{metaflow.Running, metaflow.Completed, metaflow.Failed} {
		options = append(options, ui.Option{Value: status, Name: ui.Word(string(stateOf(status))), Selected: status == chosen})
	}
	return options
}

// stateOf is the displayed state of a status of a run.
func stateOf(status string) dag.State {
	switch status {
	case metaflow.Completed:
		return dag.Succeeded
	case metaflow.Failed:
		return dag.Failed
	}
	return dag.Running
}

// chips lists the active filters, each with a link to the list without it.
func chips(q url.Values) []views.Chip {
	var out []views.Chip
	for _, f := range []struct{ key, name string }{{"q", "Text"}, {"user", "User"}, {"tag", "Tag"}, {"status", "State"}} {
		value := q.Get(f.key)
		if value == "" {
			continue
		}
		if f.key == "status" {
			value = ui.Word(string(stateOf(value)))
		}
		out = append(out, views.Chip{Name: f.name, Value: value, RemoveURL: label.ListURL(views.MetaflowRunsURL(), q, f.key, "")})
	}
	return out
}

// RowOf is a run as lists show it.
func RowOf(clock ui.Clock, r metaflow.RunSummary) views.MetaflowRunRow {
	run := r.RunNumber.String()
	row := views.MetaflowRunRow{
		Number: strconv.FormatInt(r.RunNumber.Number, 10), Flow: r.FlowID, Run: run, URL: views.MetaflowRunURL(r.FlowID, run),
		State: string(stateOf(r.Status)), User: r.User, Started: clock.Moment(time.UnixMilli(r.TSEpoch)),
	}
	row.Took, row.Since = took(clock, r)
	for _, tag := range r.Tags {
		row.Tags = append(row.Tags, views.Tag{Name: tag, URL: tagURL(tag)})
	}
	return row
}

// tagURL lists the runs with a tag.
func tagURL(tag string) string { return label.ListURL(views.MetaflowRunsURL(), nil, "tag", tag) }

// took is the duration of a run and, while it is running, its start.
func took(clock ui.Clock, r metaflow.RunSummary) (text, since string) {
	start := time.UnixMilli(r.TSEpoch)
	if r.Status == metaflow.Running {
		return units.Duration(clock.Now.Sub(start)), start.UTC().Format(time.RFC3339)
	}
	return units.Duration(time.UnixMilli(r.LastEpoch()).Sub(start)), ""
}

// runsStream sends changed rows and the number of new runs.
func (h *Pages) runsStream(w http.ResponseWriter, r *http.Request) error {
	q, clock, sent := r.URL.Query(), h.Page.Clock(r), page.SentPieces{}
	top, err := strconv.ParseInt(q.Get("top"), 10, 64)
	if err != nil {
		return apperr.New(apperr.Invalid, "top: enter the number of a run, not %q.", q.Get("top"))
	}
	filter := runFilter(q)
	if _, _, err := h.Records.FindRuns(r.Context(), filter); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	q.Del("top")
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		found, _, err := h.Records.FindRuns(ctx, filter)
		if err != nil {
			return err
		}
		clock.Now = h.Now()
		var rows []views.MetaflowRunRow
		news := views.NewExecutions{URL: label.ListURL(views.MetaflowRunsURL(), q, "after", "")}
		for _, run := range found {
			if run.RunNumber.Number > top {
				news.Count++
				continue
			}
			row := RowOf(clock, run)
			still := row
			if still.Since != "" {
				still.Took = ""
			}
			if sent.Changed(row.Number, still) {
				rows = append(rows, row)
			}
		}
		if !sent.Changed("news", news.Count) && len(rows) == 0 {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.MetaflowRunsUpdate(rows, news))
	})
	return nil
}
