package backfills

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// form asks which times run. With ?check it shows the dry run.
func (h *Pages) form(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	m, sp, err := h.filled(r, q)
	if err != nil {
		return err
	}
	if !q.Has("check") {
		m.Errors = nil
		return web.Render(w, r, http.StatusOK, views.BackfillFormPage(m))
	}
	if len(m.Errors) == 0 {
		dry, err := h.Backfills.Preview(r.Context(), sp)
		if !blame(&m, err) {
			if err != nil {
				return err
			}
			m.Dry = dryRun(dry, sp, q)
		}
	}
	return h.answer(w, r, m, "The backfill cannot be checked")
}

// create starts the backfill, or responds with the form and its errors.
func (h *Pages) create(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read. Send it again.")
	}
	m, sp, err := h.filled(r, r.PostForm)
	if err != nil {
		return err
	}
	if err := h.Backfills.MayCreate(r.Context(), sp.Schedule); err != nil {
		return err
	}
	if len(m.Errors) == 0 {
		b, err := h.Backfills.Create(r.Context(), sp)
		if err == nil {
			http.Redirect(w, r, views.BackfillURL(b.ID.String()), http.StatusSeeOther)
			return nil
		}
		if !blame(&m, err) {
			return err
		}
	}
	return h.answer(w, r, m, "The backfill was not started")
}

func (h *Pages) answer(w http.ResponseWriter, r *http.Request, m views.BackfillForm, failed string) error {
	status := http.StatusOK
	for _, l := range [][2]string{{"schedule", "Schedule"}, {"from", "From"}, {"until", "To"}, {"rerun", "Times that already have an execution"}, {"parallelism", "Concurrent executions"}, {"version", "Version"}, {"inputs", "Inputs"}} {
		if text := m.Errors[l[0]]; text != "" {
			m.ErrorLines = append(m.ErrorLines, forms.ErrorLine{Target: "backfill-" + l[0], Label: l[1], Text: text})
		}
	}
	if len(m.ErrorLines) > 0 && m.Failed == "" {
		m.Failed = failed + ": " + units.Plural(len(m.ErrorLines), "value needs", "values need") + " attention"
	}
	if m.Failed != "" {
		status = http.StatusUnprocessableEntity
		m.Title = "Error: " + m.Title
	}
	return web.Render(w, r, status, views.BackfillFormPage(m))
}

// blame gives the fields of an error to the controls. It returns false for an error that the form
// cannot show.
func blame(m *views.BackfillForm, err error) bool {
	code := apperr.CodeOf(err)
	if code != apperr.Invalid && code != apperr.Conflict {
		return false
	}
	fields := apperr.FieldsOf(err)
	if len(fields) == 0 {
		m.Failed = "The backfill was not started: " + label.LowerFirst(apperr.MessageOf(err))
	}
	for _, f := range fields {
		name, rest, _ := strings.Cut(f.Path, ".")
		message := f.Message
		if name == forms.Prefix {
			name, message = "schedule", "Its input "+rest+" is not accepted: "+f.Message
		}
		m.Errors[name] = message
	}
	return true
}

const defaultDays = 30

// filled is the form with the values that were sent, or the last 30 days, and the backfill that it
// describes.
func (h *Pages) filled(r *http.Request, sent url.Values) (views.BackfillForm, backfill.Spec, error) {
	m := views.BackfillForm{
		Page: h.Page.Base(r, "New backfill", views.SectionSchedules, views.Crumb{Name: "Schedules", URL: views.SchedulesURL(nil)}, views.Crumb{Name: "Backfills", URL: views.BackfillsURL()}),
		From: sent.Get("from"), To: sent.Get("until"), Newest: sent.Get("order") == "newest", Parallelism: sent.Get("parallelism"), Version: strings.TrimSpace(sent.Get("version")),
		Errors: map[string]string{},
	}
	sp := backfill.Spec{Rerun: backfill.Rerun(sent.Get("rerun")), NewestFirst: m.Newest, Version: m.Version, Priority: query.Declared}
	zone, err := h.choose(r, &m, &sp, sent.Get("schedule"))
	if err != nil {
		return m, sp, err
	}
	today := h.Now().In(zone)
	if m.From == "" && m.To == "" && !sent.Has("check") {
		m.From, m.To = today.AddDate(0, 0, -defaultDays).Format(time.DateOnly), today.Format(time.DateOnly)
	}
	if m.Parallelism == "" {
		m.Parallelism = strconv.Itoa(backfill.DefaultParallelism)
	}
	for _, rule := range backfill.Reruns() {
		m.Reruns = append(m.Reruns, ui.Option{Value: string(rule), Name: rerunWords(rule), Selected: rule == sp.Rerun || sp.Rerun == "" && rule == backfill.RerunMissing})
	}
	if sp.Parallelism, err = strconv.Atoi(m.Parallelism); err != nil {
		m.Errors["parallelism"] = "Enter a whole number such as 4."
	}
	day := func(name, text string) time.Time {
		at, err := time.ParseInLocation(time.DateOnly, text, zone)
		if err != nil {
			m.Errors[name] = "Enter a day such as 2026-09-01."
		}
		return at
	}
	sp.From = day("from", m.From)
	if last := day("until", m.To); !last.IsZero() {
		if sp.Until = last.AddDate(0, 0, 1); !last.After(today) && sp.Until.After(today) {
			sp.Until = today // the day has not ended
		}
	}
	return m, sp, nil
}

// choose lists the schedules of the project and returns the time zone of the chosen one, the first
// without a choice.
func (h *Pages) choose(r *http.Request, m *views.BackfillForm, sp *backfill.Spec, chosen string) (*time.Location, error) {
	zone := time.UTC
	take := func(sc schedule.Schedule) {
		sp.Schedule, m.Zone, zone = sc.ID, sc.Timezone, zoneOf(sc.Timezone)
	}
	var list []schedule.Schedule
	for f := (schedule.Search{Limit: 200}); ; {
		found, err := h.Schedules.Reader().Search(r.Context(), f)
		if err != nil {
			return nil, err
		}
		list = append(list, found.Schedules...)
		if f.After = found.Next; f.After == "" {
			break
		}
	}
	if chosen != "" {
		id, err := uuid.Parse(chosen)
		if err != nil {
			return nil, apperr.New(apperr.NotFound, "There is no schedule %q.", chosen)
		}
		sc, err := h.Schedules.Get(r.Context(), id) // it can be of another project
		if err != nil {
			return nil, err
		}
		take(sc)
	} else if len(list) > 0 {
		take(list[0])
	} else {
		m.Errors["schedule"] = "Create a schedule first."
	}
	for _, sc := range list {
		m.Schedules = append(m.Schedules, ui.Option{Value: sc.ID.String(), Name: sc.Name + ", " + sc.Workflow, Selected: sc.ID == sp.Schedule})
	}
	return zone, nil
}

// dryRun is a valid dry run for readers.
func dryRun(p backfill.DryRun, sp backfill.Spec, sent url.Values) *views.BackfillDry {
	zone := zoneOf(p.Schedule.Timezone)
	d := &views.BackfillDry{Runs: p.Runs, Values: url.Values{}}
	for _, name := range []string{"schedule", "from", "until", "rerun", "order", "parallelism", "version"} {
		d.Values.Set(name, sent.Get(name))
	}
	d.Values.Set("schedule", p.Schedule.ID.String())
	again := 0
	var cells []cell
	for _, s := range p.Slots {
		c := cell{at: s.Fire.In(zone), state: "SKIPPED", word: "Kept"}
		if s.ExecutionID != nil && s.Status != "" {
			c.url = views.ExecutionURL(s.ExecutionID.String())
			c.word += ", " + strings.ToLower(ui.Word(s.Status))
		}
		if s.ExecutionID == nil {
			c.word = "Left to the schedule"
		}
		if s.Runs {
			c.state, c.word = "PENDING", "Would run"
			if s.ExecutionID != nil {
				again++
				c.state, c.word = "RETRYING", "Would run again"
			}
		}
		cells = append(cells, c)
	}
	d.Months = calendars(cells)
	d.Facts = []ui.Fact{
		{Name: "Times", Value: units.Number(int64(len(p.Slots)))}, {Name: "Would run", Value: units.Number(int64(p.Runs)), Note: againText(again)},
		{Name: "Kept", Value: units.Number(int64(p.Kept))}, {Name: "Version", Value: p.Version},
		{Name: "Order", Value: orderWords(sp.NewestFirst), Note: units.Number(int64(sp.Parallelism)) + " at a time"},
	}
	switch {
	case p.Runs == 0:
	case p.Total > 0:
		d.Facts = append(d.Facts, ui.Fact{Name: "Takes", Value: "about " + units.Duration(p.Total), Note: units.Duration(p.PerRun) + " each, from " + units.Plural(p.Basis, "earlier attempt", "earlier attempts")})
	default:
		d.Facts = append(d.Facts, ui.Fact{Name: "Takes", Value: "unknown", Note: "not enough history"})
	}
	if p.GPUHours > 0 {
		d.Facts = append(d.Facts, ui.Fact{Name: "Uses", Value: "about " + ui.Float(p.GPUHours) + " GPU-hours"})
	}
	return d
}

func againText(n int) string {
	if n == 0 {
		return ""
	}
	return units.Number(int64(n)) + " of them again"
}
