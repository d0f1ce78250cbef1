package schedules

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// usesShown is the number of schedules that the page of a calendar lists.
const usesShown = 50

// mayEditCalendars reports whether the reader may change the calendars of the project.
func mayEditCalendars(r *http.Request) bool {
	subject, ok := auth.SubjectOf(r.Context())
	return ok && subject.May(auth.ExecutionCancelAny, subject.ProjectID)
}

func calendarsCrumbs() []ui.Crumb {
	return []ui.Crumb{{Name: "Schedules", URL: views.SchedulesURL(nil)}, {Name: "Holiday calendars", URL: views.HolidayCalendarsURL()}}
}

// holidayCalendars lists the calendars of the project.
func (h *Pages) holidayCalendars(w http.ResponseWriter, r *http.Request) error {
	list, err := h.Schedules.Calendars().List(r.Context())
	if err != nil {
		return err
	}
	uses, err := h.Schedules.Calendars().Uses(r.Context())
	if err != nil {
		return err
	}
	m := views.HolidayCalendars{Page: h.Page.Base(r, "Holiday calendars", views.SectionSchedules, calendarsCrumbs()[:1]...), MayEdit: mayEditCalendars(r)}
	switch r.URL.Query().Get("did") {
	case "saved":
		m.Notice = "The calendar was saved. Its schedules use it immediately."
	case "deleted":
		m.Notice = "The calendar was deleted."
	}
	clock := h.Page.Clock(r)
	for _, c := range list {
		n := 0
		for _, u := range uses {
			if u.Calendar == c.ID {
				n++
			}
		}
		m.Rows = append(m.Rows, views.HolidayCalendarRow{
			Name: c.Name, URL: views.HolidayCalendarURL(c.ID.String()), Description: c.Description, Weekend: weekendText(c.Weekend), Next: nextFree(c, clock),
			Contains: units.Plural(len(c.Holidays), "holiday", "holidays") + ", " + units.Plural(len(c.Blackouts), "blackout", "blackouts"), UsedBy: units.Plural(n, "schedule", "schedules"),
		})
	}
	return web.Render(w, r, http.StatusOK, views.HolidayCalendarsPage(m))
}

// nextFree describes the first holiday or blackout of a calendar that has not passed; "" for none.
func nextFree(c schedule.Calendar, clock ui.Clock) string {
	today := clock.Now.In(clock.Zone).Format(time.DateOnly)
	text := ""
	if i := slices.IndexFunc(c.Holidays, func(d schedule.Holiday) bool { return d.Date >= today }); i >= 0 {
		text = strings.TrimSpace(c.Holidays[i].Date + " " + c.Holidays[i].Name)
	}
	if i := slices.IndexFunc(c.Blackouts, func(b schedule.Blackout) bool { return b.Ends.After(clock.Now) }); i >= 0 {
		b := momentText(c.Blackouts[i].Starts, clock.Zone)
		if text == "" || b < text {
			text = strings.TrimSpace(b + " " + c.Blackouts[i].Reason)
		}
	}
	return text
}

func weekendText(days []string) string {
	if len(days) == 0 {
		return "None"
	}
	return strings.Join(days, ", ")
}

// calendarForm are the values of the form of a calendar, as they were entered.
type calendarForm struct {
	name, description, holidays, blackouts, based string
	weekend                                       []string
	zone                                          *time.Location
	kept                                          bool // someone else has changed the calendar
}

// versionOf identifies the state of a calendar that a form changes.
func versionOf(c schedule.Calendar) string { return c.UpdatedAt.Format(time.RFC3339Nano) }

// newHolidayCalendar is the form of a new calendar.
func (h *Pages) newHolidayCalendar(w http.ResponseWriter, r *http.Request) error {
	if !mayEditCalendars(r) {
		return apperr.New(apperr.Forbidden, "You cannot create calendars in this project. Ask a user who can cancel other users' executions.")
	}
	return h.renderCalendar(w, r, http.StatusOK, nil, calendarForm{weekend: []string{"SAT", "SUN"}, zone: h.Page.Clock(r).Zone}, nil)
}

// holidayCalendar is the form of a calendar.
func (h *Pages) holidayCalendar(w http.ResponseWriter, r *http.Request) error {
	c, err := h.Schedules.Calendars().Get(r.Context(), request.PathValue(r, "calendar"))
	if err != nil {
		return err
	}
	return h.renderCalendar(w, r, http.StatusOK, &c, formOf(c, h.Page.Clock(r).Zone), nil)
}

// formOf are the values of the form of a calendar, with times in zone.
func formOf(c schedule.Calendar, zone *time.Location) calendarForm {
	return calendarForm{
		name: c.Name, description: c.Description, weekend: c.Weekend, holidays: holidayText(c.Holidays), blackouts: blackoutText(c.Blackouts, zone),
		based: versionOf(c), zone: zone,
	}
}

// createHolidayCalendar saves a new calendar.
func (h *Pages) createHolidayCalendar(w http.ResponseWriter, r *http.Request) error {
	return h.saveCalendar(w, r, nil)
}

// changeHolidayCalendar saves a calendar, unless someone has changed it since the form was loaded.
func (h *Pages) changeHolidayCalendar(w http.ResponseWriter, r *http.Request) error {
	c, err := h.Schedules.Calendars().Get(r.Context(), request.PathValue(r, "calendar"))
	if err != nil {
		return err
	}
	return h.saveCalendar(w, r, &c)
}

// saveCalendar saves the form of a calendar; of a new one for nil. It shows a refused form again.
func (h *Pages) saveCalendar(w http.ResponseWriter, r *http.Request, before *schedule.Calendar) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read. Send it again.")
	}
	f := r.PostForm
	zone, err := time.LoadLocation(f.Get("zone"))
	if err != nil {
		return apperr.InvalidFields("The time zone of the form is unknown.", []apperr.Field{{Path: "zone", Message: "Enter the name of a time zone, such as Europe/Berlin."}})
	}
	form := calendarForm{
		name: strings.TrimSpace(f.Get("name")), description: strings.TrimSpace(f.Get("description")), weekend: f["weekend"],
		holidays: f.Get("holidays"), blackouts: f.Get("blackouts"), based: f.Get("based"), zone: zone,
	}
	if before != nil {
		form.name = before.Name
	}
	if err := h.storeCalendar(r, before, form); err != nil {
		if code := apperr.CodeOf(err); code != apperr.Invalid && code != apperr.Conflict {
			return err
		}
		if before != nil && form.based != versionOf(*before) { // saving again replaces what someone else saved
			form.based, form.kept = versionOf(*before), true
		}
		return h.renderCalendar(w, r, web.Status(apperr.CodeOf(err)), before, form, err)
	}
	http.Redirect(w, r, views.HolidayCalendarsURL()+"?did=saved", http.StatusSeeOther)
	return nil
}

func (h *Pages) storeCalendar(r *http.Request, before *schedule.Calendar, form calendarForm) error {
	c := schedule.Calendar{Name: form.name, Description: form.description, Weekend: append([]string{}, form.weekend...)}
	var problems []apperr.Field
	var problem *apperr.Field
	if c.Holidays, problem = readHolidays(form.holidays); problem != nil {
		problems = append(problems, *problem)
	}
	if c.Blackouts, problem = readBlackouts(form.blackouts, form.zone); problem != nil {
		problems = append(problems, *problem)
	}
	if len(problems) > 0 {
		return apperr.InvalidFields("The calendar cannot be saved with these values.", problems)
	}
	if before == nil {
		_, err := h.Schedules.Calendars().Create(r.Context(), c)
		return err
	}
	based, err := time.Parse(time.RFC3339Nano, form.based)
	if err != nil {
		return apperr.InvalidFields("The form is incomplete. Reload the page.", []apperr.Field{{Path: "based", Message: "Send the value of the form."}})
	}
	_, err = h.Schedules.Calendars().Update(r.Context(), c, based)
	return err
}

// renderCalendar draws the form of a calendar, or of a new one for nil, with the reason if it
// was not saved.
func (h *Pages) renderCalendar(w http.ResponseWriter, r *http.Request, status int, c *schedule.Calendar, form calendarForm, failed error) error {
	m := views.HolidayCalendar{
		Heading: "New calendar", Action: views.HolidayCalendarsURL(), New: c == nil, ReadOnly: !mayEditCalendars(r), Based: form.based, Zone: form.zone.String(),
		Name: form.name, Description: form.description, Holidays: form.holidays, Blackouts: form.blackouts,
		Kept: form.kept,
	}
	if c != nil {
		m.Heading, m.URL, m.Action = c.Name, views.HolidayCalendarURL(c.ID.String()), views.HolidayCalendarURL(c.ID.String())
		if !m.ReadOnly {
			m.DeleteURL = m.URL + "/delete"
		}
		if err := h.addUses(r, *c, &m); err != nil {
			return err
		}
	}
	m.Page = h.Page.Base(r, m.Heading, views.SectionSchedules, calendarsCrumbs()...)
	for i := range 7 { // from Monday
		day := schedule.Days()[(i+1)%7]
		m.Days = append(m.Days, ui.Option{Value: day, Name: time.Weekday((i + 1) % 7).String(), Selected: slices.Contains(form.weekend, day)})
	}
	if failed != nil {
		m.Failed, m.Errors = apperr.MessageOf(failed), map[string]string{}
		for _, f := range apperr.FieldsOf(failed) {
			field, _, _ := strings.Cut(f.Path, ".") // "holidays.3" is a line of the holidays
			if m.Errors[field] == "" {
				m.Errors[field] = f.Message
			}
		}
	}
	return web.Render(w, r, status, views.HolidayCalendarPage(m))
}

// addUses lists the schedules that use a calendar.
func (h *Pages) addUses(r *http.Request, c schedule.Calendar, m *views.HolidayCalendar) error {
	uses, err := h.Schedules.Calendars().Uses(r.Context())
	if err != nil {
		return err
	}
	uses = slices.DeleteFunc(uses, func(u schedule.CalendarUse) bool { return u.Calendar != c.ID })
	for i, u := range uses {
		if i == usesShown {
			m.MoreUses = "and " + units.Plural(len(uses)-i, "other", "others")
			break
		}
		m.Uses = append(m.Uses, views.ScheduleLink{Name: u.Name, URL: views.ScheduleURL(u.ID.String()), Note: u.Workflow})
	}
	return nil
}

// deleteHolidayCalendar deletes a calendar that no schedule uses.
func (h *Pages) deleteHolidayCalendar(w http.ResponseWriter, r *http.Request) error {
	c, err := h.Schedules.Calendars().Get(r.Context(), request.PathValue(r, "calendar"))
	if err != nil {
		return err
	}
	if err := h.Schedules.Calendars().Delete(r.Context(), c.ID.String()); err != nil {
		if !apperr.Is(err, apperr.Conflict) {
			return err
		}
		return h.renderCalendar(w, r, http.StatusConflict, &c, formOf(c, h.Page.Clock(r).Zone), err)
	}
	http.Redirect(w, r, views.HolidayCalendarsURL()+"?did=deleted", http.StatusSeeOther)
	return nil
}
