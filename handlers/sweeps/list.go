package sweeps

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const sweepsShown = 50

// list lists the sweeps of the project.
func (h *Pages) list(w http.ResponseWriter, r *http.Request) error {
	m, err := h.sweeps(r.Context(), h.Page.Clock(r), r.URL.Query())
	if err != nil {
		return err
	}
	m.Page = h.Page.Base(r, "Sweeps", views.SectionSweeps)
	return web.Render(w, r, http.StatusOK, views.SweepsPage(m))
}

// sweeps is a page of the list.
func (h *Pages) sweeps(ctx context.Context, clock ui.Clock, q url.Values) (views.Sweeps, error) {
	filter := sweep.Listed{State: sweep.State(q.Get("state")), Limit: sweepsShown}
	if filter.State != "" && !slices.Contains(states(), filter.State) {
		return views.Sweeps{}, apperr.New(apperr.Invalid, "%q is not a state of sweeps.", q.Get("state"))
	}
	if text := q.Get("before"); text != "" {
		id, err := uuid.Parse(text)
		if err != nil {
			return views.Sweeps{}, apperr.New(apperr.Invalid, "%q is not the ID of a sweep.", text)
		}
		filter.Before = &id
	}
	found, next, err := h.Sweeps.List(ctx, filter)
	if err != nil {
		return views.Sweeps{}, err
	}
	m := views.Sweeps{Any: filter.State == "", Pager: ui.Pager{Text: units.Plural(len(found), "sweep", "sweeps")}}
	for _, s := range found {
		m.Rows = append(m.Rows, row(clock, s))
		if !s.State.Ended() {
			m.Stream = views.SweepsURL() + "/stream?" + q.Encode()
		}
	}
	with := func(key, value string) string {
		next := url.Values{}
		if filter.State != "" && key != "state" {
			next.Set("state", string(filter.State))
		}
		if value != "" {
			next.Set(key, value)
		}
		return views.SweepsQueryURL(next)
	}
	if next != nil {
		m.Pager.Older = with("before", next.String())
	}
	if filter.Before != nil {
		m.Pager.Newer = with("before", "")
	}
	m.States = append(m.States, ui.Choice{Name: "All", URL: with("state", ""), Current: filter.State == ""})
	for _, s := range states() {
		m.States = append(m.States, ui.Choice{Name: label.SweepState(s).Word, URL: with("state", string(s)), Current: filter.State == s})
	}
	return m, nil
}

func states() []sweep.State {
	return []sweep.State{sweep.Running, sweep.Paused, sweep.Stopping, sweep.Succeeded, sweep.Stopped}
}

// listStream updates the list while a sweep on it can change.
func (h *Pages) listStream(w http.ResponseWriter, r *http.Request) error {
	if _, err := h.sweeps(r.Context(), h.Page.Clock(r), r.URL.Query()); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	clock, sent := h.Page.Clock(r), page.SentPieces{}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		clock.Now = h.Now()
		m, err := h.sweeps(ctx, clock, r.URL.Query())
		if err != nil || !sent.Changed("list", m) {
			return err
		}
		return stream.SendComponent(ctx, "", "", views.SweepsUpdate(m))
	})
	return nil
}

func row(clock ui.Clock, s sweep.Sweep) views.SweepRow {
	r := views.SweepRow{
		ID: s.ID.String(), URL: views.SweepURL(s.ID.String()), Name: s.Name, State: label.SweepState(s.State), Workflow: s.WorkflowName + " " + s.Version,
		Method: methodName(s.Method), Varies: varies(s.Space), Progress: label.SweepBar(s), Runs: units.Number(int64(s.Counts.Ended())) + " of " + units.Number(int64(s.Planned)),
		Created: clock.Moment(s.CreatedAt), By: s.CreatedBy.Name,
	}
	if s.Objective != nil {
		r.Objective = s.Objective.Name()
	}
	if s.Best != nil && s.Best.Objective != nil && s.Best.ExecutionID != nil {
		r.Best, r.BestURL = ui.Float(*s.Best.Objective), views.ExecutionURL(s.Best.ExecutionID.String())
	}
	return r
}

// variesShown is the number of inputs that a row names.
const variesShown = 4

// varies names the inputs that a space varies.
func varies(parameters []space.Parameter) string {
	if len(parameters) == 0 { // the stored space cannot be read
		return "unknown inputs"
	}
	var names []string
	short := shortNames(parameters)
	for i, p := range parameters {
		if i == variesShown {
			names = append(names, units.Number(int64(len(parameters)-i))+" more")
			break
		}
		names = append(names, short[p.Path])
	}
	return strings.Join(names, ", ")
}

// shortNames are the ends of the paths of parameters, or the paths where several end alike.
func shortNames(parameters []space.Parameter) map[string]string {
	end := func(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
	count := map[string]int{}
	for _, p := range parameters {
		count[end(p.Path)]++
	}
	out := map[string]string{}
	for _, p := range parameters {
		if out[p.Path] = end(p.Path); count[end(p.Path)] > 1 {
			out[p.Path] = p.Path
		}
	}
	return out
}

func methodName(m sweep.Method) string {
	switch m {
	case sweep.Grid:
		return "Grid"
	case sweep.Random:
		return "Random"
	case sweep.Sobol:
		return "Sobol"
	case sweep.TPE:
	}
	return "TPE"
}
