package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// sweepPages are the forms of sweeps. Their inputs are those of the launch form.
type sweepPages struct{ *Pages }

// mountUploads adds the routes with large bodies.
func (h *sweepPages) mountUploads(r chi.Router) {
	h.Leader.Prefers(r).Post("/workflows/{name}/sweep", h.Page.Serve(h.sweep)) // with files
}

func (h *sweepPages) mount(r chi.Router) {
	h.Leader.Prefers(r).Get("/workflows/{name}/sweep", h.Page.Serve(h.sweepForm))
	r.Get("/sweeps/{sweep}/change", h.Page.Serve(h.sweepChangeForm))
	r.Post("/sweeps/{sweep}/change", h.Page.Serve(h.sweepChange))
}

// sweepForm draws the form that launches a sweep, filled in like the launch form. A link can name a
// sweep whose space and search the form takes over.
func (h *sweepPages) sweepForm(w http.ResponseWriter, r *http.Request) error {
	d, err := h.newDraft(r, r.URL.Query().Get("version"))
	if err != nil {
		return err
	}
	if err := h.prefill(r, d); err != nil {
		return err
	}
	if like := r.URL.Query().Get("like"); like != "" {
		id, err := uuid.Parse(like)
		if err != nil {
			return apperr.New(apperr.NotFound, "There is no sweep %q.", like)
		}
		sw, err := h.Sweeps.Get(r.Context(), id)
		if err != nil {
			return err
		}
		d.name, d.options.tags, d.options.note = sw.Name, sw.Tags, sw.Note
		d.values = d.schema.EncodeForm(known(d.schema, sw.Inputs), forms.Prefix)
		d.kept = d.newSweepDraft(h.Forms.Env(r)).fill(sw)
		d.origin = &views.Provenance{From: "Filled in from the sweep “" + sw.Name + "”.", URL: views.SweepURL(sw.ID.String()), Reset: views.SweepLaunchURL(d.ref)}
	}
	return h.renderSweep(w, r, http.StatusOK, d)
}

// known are the inputs that a schema declares.
func known(schema typeregistry.Schema, inputs map[string]any) map[string]any {
	out := map[string]any{}
	for _, f := range schema.Fields {
		if v, ok := inputs[f.Name]; ok {
			out[f.Name] = v
		}
	}
	return out
}

// sweep handles the form: it changes it, checks it, or creates the sweep.
func (h *sweepPages) sweep(w http.ResponseWriter, r *http.Request) error {
	sent, err := h.Forms.Read(w, r, h.formSchema)
	if err != nil {
		return err
	}
	d, err := h.newDraft(r, sent.Get("version"))
	if err != nil {
		return err
	}
	d.take(sent)
	if d.mode != views.LaunchForm { // the form of a sweep has no other view
		d.show(views.LaunchForm, h.Forms.Env(r))
	}
	if sent.Has("$panel") {
		s, err := h.estimated(r, d)
		if err != nil {
			return err
		}
		return web.Render(w, r, http.StatusOK, views.SweepParts(s, h.form(r, d, nil).States()))
	}
	if err := h.keepSecrets(r, d); err != nil {
		return err
	}
	switch {
	case sent.Has("$save_preset"), sent.Has("$update_preset"):
		status, err := h.savePreset(r, d, sent.Get("$update_preset"))
		if err != nil {
			return err
		}
		return h.renderSweep(w, r, status, d)
	case len(d.spoolFull) > 0:
		d.fail(d.spoolFull)
		return h.renderSweep(w, r, http.StatusUnprocessableEntity, d)
	case sent.Has("$sweep"), sent.Has("$version"), sent.Has("$restored"), sent.Has("$view"), d.edit():
		return h.renderSweep(w, r, http.StatusOK, d)
	}
	return h.createSweep(w, r, d, sent.Has("$check"))
}

// createSweep creates the sweep, or responds with the form and its errors. It only checks if asked to.
func (h *sweepPages) createSweep(w http.ResponseWriter, r *http.Request, d *draft, only bool) error {
	s := d.newSweepDraft(h.Forms.Env(r))
	spec, problems := d.spec(s, h.Forms.Env(r))
	refused := ""
	if len(problems) == 0 && !s.failed() {
		spec.IdempotencyKey = d.sweepKey(spec)
		if only {
			preview, err := h.Sweeps.Preview(r.Context(), spec)
			if err != nil && !apperr.Is(err, apperr.Invalid) {
				return err
			}
			problems = s.blame(append(preview.Problems, apperr.FieldsOf(err)...))
		} else {
			sw, _, err := h.Sweeps.Create(r.Context(), spec)
			if err == nil {
				http.Redirect(w, r, views.SweepURL(sw.ID.String()), http.StatusSeeOther)
				return nil
			}
			switch apperr.CodeOf(err) {
			case apperr.Invalid, apperr.Conflict, apperr.Quota, apperr.Unavailable:
			default:
				return err
			}
			problems = s.blame(apperr.FieldsOf(err))
			if len(apperr.FieldsOf(err)) == 0 {
				refused = "No sweep was launched: " + label.LowerFirst(apperr.MessageOf(err))
			}
		}
	}
	d.problems = problems
	lines := len(problems) + len(s.errorLines())
	if lines == 0 && refused == "" {
		d.origin = &views.Provenance{Kind: "ok", From: "All values are valid.", Text: "Nothing was launched yet."}
		return h.renderSweep(w, r, http.StatusOK, d)
	}
	if d.failed = refused; lines > 0 {
		d.failed = "No sweep was launched: " + units.Plural(lines, "value needs", "values need") + " attention"
	}
	return h.drawSweep(w, r, http.StatusUnprocessableEntity, d, s)
}

// sweepKey lets a second press of the button find the sweep that the first press created.
func (d *draft) sweepKey(spec sweep.Spec) string {
	if d.key == "" {
		return ""
	}
	body, err := json.Marshal([]any{d.key, spec})
	if err != nil {
		return "" // a spec is numbers, texts and decoded JSON, which encode
	}
	sum := sha256.Sum256(body)
	return "form-" + hex.EncodeToString(sum[:16])
}

func (h *sweepPages) renderSweep(w http.ResponseWriter, r *http.Request, status int, d *draft) error {
	return h.drawSweep(w, r, status, d, d.newSweepDraft(h.Forms.Env(r)))
}

// drawSweep responds with the complete page.
func (h *sweepPages) drawSweep(w http.ResponseWriter, r *http.Request, status int, d *draft, s *sweepDraft) error {
	d.mode, d.sweep = views.LaunchForm, s
	errors := s.errorLines()
	for _, name := range []string{"tags", "note"} {
		if message := s.errors[name]; message != "" {
			d.options.faults[name] = message
		}
	}
	view := s.view(h.objectives(r.Context(), d))
	estimate, err := h.estimate(r, d, d.newSweepDraft(h.Forms.Env(r)))
	if err != nil {
		return err
	}
	view.Estimate = estimate
	return h.renderPage(w, r, status, d, &view, errors)
}

// estimated is the form with its estimate, for the script.
func (h *sweepPages) estimated(r *http.Request, d *draft) (views.LaunchSweep, error) {
	s := d.newSweepDraft(h.Forms.Env(r))
	estimate, err := h.estimate(r, d, s)
	view := s.view(nil)
	view.Estimate = estimate
	return view, err
}

// estimate describes the effect of the sweep, and stores its errors in the draft.
func (h *sweepPages) estimate(r *http.Request, d *draft, s *sweepDraft) (views.SweepEstimate, error) {
	spec, problems := d.spec(s, h.Forms.Env(r))
	if len(spec.Space) == 0 {
		return views.SweepEstimate{
			Tone: "warn", Summary: "No input has several values", Button: "Launch sweep",
			Verdicts: []views.Verdict{{Tone: "warn", Strong: "No input has several values.", Text: "Select “Several values” for an input."}},
		}, nil
	}
	var p sweep.Preview
	if len(problems) == 0 && !s.failed() {
		var err error
		p, err = h.Sweeps.Preview(r.Context(), spec)
		switch {
		case apperr.Is(err, apperr.Forbidden):
			return views.SweepEstimate{
				Tone: "no", Summary: "You cannot launch sweeps here", Button: "Launch sweep",
				Verdicts: []views.Verdict{{Tone: "no", Strong: "You cannot launch sweeps here.", Text: apperr.MessageOf(err)}},
			}, nil
		case err != nil && !apperr.Is(err, apperr.Invalid):
			return views.SweepEstimate{}, err
		}
		problems = s.blame(append(p.Problems, apperr.FieldsOf(err)...))
	}
	lines := slices.Concat(h.form(r, d, problems).ErrorLines(), s.errorLines())
	if len(lines) > 0 {
		summary := units.Plural(len(lines), "value needs attention", "values need attention")
		return views.SweepEstimate{Tone: "no", Summary: summary, Button: "Launch sweep", Verdicts: []views.Verdict{{Tone: "no", Strong: summary + ".", Links: lines}}}, nil
	}
	e := h.sweepEstimate(h.Page.Clock(r), p)
	if v := h.unknownObjective(r.Context(), d, spec.Objective); v != nil {
		e.Verdicts = append(e.Verdicts, *v)
	}
	e.Columns, e.First = firstRuns(spec.Space, p.First)
	return e, nil
}

// sweepEstimate is a valid preview for readers.
func (h *sweepPages) sweepEstimate(clock ui.Clock, p sweep.Preview) views.SweepEstimate {
	e := views.SweepEstimate{Ready: true, Tone: "ok", Headline: units.Plural(p.Runs, "run", "runs"), Button: "Launch " + units.Plural(p.Runs, "run", "runs")}
	if p.Total != nil {
		e.Headline += ", about " + units.Duration(roundEstimate(*p.Total))
	}
	if p.GPUHours != nil && *p.GPUHours > 0 {
		e.Headline += ", " + hours(*p.GPUHours)
	}
	switch p.Fits {
	case sweep.FitsNever:
		e.Tone, e.Summary = "no", "Cannot run here"
		e.Verdicts = append(e.Verdicts, views.Verdict{Tone: "no", Strong: "Cannot run here.", Text: p.Reason})
	case sweep.FitsLater:
		e.Tone, e.Summary = "wait", "Would wait"
		e.Verdicts = append(e.Verdicts, views.Verdict{Tone: "wait", Strong: "No run starts immediately.", Text: p.Reason})
	case sweep.FitsNow:
		e.Summary = units.Plural(p.FitsNow, "run", "runs") + " can start now"
		e.Verdicts = append(e.Verdicts, views.Verdict{Tone: "ok", Strong: e.Summary + ".", Text: p.Reason})
	case sweep.FitUnknown:
		e.Summary = "Ready to launch"
		e.Verdicts = append(e.Verdicts, views.Verdict{Tone: "ok", Strong: "All values are valid.", Text: strings.TrimSpace("The start time of the runs is unknown. " + p.Reason)})
	}
	for _, text := range p.Warnings {
		e.Verdicts = append(e.Verdicts, views.Verdict{Tone: "warn", Text: text})
	}
	e.Facts = estimateFacts(clock, p)
	return e
}

func estimateFacts(clock ui.Clock, p sweep.Preview) []ui.Fact {
	var facts []ui.Fact
	if p.Combinations > 0 {
		facts = append(facts, ui.Fact{Name: "Combinations", Value: units.Number(int64(p.Combinations))})
	}
	if p.PerRun != nil {
		facts = append(facts, ui.Fact{Name: "One run", Value: "about " + units.Duration(roundEstimate(*p.PerRun)), Note: "from " + units.Plural(p.Basis, "earlier execution", "earlier executions")})
	} else {
		facts = append(facts, ui.Fact{Name: "One run", Value: "unknown", Note: "no earlier execution"})
	}
	start := clock.Now
	if p.StartsFrom != nil {
		start = *p.StartsFrom
		facts = append(facts, ui.Fact{Name: "Starts", Value: "≈ " + clock.Moment(start).Text})
	}
	if p.Total != nil {
		facts = append(facts, ui.Fact{Name: "Ends", Value: "≈ " + clock.Moment(start.Add(*p.Total)).Text})
	}
	if p.OverBudget && p.GPUHours != nil {
		facts = append(facts, ui.Fact{Name: "Budget", Value: "too small", Note: "for about " + hours(*p.GPUHours)})
	}
	return facts
}

// hours formats GPU-hours.
func hours(h float64) string {
	return ui.Float(math.Round(h*100)/100) + " GPU-hours"
}
