package launch

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/web"
)

// scheduleDraft contains the submitted settings of a schedule, except its inputs.
type scheduleDraft struct {
	was    *schedule.Schedule // nil: a new one
	pinned string             // "": the latest version at each run
	when   whenDraft
	tags   tagDraft
	json   string // text of the inputs in the view ScheduleJSON
}

// newScheduleDraft reads the controls of a schedule.
func (h *schedulePages) newScheduleDraft(r *http.Request, d *draft, sent url.Values, was *schedule.Schedule) *scheduleDraft {
	own := url.Values{}
	for name, v := range sent {
		if strings.HasPrefix(name, views.SchedulePrefix) {
			own[name] = v
		}
	}
	s := &scheduleDraft{was: was, pinned: sent.Get("version"), when: whenDraft{sent: own, errors: map[string]string{}}}
	s.tags = tagDraft{places: taggables(d.schema, h.Forms.Env(r)), sent: own}
	if sent.Get("$mode") == views.ScheduleJSON {
		d.mode, s.json = views.ScheduleJSON, sent.Get("$json")
	}
	return s
}

func (h *schedulePages) submitSchedule(w http.ResponseWriter, r *http.Request, d *draft, sent url.Values, was *schedule.Schedule) error {
	d.take(sent)
	if d.mode != views.LaunchForm { // a text of the launch form
		if status := d.show(views.LaunchForm, h.Forms.Env(r)); status != http.StatusOK {
			return h.renderDraft(w, r, status, d)
		}
	}
	d.schedule = h.newScheduleDraft(r, d, sent, was)
	if !sent.Has(views.SchedulePrefix + "kind") { // the values of a launch form
		d.schedule.when.fillDefaults(h.readersZone(r))
		d.schedule.pinned = ""
		if d.name != "" {
			d.schedule.when.set("name", d.name)
		}
	}
	if sent.Has("$panel") {
		m, err := h.schedulePage(r, d)
		if err != nil {
			return err
		}
		return web.Render(w, r, http.StatusOK, views.ScheduleParts(m))
	}
	if err := h.keepSecrets(r, d); err != nil {
		return err
	}
	switch {
	case len(d.spoolFull) > 0:
		d.failed, d.problems = "The schedule was not saved", d.spoolFull
		return h.drawSchedule(w, r, http.StatusUnprocessableEntity, d)
	case sent.Has("$view"):
		d.showScheduled(sent.Get("$view"), h.Forms.Env(r))
		return h.drawSchedule(w, r, http.StatusOK, d)
	case sent.Has("$schedule"), sent.Has("$version"), sent.Has("$restored"), d.edit():
		return h.drawSchedule(w, r, http.StatusOK, d)
	}
	return h.storeSchedule(w, r, d, sent)
}

// showScheduled switches between the form and JSON.
func (d *draft) showScheduled(next string, env typeregistry.Env) {
	inputs, problems := d.scheduleInputs(env)
	if next == d.mode || inputs == nil {
		d.problems = problems
		return
	}
	if next == views.ScheduleJSON {
		d.mode, d.schedule.json = next, forms.WriteJSON(d.schema, inputs)
		d.schedule.tags.clear()
		return
	}
	d.schedule.tags.clear()
	values, problems := forms.ToForm(d.schema, d.schedule.tags.take(inputs))
	if len(problems) > 0 {
		d.schedule.tags.clear()
		d.problems, d.failed = problems, "The form cannot show these inputs"
		return
	}
	d.mode, d.values = views.LaunchForm, values
}

// storeSchedule saves the schedule, or responds with the form and its errors. If the reader only
// requested a check, it saves nothing.
func (h *schedulePages) storeSchedule(w http.ResponseWriter, r *http.Request, d *draft, sent url.Values) error {
	sp, problems, err := h.checkSchedule(r, d)
	if err != nil {
		return err
	}
	s := d.schedule
	switch sent.Get(views.SchedulePrefix + "pause") {
	case "1":
		sp.Paused = true
	case "0":
		sp.Paused = false
	}
	failed := len(problems)+len(s.when.errors) > 0
	if sent.Has("$check") && !failed {
		d.origin = &views.Provenance{Kind: "ok", From: "All values are valid.", Text: "Nothing was saved yet."}
		return h.drawSchedule(w, r, http.StatusOK, d)
	}
	status := http.StatusUnprocessableEntity
	if !failed {
		id, err := h.putSchedule(r, s.was, sp)
		if err == nil {
			http.Redirect(w, r, views.ScheduleURL(id.String()), http.StatusSeeOther)
			return nil
		}
		code := apperr.CodeOf(err)
		if code != apperr.Invalid && code != apperr.Conflict {
			return err
		}
		status, problems = web.Status(code), s.blame(apperr.FieldsOf(err))
		d.failed = "The schedule was not saved: " + label.LowerFirst(apperr.MessageOf(err))
	}
	d.problems = problems
	d.failed = cmp.Or(d.failed, "The schedule was not saved")
	return h.drawSchedule(w, r, status, d)
}

func (h *schedulePages) putSchedule(r *http.Request, was *schedule.Schedule, sp schedule.Spec) (uuid.UUID, error) {
	if was != nil {
		_, err := h.Schedules.Replace(r.Context(), was.ID, sp)
		return was.ID, err
	}
	sc, err := h.Schedules.Create(r.Context(), sp)
	return sc.ID, err
}

// checkSchedule returns the schedule that the form describes, and the problems with its inputs. Those
// of other controls are in the draft. The error is one that the form cannot show.
func (h *schedulePages) checkSchedule(r *http.Request, d *draft) (schedule.Spec, []forms.Problem, error) {
	env, s := h.Forms.Env(r), d.schedule
	s.when.errors = map[string]string{}
	sp := s.spec(d)
	inputs, problems := d.scheduleInputs(env)
	sp.Inputs = inputs
	priority, err := d.requestedPriority()
	if err != nil {
		s.when.fail("priority", "%s", apperr.MessageOf(err))
	}
	sp.Priority = priority
	readable := len(s.when.errors) == 0
	if inputs != nil {
		sample, _, fields, ok := h.Schedules.Sample(r.Context(), sp.When, inputs)
		if s.tags.sample = sample; ok && readable {
			problems = append(problems, s.blame(fields)...)
			if len(fields) == 0 {
				_, more := d.schema.CheckAll(sample, env)
				problems = append(problems, more...)
			}
		}
	}
	var id *uuid.UUID
	if s.was != nil {
		id = &s.was.ID
	}
	err = h.Schedules.Check(r.Context(), sp, id)
	switch code := apperr.CodeOf(err); {
	case code == apperr.Invalid || code == apperr.Conflict:
		fields := apperr.FieldsOf(err)
		if !readable { // these can be about values that the form could not read
			fields = slices.DeleteFunc(slices.Clone(fields), func(f apperr.Field) bool { return f.Path == "cron" || f.Path == "at" })
		}
		problems = append(problems, s.blame(fields)...)
	case err != nil:
		return sp, nil, err
	}
	return sp, distinct(problems), nil
}

// distinct removes problems that repeat another one.
func distinct(problems []forms.Problem) []forms.Problem {
	var out []forms.Problem
	for _, p := range problems {
		if !slices.ContainsFunc(out, func(o forms.Problem) bool { return o.Path == p.Path }) {
			out = append(out, p)
		}
	}
	return out
}

// spec is the schedule in the form, without its inputs and priority.
func (s *scheduleDraft) spec(d *draft) schedule.Spec {
	w := &s.when
	sp := schedule.Spec{
		Workflow: d.workflow.ID.String(), Name: w.get("name"), When: w.when(), Version: s.pinned, Misfire: schedule.Misfire(w.get("misfire")), CatchUp: w.duration("catch_up"),
		CatchUpMax: w.count("catch_up_max"), Overlap: schedule.Overlap(w.get("overlap")), MaxRunning: w.count("max_running"), Jitter: w.duration("jitter"),
		PauseAfter: w.count("pause_after"), Condition: w.get("when"), StopWhen: w.get("stop_when"), KeepSucceeded: w.optional("keep_succeeded"), KeepFailed: w.optional("keep_failed"),
	}
	if sp.Name == "" {
		w.fail("name", "Enter a name.")
	}
	if s.was != nil {
		sp.Paused = s.was.Paused
	}
	return sp
}

// blame assigns the errors of fields to their controls, and returns problems of inputs.
func (s *scheduleDraft) blame(fields []apperr.Field) []forms.Problem {
	var problems []forms.Problem
	for _, f := range fields {
		if path, isInput := strings.CutPrefix(f.Path, forms.Prefix+"."); isInput {
			problems = append(problems, forms.Problem{Path: path, Message: f.Message})
			continue
		}
		name := map[string]string{
			"starts_at": "starts", "ends_at": "ends", "catch_up_seconds": "catch_up", "jitter_seconds": "jitter", "pause_after_failures": "pause_after",
		}[f.Path]
		name = cmp.Or(name, f.Path)
		if name == "cron" {
			name = s.when.timeControl()
		}
		if line, isWindow := strings.CutPrefix(name, "exclude."); isWindow {
			s.when.failWindow(line, f.Message)
			continue
		}
		s.when.fail(name, "%s", f.Message)
	}
	return problems
}

// timeControl is the control of the times: that of an expression, an interval or one time.
func (w *whenDraft) timeControl() string {
	switch {
	case w.get("kind") == views.ScheduleEvery:
		return "every"
	case w.get("kind") == views.ScheduleAt:
		return "at"
	case w.get("repeats") == views.ScheduleCustom:
		return "cron"
	case w.get("repeats") == "monthly":
		return "on"
	}
	return "repeats"
}
