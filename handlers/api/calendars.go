package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/web/contract"
)

// CalendarPath names a calendar of the project.
type CalendarPath struct {
	Name string `path:"calendar" doc:"Calendar name" maxLength:"100"`
}

// calendarAPI serves calendars of holidays.
type calendarAPI struct {
	Schedules *schedule.Service
}

func (h *calendarAPI) mount(api *operations) {
	operation(api, get("list-calendars", "/calendars", "List the calendars of the project", "Schedules"), h.apiCalendars)
	operation(api, get("get-calendar", "/calendars/{calendar}", "Get a calendar", "Schedules"), h.apiCalendar)
	save := post("save-calendar", "/calendars/{calendar}", "Create or replace a calendar; its schedules change immediately", "Schedules")
	save.Method = http.MethodPut
	operation(api, save, h.apiSaveCalendar)
	operation(api, huma.Operation{
		OperationID: "delete-calendar", Method: http.MethodDelete, Path: "/calendars/{calendar}", Tags: []string{"Schedules"},
		Summary: "Delete a calendar that no schedule uses", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteCalendar)
}

func (h *calendarAPI) apiCalendars(ctx context.Context, _ *struct{}) (*body[contract.CalendarList], error) {
	list, err := h.Schedules.Calendars().List(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.CalendarList{Calendars: make([]contract.CalendarBody, 0, len(list))}
	for _, c := range list {
		out.Calendars = append(out.Calendars, toCalendarBody(c))
	}
	return reply(out), nil
}

func (h *calendarAPI) apiCalendar(ctx context.Context, in *CalendarPath) (*body[contract.CalendarBody], error) {
	c, err := h.Schedules.Calendars().Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return reply(toCalendarBody(c)), nil
}

func (h *calendarAPI) apiSaveCalendar(ctx context.Context, in *struct {
	CalendarPath
	Body contract.Calendar
}) (*body[contract.CalendarBody], error) {
	c := schedule.Calendar{Name: in.Name, Description: in.Body.Description, Weekend: in.Body.Weekend}
	for _, of := range in.Body.Holidays {
		c.Holidays = append(c.Holidays, schedule.Holiday(of))
	}
	for _, of := range in.Body.Blackouts {
		c.Blackouts = append(c.Blackouts, schedule.Blackout(of))
	}
	saved, err := h.Schedules.Calendars().Save(ctx, c)
	if err != nil {
		return nil, err
	}
	return reply(toCalendarBody(saved)), nil
}

func (h *calendarAPI) apiDeleteCalendar(ctx context.Context, in *CalendarPath) (*struct{}, error) {
	return nil, h.Schedules.Calendars().Delete(ctx, in.Name)
}

func toCalendarBody(c schedule.Calendar) contract.CalendarBody {
	out := contract.CalendarBody{
		ID: c.ID, Name: c.Name, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, Calendar: contract.Calendar{Description: c.Description, Weekend: c.Weekend},
	}
	for _, of := range c.Holidays {
		out.Holidays = append(out.Holidays, contract.CalendarHoliday(of))
	}
	for _, of := range c.Blackouts {
		out.Blackouts = append(out.Blackouts, contract.CalendarBlackout(of))
	}
	return out
}
